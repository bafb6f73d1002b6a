"""Ranges of a stream as record batches: a few megabytes at a time, in this process."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import TimeUnit
from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange
from aiopravega.names import SegmentId
from aiopravega.read.bulk import BulkReader
from aiopravega.schema.arrow.frames import Positions, events_between, find_frames
from pravega_jobs.frames.decoding import Decoding, Times

# Bytes that become batches, and rows of a batch: of very short events, a row has some 50 bytes beside its event.
_BLOCK_BYTES: Final = 4 * 1024 * 1024
_MOST_ROWS: Final = 100_000
# Threads that decode. With more of them Python's own steps, which no two threads do at once, are most of the time.
_DECODERS: Final = min(4, os.cpu_count() or 1)

T = TypeVar("T")


class RangePiece(Protocol):
    """A range that is read as one: the parts of its segments in their order, and the event times to keep, if any."""

    @property
    def parts(self) -> Sequence[SegmentRange]:
        """The ranges of the segments, in the order in which they are read."""

    @property
    def times(self) -> Times | None:
        """The event times to keep; None: all events."""


@dataclass
class BatchCount:
    """The count of the events of batches, before any event is left out; known after the last batch."""

    seen: int = 0
    complete: bool = False

    def events(self) -> int | None:
        """The number of events in the ranges; None: not all of them have been read."""
        return self.seen if self.complete else None


@dataclass(frozen=True, slots=True)
class Scan:
    """Ranges that are read each time somebody asks for their rows: a table for libraries that take Arrow's streams.

    `client` has to be open whenever it is read; all fields are as for `read_batches`, and `limits` as `limits_of` of
    `pravega_jobs.frames.limits` gives them.
    """

    client: PravegaClient
    pieces: Sequence[RangePiece]
    decoding: Decoding
    unit: TimeUnit
    columns: Sequence[str] | None = None
    filter: pc.Expression | None = None
    limits: Mapping[SegmentRange, int] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        schema = self.decoding.schema
        return schema if self.columns is None else pa.schema([schema.field(name) for name in self.columns])

    def batches(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """The rows, read again; `columns` are some of the columns, None: all of them."""
        wanted = self.columns if columns is None else columns
        return _reader(_Batches(self.client, self.pieces, self.decoding, self.unit, self.filter, self.limits), wanted)

    def __arrow_c_schema__(self) -> Any:
        """The columns, for libraries that take Arrow's C interface."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows, read again, for libraries that take Arrow's C interface."""
        return self.batches().__arrow_c_stream__(requested_schema)


def read_batches(
    client: PravegaClient,
    pieces: Iterable[RangePiece],
    decoding: Decoding,
    unit: TimeUnit,
    columns: Sequence[str] | None = None,
) -> tuple[pa.RecordBatchReader, BatchCount]:
    """The events of ranges as batches, with their count; events of one routing key are in the order of their writing.

    The reader asks the cluster when it is read, and has some blocks of events in memory, not the range.

    Args:
        client: a connected client, which has to stay open while the batches are read.
        pieces: the ranges; of one with event times, only events of these times are read.
        decoding: of the events into columns.
        unit: of the times that the writers of the stream note.
        columns: the columns to read; None: all.
    """
    batches = _Batches(client, pieces, decoding, unit)
    return _reader(batches, columns), batches.count


@dataclass(frozen=True, slots=True)
class _Block:
    """The rows of a block, and the number of its events."""

    rows: pa.RecordBatch
    events: int


@dataclass(frozen=True, slots=True)
class _Batches:
    client: PravegaClient
    pieces: Iterable[RangePiece]
    decoding: Decoding
    unit: TimeUnit
    filter: pc.Expression | None = None
    limits: Mapping[SegmentRange, int] = field(default_factory=dict)
    count: BatchCount = field(default_factory=BatchCount)

    def read(self) -> Iterator[pa.RecordBatch]:
        """All batches in their order: this thread receives events, and others decode them meanwhile.

        This thread also makes the batches of raw events: to hand them over would cost more.
        """
        reader = BulkReader(self.client.locate, self.client.asynchronous.config)
        work = self._work(reader)
        try:
            for done in (one() for one in work) if self.decoding.plan is None else in_order(work, _DECODERS):
                if isinstance(done, _Block):
                    self.count.seen += done.events
                    yield done.rows
                else:
                    done()
        finally:
            reader.close()
        self.count.complete = True

    def _work(self, reader: BulkReader) -> Iterator[Callable[[], _Block | Callable[[], None]]]:
        """The decoding of all blocks; after the blocks of a part a function that ends its decoding."""
        for piece in self.pieces:
            decoding = self.decoding.within(piece.times, self.unit)
            for part in piece.parts:
                limit = self.limits.get(part, part.end)
                if limit <= part.start:
                    continue
                for events, offsets in _events(reader, part, limit):
                    yield partial(self._decode, decoding, events, offsets, part.segment)
                yield partial(partial, decoding.finish, part.segment)

    def _decode(
        self, decoding: Decoding, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId
    ) -> _Block:
        batch = decoding.batch(events, offsets, segment)
        return _Block(batch if self.filter is None else batch.filter(self.filter), len(offsets))


def _events(
    reader: BulkReader, part: SegmentRange, limit: int
) -> Iterator[tuple[pa.BinaryArray, npt.NDArray[np.int64]]]:
    """The events of a part that begin before an offset, with their offsets; as many at a time as one batch has."""
    blocks = reader.read(part, scan=find_frames, allocate=_arrow_buffer, block_bytes=_BLOCK_BYTES)
    for block in blocks:
        if block.offset >= limit:
            blocks.close()
            break
        borders: Positions = np.append(block.frames, np.int32(len(block.data)))
        borders = borders[: np.searchsorted(block.frames, limit - block.offset) + 1]
        data = pa.py_buffer(block.data)
        for first in range(0, len(borders) - 1, _MOST_ROWS):
            some = borders[first : first + _MOST_ROWS + 1]
            yield events_between(some, data), some[:-1].astype(np.int64) + block.offset


def in_order(work: Iterable[Callable[[], T]], threads: int) -> Generator[T, None, None]:
    """The results of some work, in its order; `work` is iterated in the thread that takes the results.

    At most two pieces of work for each thread are under way, or wait to be taken. An error of one comes when it is its
    turn; when the iterator is closed, what has begun is waited for.

    Args:
        work: functions that may be called side by side.
        threads: that call them.
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads, "pravega-decode") as pool:
        try:
            for one in work:
                waiting.append(pool.submit(one))
                while waiting and (len(waiting) >= 2 * threads or waiting[0].done()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def _reader(batches: _Batches, columns: Sequence[str] | None) -> pa.RecordBatchReader:
    schema = batches.decoding.schema
    if columns is None:
        return pa.RecordBatchReader.from_batches(schema, batches.read())
    selected = pa.schema([schema.field(name) for name in columns])
    return pa.RecordBatchReader.from_batches(selected, (batch.select(list(columns)) for batch in batches.read()))


def _arrow_buffer(size: int) -> memoryview:
    """Memory of Arrow's pool, which reuses it without a request to the system."""
    return memoryview(pa.allocate_buffer(size))
