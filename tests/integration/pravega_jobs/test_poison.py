"""Poison events among many: each good row once, each bad event a dead letter with its bytes, replayed once."""

import base64
import json
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.poison_job import CLEAN, DEAD, ORDERS

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName
from pravega_jobs.landing import WrittenStream, list_errors

__all__ = ["client", "scope"]
EVERYTHING = StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded())
# Functions at whose calls a job is killed, and the states of the errors then: the errors are decided and not committed,
# then so are the rows, and then another process is to finish these.
COMMIT = "Completion.commit"
KILLS = [
    ((COMMIT, "1"), []),
    ((COMMIT, "2"), ["not counted"]),
    (("Completion.complete", "1"), ["not counted"]),
]


@pytest.fixture
def job(pravega_config, scope) -> Callable[..., int]:
    """Runs a job; -9 if it was killed, otherwise the number that it prints."""

    def job(*words: str) -> int:
        command = [sys.executable, "-m", "tests.integration.pravega_jobs.poison_job"]
        done = subprocess.run(
            [*command, pravega_config.controller_uri, scope, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
        return done.returncode or int(done.stdout)

    return job


@pytest.fixture
def official(client, pravega_config, scope, tmp_path) -> Callable[[str], list[bytes]]:
    """All events of a stream, as Pravega's official Python client reads them."""

    def official(stream: str) -> list[bytes]:
        size = sum(part.size for part in client.plan(EVERYTHING, StreamName(scope, stream)))
        sizes, out = tmp_path / "sizes.json", tmp_path / "found"
        sizes.write_text(json.dumps({stream: size}))
        where = ["--controller", pravega_config.controller_uri, "--scope", scope]
        files = ["--sizes", str(sizes), "--out", str(out)]
        subprocess.run([sys.executable, "-m", "tests.faults.official", *where, *files], check=True)
        found: list[bytes] = pickle.loads(Path(out).read_bytes())[stream]
        return found

    return official


@pytest.mark.parametrize(
    ("count", "poisoned"),
    [(10_000, 10), pytest.param(1_000_000, 1_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
)
def test_each_row_is_there_once_and_each_poison_event_a_letter(client, scope, job, official, count, poisoned):
    orders, clean = StreamName(scope, ORDERS), StreamName(scope, CLEAN)
    for name in (ORDERS, CLEAN, DEAD):
        assert client.create_stream(StreamName(scope, name), ScalingPolicy.fixed(2))
    bad = set(random.Random(50).sample(range(count), poisoned))
    events = [b'{"%s": %d}' % (b"oid" if number in bad else b"id", number) for number in range(count)]
    with client.writer(orders) as writer:
        writer.write_many(events, [str(number % 100) for number in range(count)])

    for step, states in KILLS:
        assert job("write", *step) == -signal.SIGKILL
        found = [each.state for each in list_errors(WrittenStream(clean, client), f"stream:{scope}/{DEAD}")]
        assert found in ([], states)  # they are listed as soon as the record of their own write is done
    assert job("write") == job("write") == poisoned
    good = sorted(set(range(count)) - bad)
    assert sorted(json.loads(event.data)["id"] for event in client.read(EVERYTHING, clean)) == good

    assert job("replay", COMMIT, "1") == -signal.SIGKILL
    assert sorted([job("replay"), job("replay")]) in ([0, 0], [0, poisoned])
    assert sorted(json.loads(each)["id"] for each in official(CLEAN)) == list(range(count))
    letters = sorted(base64.b64decode(json.loads(each)["event"]) for each in official(DEAD))
    assert letters == sorted(events[number] for number in bad)
    assert [each.state for each in list_errors(WrittenStream(clean, client))] == ["replayed"]
