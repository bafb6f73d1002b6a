"""Encoding of tables as events: a column `event` as it is, or each row by a schema of the registry or as JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import StreamName
from aiopravega.blocking.blocks import open_block_serializer
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError, EventTooLargeError, SchemaNotFoundError
from aiopravega.schema.json.columns.encoder import JsonEncoder
from aiopravega.schema.json.columns.forms import TO_JSON
from aiopravega.schema.open import GroupAddress, need_group
from aiopravega.schema.open.blocks.serializer import BlockSerializer
from aiopravega.write.batch import check_event
from pravega_jobs.events.batches import EventBatch
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.refusals import Refusals
from pravega_jobs.spark.options import JSON_OPTIONS

_EVENT: Final = "event"
_KEY: Final = "routing_key"
# Rows that become events at a time.
_MOST_ROWS: Final = 10_000
_TEXTS: Final = (pa.string(), pa.large_string(), pa.string_view())
_BYTES: Final = (pa.binary(), pa.large_binary(), pa.binary_view())
_SIMPLE: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_null,
)
MakeEvents: TypeAlias = Callable[[pa.RecordBatch], pa.BinaryArray]


@dataclass(frozen=True, slots=True)
class EventMaker:
    """Makes events of rows that have these columns."""

    schema: pa.Schema
    make: MakeEvents

    def batches(self, rows: Iterable[pa.RecordBatch], refusals: Refusals | None = None) -> Iterator[EventBatch]:
        """The events of all rows, some at a time.

        Args:
            rows: the rows.
            refusals: takes the rows that are refused; None: one fails the write.

        Raises:
            ConfigurationError: an event is null, or a value does not fit the schema.
        """
        before = 0
        for whole in rows:
            yield from self.events_of(whole, before, refusals)
            before += whole.num_rows
        if refusals is not None:
            refusals.finish()

    def events_of(self, whole: pa.RecordBatch, before: int, refusals: Refusals | None) -> Iterator[EventBatch]:
        """The events of one batch, before which there were `before` rows; `refusals` is not finished.

        Raises:
            ConfigurationError: as of `batches`.
        """
        parts = [(whole, pa.nulls(0, pa.string()))] if refusals is None else refusals.checked(whole)
        for part, pointers in parts:
            for first in range(0, part.num_rows, _MOST_ROWS):
                batch = part.slice(first, _MOST_ROWS)
                batch = batch if batch.schema.equals(self.schema) else batch.cast(self.schema)
                if refusals is None:
                    yield self._made(batch, before + first)
                else:
                    yield from self._taken(batch, pointers[first : first + _MOST_ROWS], before + first, refusals)

    def _made(self, batch: pa.RecordBatch, first: int) -> EventBatch:
        events = self.make(batch)
        if events.null_count:
            row = first + events.is_null().to_pylist().index(True)
            raise ConfigurationError(f"row {row} has no event (null): filter such rows out, or give them a value")
        keys = batch.column(_KEY).to_pylist() if _KEY in batch.schema.names else None
        return EventBatch(events.to_pylist(), keys)

    def _taken(
        self, batch: pa.RecordBatch, pointers: pa.StringArray, first: int, refusals: Refusals
    ) -> Iterator[EventBatch]:
        """The events of the rows that the schema takes: of rows that it refuses, each half is tried by itself."""
        try:
            made = self._made(batch, first)
            for event in made.events:
                check_event(event)
        except (ConfigurationError, EventTooLargeError) as error:
            if batch.num_rows == 1:
                refusals.refuse(pointers[0].as_py(), f"cannot be an event of the stream: {error}")
                return
            half = batch.num_rows // 2
            yield from self._taken(batch.slice(0, half), pointers[:half], first, refusals)
            yield from self._taken(batch.slice(half), pointers[half:], first + half, refusals)
            return
        refusals.taken(pointers)
        yield made


def event_batches(
    rows: pa.RecordBatchReader,
    options: FrameOptions,
    stream: StreamName,
    registry: SchemaRegistry | None,
    refusals: Refusals | None = None,
) -> Iterator[EventBatch]:
    """The events of a table. A table without rows has none, whatever its columns are: pandas knows no types then.

    Args:
        rows: the table.
        options: of the encoding.
        stream: the stream of the events.
        registry: the Schema Registry, for `encode=auto`.
        refusals: takes the rows that are refused; None: one fails the write.

    Raises:
        ConfigurationError: a column cannot be a part of an event, by its name or its type.
        GroupNotFoundError: the options need a schema of the registry, and the stream has no group.
        PravegaError: the registry cannot be asked.
    """
    first = next((batch for batch in rows if batch.num_rows), None)
    if first is None:
        return iter(())
    columns = rows.schema if refusals is None else refusals.columns(rows.schema)
    return event_maker(columns, options, stream, registry).batches(chain([first], rows), refusals)


def batches_by_column(
    rows: pa.RecordBatchReader,
    column: str,
    streams: Mapping[str, StreamName],
    options: FrameOptions,
    registry: SchemaRegistry | None,
    refusals: Mapping[StreamName, Refusals],
) -> Iterator[tuple[StreamName, EventBatch]]:
    """The events of a table, each with the stream of the value that its row has in a column.

    `refusals` take the rows that a stream refuses; of a stream that has none, such a row fails the write.

    Raises:
        ConfigurationError: there is no such column of texts, or a value has no stream; or as `event_maker`.
        PravegaError: the registry cannot be asked.
    """
    at = rows.schema.get_field_index(column)
    if at < 0:
        raise ConfigurationError(f"there is no one column {column!r}, which is to say the stream of a row")
    before = 0
    makers: dict[StreamName, EventMaker] = {}
    for batch in rows:
        values = pc.cast(batch.column(at), pa.string()).dictionary_encode()
        others = batch.remove_column(at)
        for number, value in enumerate([*values.dictionary.to_pylist(), None]):
            chosen = pc.is_null(values) if value is None else pc.equal(values.indices, number)
            of_value = others.filter(chosen)
            if value not in streams and of_value.num_rows:
                row = before + chosen.to_pylist().index(True)
                raise ConfigurationError(
                    f"row {row} has {value!r} in column {column!r}, for which no stream is given; known are "
                    f"{', '.join(map(repr, streams))}. Nothing was written"
                )
            if of_value.num_rows:
                stream = streams[value]
                if stream not in makers:
                    refused = refusals.get(stream)
                    columns = others.schema if refused is None else refused.columns(others.schema)
                    makers[stream] = event_maker(columns, options, stream, registry)
                for made in makers[stream].events_of(of_value, 0, refusals.get(stream)):
                    yield stream, made
        before += batch.num_rows
    for each in refusals.values():
        each.finish()


def event_maker(
    schema: pa.Schema, options: FrameOptions, stream: StreamName, registry: SchemaRegistry | None
) -> EventMaker:
    """The maker of events of rows with these columns.

    Raises:
        ConfigurationError: a column cannot be a part of an event, by its name or its type.
        GroupNotFoundError: the options need a schema of the registry, and the stream has no group.
        PravegaError: the registry cannot be asked.
    """
    if len(set(schema.names)) != len(schema.names):
        raise ConfigurationError(f"columns have the same names: {', '.join(schema.names)}")
    plain = pa.schema([pa.field(field.name, _plain(field.name, field.type)) for field in schema])
    if _KEY in plain.names and plain.field(_KEY).type not in (pa.string(), pa.null()):
        raise ConfigurationError(f"column {_KEY!r} is {schema.field(_KEY).type}, but must be text")
    values = [field for field in plain if field.name != _KEY]
    if options.texts != TO_JSON and (options.encode is not None or _EVENT in plain.names):
        raise ConfigurationError(
            f"the options {' and '.join(JSON_OPTIONS)} are for rows that become JSON objects, without a column 'event' "
            "and without 'encode': leave them out, or use Spark"
        )
    if options.encode is not None:
        serializer = _serializer(pa.schema(values), options, stream, registry)
        names = [field.name for field in values]
        return EventMaker(plain, lambda batch: serializer.events(batch.select(names)))
    if _EVENT in plain.names:
        return EventMaker(_of_events(plain), lambda batch: batch.column(_EVENT))
    if not values:
        raise ConfigurationError("the table has no columns that an event could have")
    encoder = JsonEncoder([field.name for field in values], form=options.texts)
    at = [plain.get_field_index(field.name) for field in values]
    return EventMaker(
        plain, lambda batch: encoder.columns([batch.column(index) for index in at], batch.num_rows).cast(pa.binary())
    )


def _of_events(plain: pa.Schema) -> pa.Schema:
    others = [name for name in plain.names if name not in (_EVENT, _KEY)]
    if others:
        raise ConfigurationError(
            f"column {others[0]!r} is not part of a write: with a column 'event' there is 'routing_key' at most. Drop "
            "it, or rename 'event', so that each row becomes a JSON object"
        )
    if plain.field(_EVENT).type not in (pa.string(), pa.binary(), pa.null()):
        raise ConfigurationError(f"column 'event' is {plain.field(_EVENT).type}, but must be text or bytes")
    return pa.schema([pa.field(name, pa.binary() if name == _EVENT else pa.string()) for name in plain.names])


def _serializer(
    columns: pa.Schema, options: FrameOptions, stream: StreamName, registry: SchemaRegistry | None
) -> BlockSerializer:
    """The serializer by the newest schema of the stream's group; nothing is registered."""
    if registry is None:
        raise ConfigurationError("the option encode=auto needs a schema: give schema_registry")
    address = GroupAddress.of_stream(stream, options.registry.group, options.registry.namespace)
    group = registry.run(need_group(registry.asynchronous, address))
    newest = registry.latest(group.name, group.namespace, options.decode.type)
    if len(newest) != 1:
        names = ", ".join(one.schema_info.type for one in newest) or "none"
        raise SchemaNotFoundError(
            f"group {group.name} has the types {names}: say which one to write with the option schema_type"
        )
    return open_block_serializer(
        registry, group.name, newest[0].schema_info, columns, namespace=group.namespace, register=False
    )


def _plain(name: str, kind: pa.DataType) -> pa.DataType:
    """The type that the encoders accept for the same values.

    Raises:
        ConfigurationError: there is none.
    """
    if kind in _TEXTS:
        return pa.string()
    if kind in _BYTES:
        return pa.binary()
    if any(test(kind) for test in _SIMPLE):
        return kind
    if pa.types.is_dictionary(kind):
        return _plain(name, kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain(name, kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain(name, field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(name, kind.key_type), _plain(name, kind.item_type))
    raise ConfigurationError(
        f"column {name!r} is {kind}, which cannot be part of an event: cast it, for example to text"
    )
