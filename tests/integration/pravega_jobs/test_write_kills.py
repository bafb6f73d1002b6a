"""Writes of frames that are killed right before and right after each of their requests, and repeated."""

import json

import pyarrow as pa
import pytest
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.write_job import ROWS, WRITE_ID

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from pravega_jobs.frames import write_arrow

__all__ = ["client", "scope"]
# A write of these rows to two segments has so many steps at least: two for each request.
FEWEST = 100


@pytest.fixture
def check_once(client):
    """Checks that each event of the write is in a stream once, and those of a key in their order."""

    def check_once(stream: StreamName) -> None:
        found = [
            json.loads(event.data) for event in client.read(StreamCutRange(client.head(stream), client.tail(stream)))
        ]
        expected = [{name: value for name, value in row.items() if name != "routing_key"} for row in ROWS]
        for city in {row["city"] for row in ROWS}:
            assert [row for row in found if row["city"] == city] == [row for row in expected if row["city"] == city]
        assert len(found) == len(expected)

    return check_once


@pytest.mark.parametrize("every", [31, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_a_write_killed_twice_at_a_request_and_repeated_is_there_once(client, scope, killed_write, check_once, every):
    streams: list[StreamName] = []
    for step in range(1, 1000, every):
        stream = StreamName(scope, f"sums{step}")
        assert client.create_stream(stream, ScalingPolicy.fixed(2))
        streams.append(stream)
        if not killed_write(stream, step):
            break
        killed_write(stream, step)
        write_arrow(client, pa.Table.from_pylist(ROWS), stream, WRITE_ID)
        assert not write_arrow(client, pa.Table.from_pylist(ROWS), stream, WRITE_ID).by_this_try
        check_once(stream)
    assert step > FEWEST
    for each in streams:
        check_once(each)
