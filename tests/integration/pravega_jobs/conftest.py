"""The client of the real server and its streams, as the tests of the client have them; lakes with errors tables."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from tests.integration.aiopravega.conftest import client, eventually, make_stream, read_all, scope
from tests.integration.pravega_jobs.errors_job import KINDS
from tests.integration.pravega_jobs.landing_job import Lake, new_lake

__all__ = ["client", "eventually", "make_stream", "read_all", "scope"]
KilledRun: TypeAlias = Callable[..., bool]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_lake(kind, request, tmp_path) -> Callable[[], Lake]:
    """Makes lakes that share nothing."""

    def make() -> Lake:
        number = next(numbers)
        if kind == "postgres":
            where = request.getfixturevalue("postgres_dsn")
        else:
            where = f"{request.getfixturevalue('s3') if kind == 'delta-s3' else tmp_path}/{number}"
        made: Lake = new_lake(kind, where)
        return made

    numbers = iter(range(10_000))
    return make


@pytest.fixture
def lake(make_lake) -> Lake:
    made: Lake = make_lake()
    return made


@pytest.fixture
def killed_run(kind) -> Iterator[KilledRun]:
    """Works as `errors_job` in a process that is killed at a step; False if it came to its end."""
    command = [sys.executable, "-m", "tests.integration.pravega_jobs.errors_job", kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def killed(lake: Lake, work: str, step: int, stream: str | None = None) -> bool:
            assert program.stdin is not None
            assert program.stdout is not None
            print(json.dumps([lake.where, work, step, stream]), file=program.stdin, flush=True)
            answer = program.stdout.readline().strip()
            assert answer in {"True", "False"}
            return answer == "True"

        yield killed
        program.terminate()
