"""Blocks of events become record batches of exactly the columns of Pravega's JVM connector."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from aiopravega import SegmentId, StreamName, wire
from aiopravega.read.bulk import EventBlock
from aiopravega.schema.arrow.frames import find_frames
from pravega_jobs.decoding.plan import Decoded
from pravega_jobs.spark.options import READ_BYTES
from pyspark_pravega.arrow_types import arrow_schema
from pyspark_pravega.decode.plans import SparkPlan
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.rows import LARGEST_BATCH_ROWS, SegmentRows

SEGMENT = SegmentId(StreamName("examples", "flüsse"), 7, 2)
RAW = Columns.of()
EVERYTHING = Columns.of(["all"])
NUMBERS = StructType([StructField("number", LongType())])


def block_of(events, offset=0):
    data = memoryview(b"".join(wire.event_header(len(event)) + event for event in events))
    frames, end = find_frames(data, 0, len(data))
    assert end == len(data)
    return EventBlock(SEGMENT, offset, data, frames)


def test_the_batches_fit_the_schema_that_spark_expects():
    assert arrow_schema(EVERYTHING.schema).equals(EVERYTHING.arrow)


def test_each_row_has_its_event_and_its_place():
    block = block_of([b"one", b"", b"three"], offset=1000)

    (batch,) = SegmentRows(SEGMENT, RAW).batches(block)

    batch.validate(full=True)
    assert batch.schema.equals(RAW.arrow)
    common = {"scope": "examples", "stream": "flüsse", "segment_id": (2 << 32) + 7}
    assert batch.to_pylist() == [
        {"event": b"one", **common, "offset": 1000},
        {"event": b"", **common, "offset": 1011},
        {"event": b"three", **common, "offset": 1019},
    ]


def test_one_maker_serves_blocks_of_all_sizes():
    maker = SegmentRows(SEGMENT, RAW)

    for count in (3, 1, 500, 20):
        (batch,) = maker.batches(block_of([b"x"] * count))
        batch.validate(full=True)
        assert batch.num_rows == count


@pytest.mark.parametrize("more", [0, 1, LARGEST_BATCH_ROWS])
def test_short_events_come_in_batches_of_bounded_size(more):
    count = LARGEST_BATCH_ROWS + more
    events = [b"%d" % (number % 10) for number in range(count)]

    batches = SegmentRows(SEGMENT, RAW).batches(block_of(events, offset=5))

    assert all(batch.num_rows <= LARGEST_BATCH_ROWS for batch in batches)
    table = pa.Table.from_batches(batches)
    table.validate(full=True)
    assert table.column("event").to_pylist() == events
    assert table.column("offset").to_pylist() == list(range(5, 5 + count * 9, 9))


def test_a_batch_survives_the_way_to_spark():
    batches = SegmentRows(SEGMENT, RAW).batches(block_of([b"abc"] * (LARGEST_BATCH_ROWS + 10)))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, RAW.arrow) as stream:
        for batch in batches:
            stream.write_batch(batch)

    arrived = list(pa.ipc.open_stream(sink.getvalue()))

    assert [batch.num_rows for batch in arrived] == [LARGEST_BATCH_ROWS, 10]
    assert arrived[1].equals(batches[1])


def test_metadata_says_where_an_event_is_and_when():
    columns = Columns.of(["all"])
    maker = SegmentRows(SEGMENT, columns, times=(1_700_000_000_000_000, None))

    (batch,) = maker.batches(block_of([b"one", b"", b"three"], offset=1000))

    batch.validate(full=True)
    assert batch.schema.equals(columns.arrow)
    assert batch.column("event_pointer").to_pylist() == [
        "examples/flüsse/7.#epoch.2:1000-11",
        "examples/flüsse/7.#epoch.2:1011-8",
        "examples/flüsse/7.#epoch.2:1019-13",
    ]
    assert batch.column("segment").to_pylist() == ["examples/flüsse/7.#epoch.2"] * 3
    assert batch.column("event_time_lower").cast(pa.int64()).to_pylist() == [1_700_000_000_000_000] * 3
    assert batch.column("event_time_upper").null_count == 3


class EvenOnly:
    """Decodes the events as numbers, and leaves out the odd ones."""

    kept = "_corrupt_event"
    pinned: ClassVar[dict[str, str]] = {}
    schema = pa.schema([("number", pa.int64())])

    def decoder(self):
        return self

    def decode(self, events, offsets, segment):
        assert len(offsets) == len(events)
        assert segment == SEGMENT
        taken = np.array([row for row, event in enumerate(events) if int(event.as_py()) % 2 == 0], np.int64)
        numbers = pa.array([int(event.as_py()) for event in events]).take(pa.array(taken))
        return Decoded([numbers], taken, pa.nulls(len(numbers), pa.binary()))


def test_rows_that_a_decoder_drops_are_gone_from_all_columns():
    columns = Columns.of(["offset", "event_pointer", "stream"], SparkPlan(EvenOnly(), NUMBERS))

    (batch,) = SegmentRows(SEGMENT, columns).batches(block_of([b"1", b"2", b"3", b"4"]))

    batch.validate(full=True)
    pointer = "examples/flüsse/7.#epoch.2"
    assert batch.to_pydict() == {
        "number": [2, 4],
        "offset": [9, 27],
        "event_pointer": [f"{pointer}:9-9", f"{pointer}:27-9"],
        "stream": ["flüsse", "flüsse"],
        "_corrupt_event": [None, None],
    }


def test_the_last_row_of_a_piece_has_its_bytes_if_asked_for():
    columns = Columns.of([READ_BYTES])
    maker = SegmentRows(SEGMENT, columns)
    (batch,) = maker.batches(block_of([b"one", b"two"]))
    (last,) = maker.finish(22)

    for each in (batch, last):
        each.validate(full=True)
        assert each.schema.equals(columns.arrow)
    assert batch.column(READ_BYTES).to_pylist() == [None, None]
    assert last.to_pylist() == [dict.fromkeys(RAW.schema.names) | {READ_BYTES: 22}]
    assert SegmentRows(SEGMENT, RAW).finish(22) == []
