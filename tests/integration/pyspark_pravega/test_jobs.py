"""Whole Spark jobs in processes of their own: on several executors, and killed at the worst moment."""

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import CommitRecord, CommitState

JOB = Path(__file__).with_name("job.py")
ROWS, KEYS = 3000, 10
EXPECTED = Counter(f"key-{number % KEYS}:{number}".encode() for number in range(ROWS))
JOB_SECONDS = 600
# Each test starts one or two JVMs, or four, on a machine that may be busy with other tests.
pytestmark = pytest.mark.timeout(2 * JOB_SECONDS + 60)


@pytest.fixture
def start(launch, pravega_config):
    """Starts a job."""

    def start(sink: StreamName, write_id: str, master: str = "local[2]"):
        command = [sys.executable, str(JOB), "--master", master, "--controller", pravega_config.controller_uri]
        return launch([*command, "--scope", sink.scope, "--stream", sink.stream, "--write-id", write_id])

    return start


@pytest.fixture
def contents(client: PravegaClient) -> Callable[[StreamName], Counter[bytes]]:
    def contents(sink: StreamName) -> Counter[bytes]:
        return Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))

    return contents


def record_of(client: PravegaClient, sink: StreamName, write_id: str) -> CommitRecord | None:
    try:
        found = client.commit_ledger(sink.scope).lookup(sink, write_id)
    except TableNotFoundError:
        return None
    return None if found is None else found.record


def test_executors_of_a_cluster_write_every_row_once(start, contents, make_stream):
    sink = make_stream(4)

    start(sink, "daily", master="local-cluster[2,1,1024]").succeed()

    assert contents(sink) == EXPECTED


@pytest.mark.slow  # the fault matrix, of which make test runs a part, kills jobs here, too
def test_a_job_killed_after_its_decision_is_finished_by_the_next_run(start, contents, make_stream, client):
    sink = make_stream(4)
    first = start(sink, "daily")
    deadline = time.monotonic() + JOB_SECONDS
    while record_of(client, sink, "daily") is None:
        assert first.process.poll() is None, first.said()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    first.kill()

    said = start(sink, "daily").succeed()

    assert "already written: 3,000 events" in said
    assert contents(sink) == EXPECTED
    record = record_of(client, sink, "daily")
    assert record is not None
    assert record.state is CommitState.DONE
