"""A stream of orders, some of which cannot be decoded, written into another stream with its errors beside."""

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName
from aiopravega.commands.main import cli
from pravega_jobs.frames import range_of, read_arrow, write_arrow
from pravega_jobs.landing import list_errors

JSON: dict[str, Any] = {"decode": "json", "columns": "id long", "missing_fields": "fail", "on_error": "dead"}
BAD = [b"no json", b'{"other": 1}', b"\xff\0"]


@pytest.fixture(autouse=True)
def environment(monkeypatch, pravega_config):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)


@pytest.fixture
def streams(client, scope) -> tuple[StreamName, StreamName, StreamName]:
    """A stream of five orders and three events that are none, one for orders, and one for errors."""
    made = StreamName(scope, "orders"), StreamName(scope, "clean"), StreamName(scope, "dead")
    for each in made:
        assert client.create_stream(each, ScalingPolicy.fixed(2))
    with client.writer(made[0]) as writer:
        writer.write_many([b'{"id": %d}' % number for number in range(5)])
        writer.write_many(BAD)
    return made


@pytest.fixture
def events(client) -> Callable[[StreamName], list[bytes]]:
    """All events of a stream, as anybody reads them."""
    everything = StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded())
    return lambda stream: sorted(event.data for event in client.read(everything, stream))


@pytest.fixture
def clean(client, streams):
    """Writes the orders that can be decoded, with the errors beside."""
    orders, target, dead = streams

    def clean(write_id: str = "monday", **given: Any) -> Any:
        rows = read_arrow(range_of(client, orders), **JSON)
        return write_arrow(client, rows, target, write_id, **{"errors": f"stream:{dead}", **given})

    return clean


def states(target: StreamName) -> list[tuple[str, int, str, int]]:
    """Interval, generation, state and number of the errors of the writes to a stream."""
    return sorted((each.interval, each.generation, each.state, each.found) for each in list_errors(f"stream:{target}"))


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(words), standalone_mode=False)
    assert done.exception is None
    return int(done.return_value), done.stdout
