"""Whole Spark jobs in processes of their own: on several executors, and killed at the worst moment."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import CommitRecord, CommitState

JOB = Path(__file__).with_name("job.py")
ROWS, KEYS = 3000, 10
EXPECTED = Counter(f"key-{number % KEYS}:{number}".encode() for number in range(ROWS))
JOB_SECONDS = 240
# Each test starts one or two JVMs, or four, on a machine that may be busy with other tests.
pytestmark = pytest.mark.timeout(2 * JOB_SECONDS + 60)


@dataclass
class Job:
    """A running job, in a session of its own so that all its processes can be found; what it says goes to a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def succeed(self) -> str:
        """Wait for its end; returns what it said."""
        code = self.process.wait(JOB_SECONDS)
        assert code == 0, self.said()
        return self.said()

    def said(self) -> str:
        return self.log.read_text()

    def kill(self) -> None:
        """Kill it and all that it started, wherever they moved to: driver, JVM, Python workers."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if os.getsid(int(entry.name)) == self.process.pid:
                        os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it ended by itself meanwhile
        self.process.wait(30)


Start = Callable[..., Job]


@pytest.fixture
def start(pravega_config, tmp_path) -> Start:
    """Starts a job."""

    def start(sink: StreamName, write_id: str, master: str = "local[2]") -> Job:
        command = [sys.executable, str(JOB), "--master", master, "--controller", pravega_config.controller_uri]
        command += ["--scope", sink.scope, "--stream", sink.stream, "--write-id", write_id]
        log = tmp_path / f"{uuid.uuid4()}.log"
        with log.open("wb") as file:
            return Job(subprocess.Popen(command, start_new_session=True, stderr=file), log)

    return start


@pytest.fixture
def contents(client: PravegaClient) -> Callable[[StreamName], Counter[bytes]]:
    def contents(sink: StreamName) -> Counter[bytes]:
        return Counter(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))

    return contents


def record_of(client: PravegaClient, sink: StreamName, write_id: str) -> CommitRecord | None:
    try:
        return client.commit_ledger(sink.scope).lookup(sink, write_id)
    except TableNotFoundError:
        return None


def test_executors_of_a_cluster_write_every_row_once(start, contents, make_stream):
    sink = make_stream(4)

    start(sink, "daily", master="local-cluster[2,1,1024]").succeed()

    assert contents(sink) == EXPECTED


def test_a_job_that_is_killed_when_it_has_decided_is_finished_by_the_next_run(start, contents, make_stream, client):
    sink = make_stream(4)
    first = start(sink, "daily")
    deadline = time.monotonic() + JOB_SECONDS
    while record_of(client, sink, "daily") is None:
        assert first.process.poll() is None, first.said()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    first.kill()

    said = start(sink, "daily").succeed()

    assert "already written: 3000 events" in said
    assert contents(sink) == EXPECTED
    record = record_of(client, sink, "daily")
    assert record is not None
    assert record.state is CommitState.DONE
