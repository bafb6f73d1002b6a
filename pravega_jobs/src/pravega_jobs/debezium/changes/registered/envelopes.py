"""Takes headers off change events, makes their payloads Debezium's JSON, and finds their columns.

Kafka Connect's converters write the names of Connect's types into an Avro schema (`connect.name`, `connect.type`,
`connect.parameters`). If they are missing, Avro's own logical types give the same meanings.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema.arrow.arrays import pick
from aiopravega.schema.arrow.block import DecodedBlock, good_rows
from aiopravega.schema.arrow.envelope import NO_HEADER, encoding_ids
from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro.parsing import parse
from aiopravega.schema.open.blocks.targets import target_of
from aiopravega.schema.registry.model import Encoding, SchemaFormat, SchemaInfo
from pravega_jobs.debezium.changes.connect import Meaning, meaning_of
from pravega_jobs.debezium.changes.envelope import Envelopes, EventGroup
from pravega_jobs.debezium.changes.meanings import DECIMAL, columns_of
from pravega_jobs.debezium.changes.options import AFTER, BEFORE

_BASES: Final = {
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_LOGICAL: Final = {
    avro.DECIMAL: DECIMAL,
    "uuid": "io.debezium.data.Uuid",
    "date": "io.debezium.time.Date",
    "time-millis": "io.debezium.time.Time",
    "time-micros": "io.debezium.time.MicroTime",
    "timestamp-millis": "io.debezium.time.Timestamp",
    "timestamp-micros": "io.debezium.time.MicroTimestamp",
    "timestamp-nanos": "io.debezium.time.NanoTimestamp",
    "local-timestamp-millis": "io.debezium.time.Timestamp",
    "local-timestamp-micros": "io.debezium.time.MicroTimestamp",
    "local-timestamp-nanos": "io.debezium.time.NanoTimestamp",
}


class RegisteredEnvelopes:
    """Opens events of one group of a registry; used instead of `Envelopes`.

    Args:
        texts: the JSON of each event of a block, as by a `BlockDeserializer` with `ChangeTexts`.
        encoding_of: gives the schema and the codec of an encoding id.
        form: of the payloads.
    """

    def __init__(
        self,
        texts: Callable[[pa.BinaryArray], DecodedBlock],
        encoding_of: Callable[[int], Encoding],
        form: SchemaFormat,
    ) -> None:
        self._texts = texts
        self._encoding_of = encoding_of
        self._form = form
        self._inside = Envelopes()
        self._known: dict[int, dict[str, Meaning] | str | None] = {}

    def open(self, events: pa.BinaryArray) -> tuple[list[EventGroup], dict[int, str]]:
        """The events in groups of one schema each, and the reason for each event that cannot be opened.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        ids = encoding_ids(events)
        block = self._texts(events)
        bad = dict(block.bad)
        rows, [texts] = good_rows(len(events), bad), block.columns
        if self._form is not SchemaFormat.AVRO:
            groups, unopened = self._inside.open(texts) if len(rows) else ([], {})
            bad |= {int(rows[row]): why for row, why in unopened.items()}
            return [EventGroup(rows[one.rows], one.payloads, one.columns, one.has_schema) for one in groups], bad
        opened = []
        for encoding_id in np.unique(ids[rows]).tolist():
            chosen = np.flatnonzero(ids[rows] == encoding_id)
            columns = self._row(encoding_id)
            if isinstance(columns, str):
                bad |= dict.fromkeys(rows[chosen].tolist(), columns)
            else:
                opened.append(EventGroup(rows[chosen], pick(texts, chosen), columns, has_schema=True))
        return opened, bad

    def _row(self, encoding_id: int) -> dict[str, Meaning] | str | None:
        """The columns of the table by a writer's schema, or the reason for which they are not known."""
        assert encoding_id != NO_HEADER  # in Avro such an event cannot be decoded
        if encoding_id not in self._known:
            try:
                self._known[encoding_id] = avro_row(self._encoding_of(encoding_id).schema_info.schema_data)
            except ConfigurationError as error:
                self._known[encoding_id] = f"its schema cannot be read: {error}"
        return self._known[encoding_id]


def table_columns(schema: SchemaInfo) -> pa.Schema:
    """The columns of a table, by the schema that the registry has for its change events.

    An Avro schema has Connect's names, which give the meaning of numbers and bytes. Protobuf and JSON Schema do not
    have them: there, times are the numbers that Debezium writes.

    Raises:
        ConfigurationError: the schema is not a schema of change events, or a column has a type that is not known.
    """
    if schema.format is SchemaFormat.AVRO:
        row = avro_row(schema.schema_data)
        if row:
            return columns_of(row)
    else:
        event = target_of(schema).schema
        for name in (AFTER, BEFORE):
            if name in event.names and pa.types.is_struct(event.field(name).type):
                return pa.schema(list(event.field(name).type))
    raise ConfigurationError(
        f"the schema {schema.type} ({schema.name_of_format}) has no record after or before with the columns of a "
        "table, as change events of Debezium have: choose another one with option 'schema_type', or give the columns "
        "with .schema(…)"
    )


def avro_row(text: bytes) -> dict[str, Meaning] | None:
    """The columns of a table, by the Avro schema of its change events; None for the schema of other events.

    Raises:
        ConfigurationError: it is not an Avro schema, or a column has a type that Connect does not have.
    """
    try:
        event = parse(text, "the Avro schema of change events")
    except InvalidSchemaError as error:
        raise ConfigurationError(str(error)) from None
    if not isinstance(event, avro.Record):
        return None
    for field in event.fields:
        if field.name in (AFTER, BEFORE):
            image = _present(field.type, field.name)
            if isinstance(image, avro.Record):
                return {column.name: _meaning(column.type, column.name, (image.name,)) for column in image.fields}
    return None


def _present(schema: avro.AvroType, path: str) -> avro.AvroType:
    """A type without null beside it."""
    if not isinstance(schema, avro.Union):
        return schema
    branches = [branch for branch in schema.branches if branch != avro.NULL]
    if len(branches) != 1:
        raise ConfigurationError(
            f"column {path!r} is a union of {len(branches)} types in Avro, but a column of a database has one type: "
            "read the events with decode=avro"
        )
    return branches[0]


def _meaning(schema: avro.AvroType, path: str, around: tuple[str, ...]) -> Meaning:
    match _present(schema, path):
        case avro.Record(name, fields) as record:
            if name in around:
                raise ConfigurationError(f"column {path!r}: the Avro record {name} contains itself")
            parts = [(part.name, _meaning(part.type, f"{path}.{part.name}", (*around, name))) for part in fields]
            return Meaning("struct", _name(record.document), fields=tuple(parts))
        case avro.Sequence(items) as array:
            return Meaning("array", _name(array.document), items=_meaning(items, f"{path}[]", around))
        case avro.Enumeration():
            return Meaning("string")
        case avro.Primitive(kind, logical, precision, scale, document) if kind in _BASES:
            return _primitive(_BASES[kind], logical or "", precision, scale, document)
        case avro.Fixed() | avro.Mapping() | avro.Primitive() as other:
            kind = other.kind if isinstance(other, avro.Primitive) else type(other).__name__.lower()
            raise ConfigurationError(
                f"column {path!r} is {kind} in Avro, which Debezium does not write: give the columns without it "
                "with .schema(…)"
            )
    raise AssertionError(schema)


def _primitive(base: str, logical: str, precision: int, scale: int, document: Any) -> Meaning:
    connect = document if isinstance(document, dict) else {}
    parameters = connect.get("connect.parameters")
    meaning = meaning_of(
        {"type": connect.get("connect.type", base), "name": _name(connect), "parameters": parameters or {}}
    )
    if meaning.name or not logical:
        return meaning
    if logical == avro.DECIMAL:
        return Meaning(base, DECIMAL, scale, precision)
    return Meaning(base, _LOGICAL.get(logical, logical))


def _name(document: Any) -> str:
    return str(document.get("connect.name", "")) if isinstance(document, dict) else ""
