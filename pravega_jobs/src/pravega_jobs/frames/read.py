"""Reads of ranges as record batches and tables: of a range that a consumer has taken, or of two cuts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import UNBOUNDED, SegmentRange, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.positions import Position, parse_position
from pravega_jobs.frames.decoding import Decoding, Times, decoding_of
from pravega_jobs.frames.expressions import check_filter, expression_may_hold
from pravega_jobs.frames.limits import KnownColumns, Limits, bytes_left, limits_of
from pravega_jobs.frames.options import FrameOptions, ReadOptions
from pravega_jobs.frames.reads import Scan
from pravega_jobs.ranges import fix_range
from pravega_jobs.spark.options import ERROR
from pravega_jobs.tables import hold_size, to_pandas, to_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from aiopravega.blocking.registry import SchemaRegistry

LARGEST_TABLE: Final = 1_000_000_000
_WAY_OUT: Final = "read it by read_arrow or scan_polars, a few megabytes at a time, read a smaller range, or allow more"


class ReadableRange(Protocol):
    """A range with the client that reads it: `TakenRange` of `aiopravega.blocking.intervals`, or a `StreamRange`."""

    @property
    def client(self) -> PravegaClient:
        """A connected client."""

    @property
    def stream(self) -> StreamName:
        """The stream."""

    @property
    def range(self) -> StreamCutRange:
        """Both cuts."""

    @property
    def times(self) -> Times | None:
        """The event times to keep; None: all events."""


@dataclass(frozen=True, slots=True)
class StreamRange:
    """A range of a stream that belongs to no consumer, with a connected client.

    With `times`, only events with `times[0] <= time < times[1]` are read; the option `event_time` names their column.
    """

    client: PravegaClient
    stream: StreamName
    range: StreamCutRange
    times: Times | None = None


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """A range that was checked against its stream, and the decoding of its events.

    `parts` are the ranges of its segments, in the order in which they are read. `limits` come from `filter`.
    """

    client: PravegaClient
    stream: StreamName
    parts: tuple[SegmentRange, ...]
    times: Times | None
    decoding: Decoding
    options: FrameOptions
    filter: "pc.Expression | None" = None
    limits: Limits = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes, event headers (8 bytes each) included."""
        return sum(part.size for part in self.parts)

    @property
    def scan(self) -> Scan:
        """The rows, read each time that somebody asks for them."""
        return Scan(self.client, [self], self.decoding, self.options.unit, filter=self.filter, limits=self.limits)

    def filtered(self, condition: "pc.Expression") -> Self:
        """The read of the rows for which a condition is true, and of those with an error in the column `_error`.

        Raises:
            ConfigurationError: the condition is none for the columns.
            PravegaError: the watermarks of the stream cannot be read.
        """
        schema = self.decoding.schema
        checked = check_filter(condition, schema)
        known = KnownColumns.of(self.decoding, self.options.unit)
        may_hold = expression_may_hold(checked, schema, known)
        limits = limits_of(self.client, self.parts, may_hold, known, checked)
        # Whether the condition is true of an event that cannot be decoded is not known.
        kept = checked | pc.field(ERROR).is_valid() if ERROR in schema.names else checked
        return replace(self, filter=kept, limits=limits)

    def table(self, largest: int, select: Sequence[str] | None = None) -> pa.Table:
        """All rows, in memory as a whole. `select` names columns of the decoding.

        Raises:
            ConfigurationError: the range has more than `largest` bytes.
            PravegaError: it cannot be read.
        """
        hold_size(self.stream, bytes_left(self.parts, self.limits), f"largest={largest:,}", largest, _WAY_OUT)
        return self.scan.batches(select).read_all()


def range_of(
    client: PravegaClient, stream: StreamName | str, start: Position | str = UNBOUNDED, end: Position | str = UNBOUNDED
) -> StreamRange:
    """The range between two positions; by default the whole stream as it is now.

    Args:
        client: a connected client, which has to stay open while the range is read.
        stream: the stream, as `scope/stream` or a name.
        start: a cut or its text, `"earliest"` or `"latest"`; the head of the stream by default.
        end: as `start`; the tail of the stream by default.

    Raises:
        StreamNotFoundError: the stream does not exist.
        StreamTruncatedError: retention or a truncation removed a part of the range.
        InvalidRangeError: the end lies before the start, or beyond the tail.
        InvalidStreamCutError: a cut is of another stream, or does not fit the stream's segments.
    """
    name = StreamName.of(stream)
    first, last = (parse_position(one, name) if isinstance(one, str) else one for one in (start, end))
    return StreamRange(client, name, client.run(fix_range(client.asynchronous, name, first, last)).cuts)


def plan_read(
    of: ReadableRange,
    select: Sequence[str] | None,
    registry: "SchemaRegistry | None",
    options: Mapping[str, Any],
    filter: "pc.Expression | None" = None,
) -> PlannedRead:
    """Check options and range, and find the schema, before anything is read.

    Raises:
        ConfigurationError: an option is not known, a selected column does not exist, the filter is none for the
            columns, or no schema is known.
        GroupNotFoundError: the options need a schema of the registry, which has no group for the stream.
        PravegaError: the range cannot be read, or a server cannot be reached.
    """
    parsed = FrameOptions.parse(options)
    if parsed.encode is not None:
        raise ConfigurationError("the option 'encode' is of writes: reads have 'decode'")
    parts = tuple(of.client.plan(of.range, of.stream))
    decoding = decoding_of(parsed, of.stream, registry, of.client, [of.range])
    planned = PlannedRead(of.client, of.stream, parts, of.times, decoding, parsed)
    missing = [name for name in select or () if name not in planned.decoding.schema.names]
    if missing:
        known = ", ".join(planned.decoding.schema.names)
        raise ConfigurationError(f"select names {missing[0]!r}, but the events of {of.stream} have the columns {known}")
    return planned if filter is None else planned.filtered(filter)


def read_arrow(
    of: ReadableRange,
    *,
    select: Sequence[str] | None = None,
    filter: "pc.Expression | None" = None,
    registry: "SchemaRegistry | None" = None,
    **options: Unpack[ReadOptions],
) -> pa.RecordBatchReader:
    """The events of a range as record batches; events of one routing key are in the order of their writing.

    The reader asks the cluster while it is read, and has a few megabytes in memory, however large the range is. Any
    library that takes Arrow's streams reads it, DuckDB for example. It can be read once.

    Args:
        of: the range, such as `take` and `range_of` give it. Its client has to stay open.
        select: the columns to have, in this order; None: all.
        filter: a condition of `pyarrow.compute` on any columns, such as `field("delay") > 60`: only rows for which it
            is true are given, and with `on_error=dead` those with an error. What it rules out by `scope`, `stream`,
            `segment`, `segment_id`, `offset` or the time of the option `event_time` is not fetched, as far as that is
            known before (the log, INFO, says how much is left), and so events there that cannot be decoded are no
            errors.
        registry: the Schema Registry; with it, and a group for the stream, events become columns without options.
        options: by which Spark's source makes columns of events: `decode`, `columns`, `on_error`, the options of
            schemas, of the registry and of Debezium's changes, `metadata_columns`, `metadata_prefix`, `event_time`,
            `event_time_unit`. A registry that is given has no options for its address.

    Raises:
        ConfigurationError: an option is not known, a selected column does not exist, the filter is none for the
            columns, or no schema is known.
        GroupNotFoundError: the options need a schema of the registry, which has no group for the stream.
        StreamTruncatedError: retention or a truncation removed a part of the range.
        MalformedEventError: while it is read: an event cannot be decoded, and `on_error` is `fail`.
        PravegaError: a server cannot be reached.
    """
    return plan_read(of, select, registry, options, filter).scan.batches(select)


def read_table(
    of: ReadableRange,
    *,
    select: Sequence[str] | None = None,
    filter: "pc.Expression | None" = None,
    registry: "SchemaRegistry | None" = None,
    largest: int = LARGEST_TABLE,
    **options: Unpack[ReadOptions],
) -> pa.Table:
    """The events of a range as a Table of Arrow, in memory as a whole.

    Args:
        of: as of `read_arrow`; so are `select`, `filter`, `registry` and `options`.
        select: the columns.
        filter: the condition.
        registry: the Schema Registry.
        largest: the most bytes that the range may have, event headers (8 bytes each) included.
        options: of the decoding.

    Raises:
        ConfigurationError: the range has more bytes, or as `read_arrow`.
        PravegaError: as `read_arrow`.
    """
    return plan_read(of, select, registry, options, filter).table(largest, select)


def read_pandas(
    of: ReadableRange,
    *,
    select: Sequence[str] | None = None,
    filter: "pc.Expression | None" = None,
    registry: "SchemaRegistry | None" = None,
    largest: int = LARGEST_TABLE,
    **options: Unpack[ReadOptions],
) -> "pd.DataFrame":
    """The events of a range as a DataFrame of pandas with Arrow's types, in memory as a whole.

    Args:
        of: as of `read_arrow`; so are `select`, `filter`, `registry` and `options`.
        select: the columns.
        filter: the condition.
        registry: the Schema Registry.
        largest: the most bytes that the range may have, event headers (8 bytes each) included.
        options: of the decoding.

    Raises:
        ConfigurationError: the range has more bytes, pandas is not installed, or as `read_arrow`.
        PravegaError: as `read_arrow`.
    """
    frame: pd.DataFrame = to_pandas(
        read_table(of, select=select, filter=filter, registry=registry, largest=largest, **options)
    )
    return frame


def read_polars(
    of: ReadableRange,
    *,
    select: Sequence[str] | None = None,
    filter: "pc.Expression | None" = None,
    registry: "SchemaRegistry | None" = None,
    largest: int = LARGEST_TABLE,
    **options: Unpack[ReadOptions],
) -> "pl.DataFrame":
    """The events of a range as a DataFrame of Polars, in memory as a whole.

    Args:
        of: as of `read_arrow`; so are `select`, `filter`, `registry` and `options`.
        select: the columns.
        filter: the condition.
        registry: the Schema Registry.
        largest: the most bytes that the range may have, event headers (8 bytes each) included.
        options: of the decoding.

    Raises:
        ConfigurationError: the range has more bytes, Polars is not installed, or as `read_arrow`.
        PravegaError: as `read_arrow`.
    """
    frame: pl.DataFrame = to_polars(
        read_table(of, select=select, filter=filter, registry=registry, largest=largest, **options)
    )
    return frame
