"""The columns of a table, by an Avro schema of its change events.

Kafka Connect's converters write the names of Connect's types into the schema (`connect.name`, `connect.type`,
`connect.parameters`). If they are missing, Avro's own logical types give the same meanings.
"""

from typing import Any, Final

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro.parsing import parse
from pravega_jobs.debezium.changes.connect import Meaning, meaning_of
from pravega_jobs.debezium.changes.meanings import DECIMAL
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
    found = meaning_of(
        {"type": connect.get("connect.type", base), "name": _name(connect), "parameters": parameters or {}}
    )
    if found.name or not logical:
        return found
    if logical == avro.DECIMAL:
        return Meaning(base, DECIMAL, scale, precision)
    return Meaning(base, _LOGICAL.get(logical, logical))


def _name(document: Any) -> str:
    return str(document.get("connect.name", "")) if isinstance(document, dict) else ""
