"""Blocks of events become record batches of exactly the columns of Pravega's JVM connector."""

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from aiopravega import SegmentId, StreamName, wire
from aiopravega.read.bulk import EventBlock
from pyspark_pravega.read.frames import find_frames
from pyspark_pravega.read.rows import LARGEST_BATCH_ROWS, SCHEMA, RowMaker
from pyspark_pravega.source import READ_SCHEMA

SEGMENT = SegmentId(StreamName("examples", "flüsse"), 7, 2)


def block_of(events, offset=0):
    data = memoryview(b"".join(wire.event_header(len(event)) + event for event in events))
    frames, end = find_frames(data, 0, len(data))
    assert end == len(data)
    return EventBlock(SEGMENT, offset, data, frames)


def test_the_batches_fit_the_schema_that_spark_expects():
    assert to_arrow_schema(READ_SCHEMA, timezone="UTC").equals(SCHEMA)


def test_each_row_has_its_event_and_its_place():
    block = block_of([b"one", b"", b"three"], offset=1000)

    (batch,) = RowMaker(SEGMENT).batches(block)

    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    common = {"scope": "examples", "stream": "flüsse", "segment_id": (2 << 32) + 7}
    assert batch.to_pylist() == [
        {"event": b"one", **common, "offset": 1000},
        {"event": b"", **common, "offset": 1011},
        {"event": b"three", **common, "offset": 1019},
    ]


def test_one_maker_serves_blocks_of_all_sizes():
    maker = RowMaker(SEGMENT)

    for count in (3, 1, 500, 20):
        (batch,) = maker.batches(block_of([b"x"] * count))
        batch.validate(full=True)
        assert batch.num_rows == count


@pytest.mark.parametrize("more", [0, 1, LARGEST_BATCH_ROWS])
def test_short_events_come_in_batches_of_bounded_size(more):
    count = LARGEST_BATCH_ROWS + more
    events = [b"%d" % (number % 10) for number in range(count)]

    batches = RowMaker(SEGMENT).batches(block_of(events, offset=5))

    assert all(batch.num_rows <= LARGEST_BATCH_ROWS for batch in batches)
    table = pa.Table.from_batches(batches)
    table.validate(full=True)
    assert table.column("event").to_pylist() == events
    assert table.column("offset").to_pylist() == list(range(5, 5 + count * 9, 9))


def test_a_batch_survives_the_way_to_spark():
    batches = RowMaker(SEGMENT).batches(block_of([b"abc"] * (LARGEST_BATCH_ROWS + 10)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        for batch in batches:
            stream.write_batch(batch)

    arrived = list(pa.ipc.open_stream(sink.getvalue()))

    assert [batch.num_rows for batch in arrived] == [LARGEST_BATCH_ROWS, 10]
    assert arrived[1].equals(batches[1])
