"""Blocks of events as Arrow record batches with the columns of a read.

Python touches no single event: Arrow gets the frames as they are and cuts off their headers, and columns with the same
value in every row are made once. This module knows neither servers nor Spark.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.names import SegmentId
from aiopravega.read.bulk import EventBlock
from aiopravega.schema.arrow.arrays import numbers, pick, repeated, text_scalar
from aiopravega.schema.arrow.frames import Positions, events_between
from pravega_jobs.error_rows import KEPT
from pravega_jobs.spark.options import READ_BYTES
from pyspark_pravega.read.columns import EVENT, TIME_COLUMNS, Columns

# Bounds the memory of a batch of very short events: a row is some 50 bytes apart from its event.
LARGEST_BATCH_ROWS: Final = 100_000
_LONG: Final = pa.int64()
_TIME: Final = pa.timestamp("us", tz="UTC")


class SegmentRows:
    """Makes the rows of one segment.

    Args:
        segment: the segment of all blocks.
        columns: the columns of the rows.
        times: the bounds of the events' times, in microseconds since 1970; None if a bound is not known.
    """

    def __init__(
        self, segment: SegmentId, columns: Columns, times: tuple[int | None, int | None] = (None, None)
    ) -> None:
        self._segment = segment
        self._columns = columns
        self._times = times
        self._decoder = columns.decoding.decoder() if columns.decoding else None
        self._constants: dict[str, pa.Array] = {}
        self._constant_rows = -1

    def batches(self, block: EventBlock[Positions]) -> list[pa.RecordBatch]:
        """The events of a block in batches of up to `LARGEST_BATCH_ROWS` rows; the block may be released then."""
        # Arrow's offsets have one more: the end of the last value.
        borders = np.append(block.frames, np.int32(len(block.data)))
        data = pa.py_buffer(block.data)
        return [
            self._batch(borders[first : first + LARGEST_BATCH_ROWS + 1], data, block.offset)
            for first in range(0, len(block.frames), LARGEST_BATCH_ROWS)
        ]

    def finish(self, size: int) -> list[pa.RecordBatch]:
        """End the segment, whose blocks had `size` bytes; returns a last row with that size if a column asks for it."""
        if self._decoder is not None:
            self._decoder.finish(self._segment)
        if READ_BYTES not in self._columns.kinds:
            return []
        schema = self._columns.arrow
        values = [pa.nulls(1, kind) for kind in schema.types]
        values[schema.get_field_index(READ_BYTES)] = numbers(np.full(1, size, np.int64), _LONG)
        return [pa.RecordBatch.from_arrays(values, schema=schema)]

    def _batch(self, borders: Positions, data: pa.Buffer, base: int) -> pa.RecordBatch:
        events = events_between(borders, data)
        offsets = borders[:-1].astype(np.int64)
        offsets += base
        made: dict[str, pa.Array] = {EVENT: events}
        fields: list[pa.Array] = []
        taken = None
        if self._decoder is not None:
            decoded = self._decoder.decode(events, offsets, self._segment)
            fields, taken = decoded.columns, decoded.taken
            made |= dict.fromkeys(KEPT, decoded.kept)
        made["offset"] = numbers(offsets, _LONG)
        if "event_pointer" in self._columns.kinds:
            made["event_pointer"] = self._pointers(made["offset"], borders)
        if taken is not None:
            made |= {kind: pick(made[kind], taken) for kind in ("offset", "event_pointer") if kind in made}
        rows = len(made["offset"])
        if rows > self._constant_rows:
            self._constants, self._constant_rows = self._make_constants(rows), rows
        others = [made[kind] if kind in made else self._constants[kind].slice(0, rows) for kind in self._columns.kinds]
        return pa.RecordBatch.from_arrays([*fields, *others], schema=self._columns.arrow)

    def _pointers(self, offsets: pa.Array, borders: Positions) -> pa.Array:
        """The text of each event's pointer; see `aiopravega.read.pointer`."""
        lengths = numbers(np.diff(borders).astype(np.int64), _LONG)
        starts, sizes = offsets.cast(pa.string()), lengths.cast(pa.string())
        return pc.binary_join_element_wise(
            text_scalar(f"{self._segment}:"), starts, text_scalar("-"), sizes, text_scalar("")
        )

    def _make_constants(self, rows: int) -> dict[str, pa.Array]:
        """The columns with the same value in all rows: columns of the JVM connector, and others that are asked for."""
        name, (lower, upper) = self._segment.stream, self._times
        made = {
            "scope": repeated(name.scope, rows),
            "stream": repeated(name.stream, rows),
            "segment_id": numbers(np.full(rows, self._segment.to_int(), np.int64), _LONG),
        }
        if READ_BYTES in self._columns.kinds:
            made[READ_BYTES] = pa.nulls(rows, _LONG)
        if "segment" in self._columns.kinds:
            made["segment"] = repeated(str(self._segment), rows)
        if not TIME_COLUMNS.isdisjoint(self._columns.kinds):
            made |= {"event_time_lower": _time_column(lower, rows), "event_time_upper": _time_column(upper, rows)}
        return made


def _time_column(micros: int | None, rows: int) -> pa.Array:
    if micros is None:
        return pa.nulls(rows, _TIME)
    return numbers(np.full(rows, micros, np.int64), _TIME)
