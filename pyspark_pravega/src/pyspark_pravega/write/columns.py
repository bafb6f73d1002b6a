"""The columns of a write: event, routing key and time among a DataFrame's columns, found before work starts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from aiopravega.errors import ConfigurationError
from aiopravega.times import TimeUnit
from pravega_jobs.decoding.options import Format
from pyspark_pravega.arrow_types import arrow_schema
from pyspark_pravega.write.write_options import ColumnOptions, WriteOptions

if TYPE_CHECKING:
    from aiopravega.schema.open.blocks.serializer import BlockSerializer
    from pyspark_pravega.encode.plan import EncodePlan

EVENT: Final = "event"
ROUTING_KEY: Final = "routing_key"
_UNNAMED: Final = ColumnOptions()
_SHAPE: Final = "a write takes the columns 'event' (string or binary) and, if wanted, 'routing_key' (string)"


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """Indexes of the columns in every batch.

    `event` has the columns that make the event: one of strings or binary values, or, with a `plan` of encoding, all
    columns that become its fields; `inside` says that they are the fields of one struct. `routing_key` and `time` are
    paths of indexes, for a field of a struct.
    """

    event: tuple[int, ...]
    inside: bool
    routing_key: tuple[int, ...] | None
    time: tuple[int, ...] | None
    fields: StructType
    plan: "EncodePlan | None" = None

    @classmethod
    def find(cls, schema: StructType, named: ColumnOptions = _UNNAMED) -> Self:
        """Find the columns in a DataFrame's schema.

        Raises:
            ConfigurationError: a column is missing, of a wrong type, or not one of a write.
        """
        router = named.router or (ROUTING_KEY if ROUTING_KEY in schema.fieldNames() else None)
        key, time = _path(schema, router, "event_router"), _path(schema, named.time, "event_time")
        if key is not None:
            _check_key(router or "", key[1])
        if time is not None and not isinstance(time[1], (TimestampType, LongType)):
            raise ConfigurationError(
                f"column {named.time!r} is {time[1].simpleString()}, but event_time takes a timestamp, or a bigint "
                "in the stream's unit of times: cast it"
            )
        event = schema[EVENT].dataType if EVENT in schema.fieldNames() else None
        if not named.encoded:
            _check_plain(schema, named)
            chosen, fields = [schema.fieldNames().index(EVENT)], StructType()
        elif isinstance(event, StructType):
            chosen, fields = [schema.fieldNames().index(EVENT)], event
        else:
            # The column `routing_key` is not part of the event, unless an option names the key's column.
            chosen = [index for index, name in enumerate(schema.fieldNames()) if named.router or name != ROUTING_KEY]
            fields = StructType([schema.fields[index] for index in chosen])
        if named.encoded and not fields.fields:
            raise ConfigurationError("the DataFrame has no columns from which an event could be made")
        inside = named.encoded and isinstance(event, StructType)
        return cls(tuple(chosen), inside, key and key[0], time and time[0], fields)

    def planned(self, plan: "EncodePlan | None") -> "SinkColumns":
        """These columns, with a plan of encoding."""
        return replace(self, plan=plan)

    @property
    def keyed(self) -> bool:
        """True if rows may have routing keys."""
        return self.routing_key is not None or (self.plan is not None and self.plan.keyed)

    @property
    def arrow_fields(self) -> pa.Schema:
        """The fields that are encoded, as Arrow's types."""
        return arrow_schema(self.fields)

    def encoder(self) -> "BlockSerializer | None":
        """An encoder for one task; None if a column has the events."""
        return None if self.plan is None else self.plan.encoder()

    def events(self, batch: pa.RecordBatch, encoder: "BlockSerializer | None" = None) -> pa.Array:
        """The events of a batch."""
        if encoder is None:
            return batch.column(self.event[0])
        return encoder.encode(self._encoded(batch), batch.num_rows)

    def keys(self, batch: pa.RecordBatch, encoder: "BlockSerializer | None" = None) -> pa.Array | None:
        """The routing keys of a batch, or None if no row has one; a column of keys wins over keys of the encoder."""
        if self.routing_key is not None:
            keys = _at(batch, self.routing_key)
        else:
            keys = None if encoder is None else encoder.keys(self._encoded(batch), batch.num_rows)
        if keys is not None and not pa.types.is_string(keys.type):
            keys = keys.cast(pa.string())
        return None if keys is None or keys.null_count == len(keys) else keys

    def _encoded(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The fields that are encoded."""
        if not self.inside:
            return [batch.column(index) for index in self.event]
        column = batch.column(self.event[0])
        if column.null_count:
            raise ConfigurationError(
                f"{column.null_count} of {len(column)} rows have no event (null): filter them out, or give them a value"
            )
        fields: list[pa.Array] = column.flatten()
        return fields

    def latest(self, batch: pa.RecordBatch, unit: TimeUnit) -> int | None:
        """The latest time of a batch in this unit; a column of numbers is in it already."""
        if self.time is None:
            return None
        times = _at(batch, self.time)
        if not pa.types.is_timestamp(times.type):
            number: int | None = pc.max(times).as_py()
            return number
        micros = pc.max(times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())).as_py()
        return None if micros is None else micros * TimeUnit.US // unit


def all_columns(options: WriteOptions, schema: StructType) -> list[SinkColumns]:
    """The columns of the rows for each stream of a write; see `sink_columns`."""
    rows = options.errors.rows(schema)
    if options.division is not None:
        rows = options.division.rows(rows)
    return [sink_columns(replace(options, stream=stream), rows) for stream in options.streams]


def sink_columns(options: WriteOptions, schema: StructType) -> SinkColumns:
    """Find and check the columns of a write; a schema that the registry lacks is registered.

    Raises:
        ConfigurationError: a column cannot work, or does not fit the schema of the events.
        PravegaError: the registry does not answer, or refuses the schema.
    """
    columns = SinkColumns.find(schema, options.columns)
    if options.encode.format is Format.RAW:
        return columns
    from pyspark_pravega.encode.planning import encode_plan
    from pyspark_pravega.encode.written_changes import check_key

    if options.encode.changes is not None:
        check_key(options.encode.changes, has_routing_key=columns.routing_key is not None)
    return columns.planned(encode_plan(options.encode, options.config, options.stream, columns.arrow_fields))


def _at(batch: pa.RecordBatch, index: tuple[int, ...]) -> pa.Array:
    column = batch.column(index[0])
    for inner in index[1:]:
        column = column.flatten()[inner]
    return column


def _path(schema: StructType, name: str | None, option: str) -> tuple[tuple[int, ...], DataType] | None:
    """The path of indexes to a column, and its type; a dot in the name leads into a struct."""
    if name is None:
        return None
    if name in schema.fieldNames():  # the name of a column may have dots
        return (schema.fieldNames().index(name),), schema[name].dataType
    indexes: list[int] = []
    kind: DataType = schema
    for part in name.split("."):
        if not isinstance(kind, StructType) or part not in kind.fieldNames():
            raise ConfigurationError(
                f"option {option!r} is {name!r}, not a column: there are {_list(schema.fieldNames())}. It takes "
                "a column, or a field of a struct as column.field; for an expression, make a column of it first with "
                "withColumn, because Spark does not evaluate expressions for data sources"
            )
        indexes.append(kind.fieldNames().index(part))
        kind = kind[part].dataType
    return tuple(indexes), kind


def _check_key(name: str, kind: DataType) -> None:
    if not isinstance(kind, (StringType, IntegralType)):
        raise ConfigurationError(
            f"column {name!r} is {kind.simpleString()}, but routing keys are strings or integers: cast it to string"
        )


def _check_plain(schema: StructType, named: ColumnOptions) -> None:
    """Check the columns of a write without encoding, which would lose any other column."""
    names = schema.fieldNames()
    used = {EVENT, named.router or ROUTING_KEY, *([named.time] if named.time else [])}
    for field in schema.fields:
        if field.name not in used:
            raise ConfigurationError(
                f"column {field.name!r} ({field.dataType.simpleString()}) is not part of a write: {_SHAPE}. "
                f"Drop it, or put it into the event: give option 'encode' (json, avro or protobuf), or write "
                f"event = to_json(struct({_list(names)}))."
            )
    if EVENT not in names:
        raise ConfigurationError(f"column 'event' is missing, there are {_list(names) or 'no columns'}: {_SHAPE}")
    _check_event(schema[EVENT])


def _check_event(field: StructField) -> None:
    if isinstance(field.dataType, (StringType, BinaryType)):
        return
    raise ConfigurationError(
        f"column {field.name!r} is {field.dataType.simpleString()}, but {_SHAPE}: encode it, for example with option "
        f"'encode' or with to_json(struct({EVENT}))"
    )


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
