"""The client of the real server and its streams, as the tests of the client have them; lakes with errors tables."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.steps import Steps
from tests.integration.aiopravega.conftest import client, eventually, make_stream, read_all, scope
from tests.integration.pravega_jobs.errors_job import KINDS
from tests.integration.pravega_jobs.kafka_topics import kafka
from tests.integration.pravega_jobs.killed_runs import KilledRun, killed_runs
from tests.integration.pravega_jobs.landing_job import Lake, new_lake, where_of

from aiopravega import PravegaConfig, StreamName

__all__ = ["client", "eventually", "kafka", "make_stream", "read_all", "scope"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_lake(kind, request) -> Callable[[], Lake]:
    """Makes lakes that share nothing."""

    numbers, where = iter(range(10_000)), where_of(kind, request.getfixturevalue)
    return lambda: new_lake(kind, where.replace("*", str(next(numbers))))


@pytest.fixture
def lake(make_lake) -> Lake:
    made: Lake = make_lake()
    return made


@pytest.fixture
def killed_run(kind) -> Iterator[KilledRun]:
    """Works as `errors_job` in a process that is killed at a step; False if it came to its end."""
    with killed_runs("tests.integration.pravega_jobs.errors_job", kind) as run:
        yield run


@pytest.fixture
def killed_write(tmp_path: Path, pravega_config: PravegaConfig) -> Iterator[Callable[..., bool]]:
    """Writes of frames in a process that is killed at a step, from 1 on; False if it came to its end.

    It takes the stream, the step, and maybe the errors stream.
    """
    steps = Steps(tmp_path)
    command = [sys.executable, "-m", "tests.integration.pravega_jobs.write_job"]
    command += [pravega_config.controller_uri, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def killed(stream: StreamName, step: int, *errors: str) -> bool:
            assert program.stdin is not None
            assert program.stdout is not None
            steps.plan(step)
            print(stream, *errors, file=program.stdin, flush=True)
            answer = program.stdout.readline().strip()
            assert answer in {"True", "False"}
            return answer == "True"

        yield killed
        program.terminate()
