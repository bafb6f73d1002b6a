"""Decoding of events into columns, without Spark: by a schema of the registry, a given one, or none."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import StreamName, TimeUnit
from aiopravega.blocking.blocks import open_block_reader
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError, MalformedEventError, SchemaNotFoundError
from aiopravega.names import SegmentId
from aiopravega.schema.arrow.block import DecodedBlock
from aiopravega.schema.arrow.sql_columns import columns_of
from aiopravega.schema.open import GroupAddress, find_group, need_group
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget, Target
from pravega_jobs.frames.options import AUTO, RAW, FrameOptions
from pravega_jobs.spark.options import MISSING_FIELDS_OPTION

logger = logging.getLogger(__name__)
RAW_SCHEMA: Final = pa.schema(
    [
        ("event", pa.binary()),
        ("scope", pa.string()),
        ("stream", pa.string()),
        ("segment_id", pa.int64()),
        ("offset", pa.int64()),
    ]
)
# Characters of a reason in a message; a library's reason can be as long as its input.
_SHOWN: Final = 500
Times: TypeAlias = tuple[datetime, datetime]
Decode: TypeAlias = Callable[[pa.BinaryArray], DecodedBlock]


@dataclass(frozen=True, slots=True)
class Decoding:
    """The columns of a read, and the function that makes them of events; `decode` is None: events stay as they are.

    `described` is a text for people. `time` is the column of the event times.
    """

    schema: pa.Schema
    decode: Decode | None
    drops: bool
    described: str
    time: str | None = None

    def batch(
        self, events: pa.BinaryArray, offsets: "np.typing.NDArray[np.int64]", segment: SegmentId
    ) -> pa.RecordBatch:
        """The rows of some events of a segment; `offsets` are their offsets in bytes.

        Raises:
            MalformedEventError: an event cannot be decoded, and `drops` is false.
            PravegaError: the registry cannot be asked.
        """
        if self.decode is None:
            count, name = len(events), segment.stream
            constants = [pa.repeat(value, count) for value in (name.scope, name.stream, segment.to_int())]
            return pa.RecordBatch.from_arrays([events, *constants, pa.array(offsets)], schema=self.schema)
        block = self.decode(events)
        if block.bad:
            first = min(block.bad)
            reason = f"cannot be decoded by {self.described}: {block.bad[first][:_SHOWN]}"
            at = int(offsets[first])
            if not self.drops:
                raise MalformedEventError(
                    f"{segment}: the event at offset {at} {reason}. The option on_error=drop leaves such events out",
                    at=at,
                )
            logger.warning("%s: dropped %d events; that at offset %d %s", segment, len(block.bad), at, reason)
        return pa.RecordBatch.from_arrays(block.columns, schema=self.schema)

    def within(self, batch: pa.RecordBatch, times: Times, unit: TimeUnit) -> pa.RecordBatch:
        """The rows with `times[0] <= time < times[1]`.

        Raises:
            ConfigurationError: there is no column of times, or it has another type.
            MalformedEventError: an event has no time, and `drops` is false.
        """
        column, unit = _times_in(batch, self.time, unit)
        if column.null_count and not self.drops:
            raise MalformedEventError(
                f"{column.null_count} events have no time in column {self.time!r}, so that they are in no interval. "
                "The option on_error=drop leaves such events out",
                at=0,
            )
        start, end = (unit.first_number(time) for time in times)
        return batch.filter(pc.and_(pc.greater_equal(column, start), pc.less(column, end)))  # null is not true


def _times_in(batch: pa.RecordBatch, name: str | None, unit: TimeUnit) -> tuple[pa.Array, TimeUnit]:
    """The times of rows as numbers: microseconds of timestamps, whole numbers in the unit of the stream's writers."""
    if name is None:
        raise ConfigurationError(
            "the range was taken for event times and has events of other times, too: name the column of the times by "
            "the option event_time"
        )
    if name not in batch.schema.names:
        raise ConfigurationError(
            f"option event_time names column {name!r}, but the events have the columns {', '.join(batch.schema.names)}"
        )
    column = batch.column(name)
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()), TimeUnit.US
    if pa.types.is_signed_integer(column.type):
        return column.cast(pa.int64()), unit
    raise ConfigurationError(
        f"column {name!r} of option event_time is {column.type}: it must be a timestamp with a zone, or a whole number "
        "in the unit of the stream's writers"
    )


def decoding_of(options: FrameOptions, stream: StreamName, registry: SchemaRegistry | None) -> Decoding:
    """The decoding of a stream's events, by the options and the registry.

    Raises:
        ConfigurationError: no schema is known, or it cannot become columns.
        GroupNotFoundError: the options need a schema of the registry, which has no group for the stream.
        SchemaNotFoundError: the group has several types, and the options choose none.
        PravegaError: the registry cannot be asked.
    """
    if options.decode == RAW:
        return _raw(options)
    target = _target_of(options)
    if target is not None:
        described = f"the given {'schema' if options.columns is None else 'columns'} ({target.format})"
        return Decoding(target.schema, BlockDeserializer(target).decode, options.drops, described, options.time)
    if registry is None:
        if options.decode is None:
            return _raw(options)
        raise ConfigurationError(
            f"the option decode={options.decode} needs a schema: give schema_registry, or the option schema_text"
            f"{' or columns' if options.decode == 'json' else ''}"
        )
    if options.whole:
        raise ConfigurationError(
            f"the option {MISSING_FIELDS_OPTION}=fail needs the columns by the option columns or schema_text, not by "
            "the registry: give one of them, or use Spark"
        )
    address = GroupAddress.of_stream(stream, options.group, options.namespace)
    find = find_group if options.decode is None else need_group
    group = registry.run(find(registry.asynchronous, address))
    if group is None:
        return _raw(options)
    try:
        reader = open_block_reader(registry, group.name, namespace=group.namespace, type_name=options.type)
    except SchemaNotFoundError as error:
        raise SchemaNotFoundError(f"{error} (option schema_type), or read them as they are (decode=raw)") from None
    form = group.properties.format.value
    if options.decode not in (None, AUTO) and form.lower() not in (options.decode, "any"):
        raise ConfigurationError(f"the option decode is {options.decode}, but group {group.name!r} has {form}")
    return Decoding(
        reader.schema, reader.decode, options.drops, f"group {group.name!r} of the registry ({form})", options.time
    )


def _raw(options: FrameOptions) -> Decoding:
    return Decoding(RAW_SCHEMA, None, options.drops, "no schema: the events as they are", options.time)


def _target_of(options: FrameOptions) -> Target | None:
    """The target by the options alone; None: the registry has the schema."""
    if options.columns is not None:
        return JsonTarget(columns_of(options.columns), whole=options.whole)
    if options.schema is None:
        return None
    if options.decode == "avro":
        return AvroTarget.of(options.schema)
    return JsonTarget(_columns(options.schema), whole=options.whole)


def _columns(text: str) -> pa.Schema:
    from aiopravega.schema.json.columns.types import columns_of as columns_of_schema

    try:
        return columns_of_schema(json.loads(text))
    except ValueError:
        raise ConfigurationError(f"the schema for decode=json is not JSON: {text[:200]!r}") from None
