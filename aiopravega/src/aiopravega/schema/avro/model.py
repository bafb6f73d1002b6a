"""Avro schemas as values: the parser makes them; readers, writers and checks use them.

Nothing here knows Arrow, Spark, or the layout of a schema's data.
"""

import json
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NO_DEFAULT: Final = object()
DECIMAL: Final = "decimal"
# The types that a logical type of the specification may be on; on others it means nothing, by the specification.
UNDERLYING: Final[AnyMapping[str, frozenset[str]]] = {
    DECIMAL: frozenset({"bytes", "fixed"}),
    "big-decimal": frozenset({"bytes"}),
    "uuid": frozenset({"string", "fixed"}),
    "date": frozenset({"int"}),
    "time-millis": frozenset({"int"}),
    "time-micros": frozenset({"long"}),
    "timestamp-millis": frozenset({"long"}),
    "timestamp-micros": frozenset({"long"}),
    "timestamp-nanos": frozenset({"long"}),
    "local-timestamp-millis": frozenset({"long"}),
    "local-timestamp-micros": frozenset({"long"}),
    "local-timestamp-nanos": frozenset({"long"}),
    "duration": frozenset({"fixed"}),
}


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts; `logical` is its logical type, if that is valid."""

    kind: str
    logical: str | None = None
    precision: int = 0
    scale: int = 0
    document: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed number of bytes."""

    name: str
    size: int
    logical: str | None = None
    precision: int = 0
    scale: int = 0
    aliases: frozenset[str] = frozenset()
    document: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of some symbols; `default` is for symbols that readers do not know."""

    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: frozenset[str] = frozenset()
    document: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sequence:
    """An array."""

    items: "AvroType"
    document: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map, whose keys are strings."""

    values: "AvroType"
    document: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Union:
    """One of some types; a union without types has no values."""

    branches: tuple["AvroType", ...]
    document: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a record; `default` is as in the schema's JSON."""

    name: str
    type: "AvroType"
    default: Any = NO_DEFAULT
    aliases: tuple[str, ...] = ()
    document: Any = field(default=None, compare=False, repr=False)

    @property
    def has_default(self) -> bool:
        """True if a reader's field has a default, so that the writer's record may lack it."""
        return self.default is not NO_DEFAULT


@dataclass(slots=True, eq=False)
class Record:
    """Fields in order. A record can contain itself: it is named before it is filled, and compared by identity."""

    name: str
    fields: tuple[RecordField, ...] = ()
    aliases: frozenset[str] = frozenset()
    document: Any = field(default=None, repr=False)


AvroType: TypeAlias = Primitive | Fixed | Enumeration | Sequence | Mapping | Union | Record
Named: TypeAlias = Fixed | Enumeration | Record
NULL: Final = Primitive("null")


def kind_of(schema: AvroType) -> str:
    """The kind of a type, in the words of Avro's specification."""
    match schema:
        case Primitive(kind):
            return kind
        case Fixed():
            return "fixed"
        case Enumeration():
            return "enum"
        case Sequence():
            return "array"
        case Mapping():
            return "map"
        case Union():
            return "union"
        case Record():
            return "record"


def label_of(schema: AvroType) -> str:
    """The short name of a type: the last part of its name, or its kind if it has no name."""
    return last_part(schema.name) if isinstance(schema, Named) else kind_of(schema)


def last_part(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(".")[2]


def source_of(part: AvroType | RecordField) -> str:
    """A part of a schema as it was written, on one line."""
    return part.document if isinstance(part.document, str) else json.dumps(part.document, ensure_ascii=False)


def logical_of(schema: AvroType) -> str:
    """The logical type with its arguments; empty if there is none."""
    if not isinstance(schema, Primitive | Fixed) or schema.logical is None:
        return ""
    return f"{DECIMAL}({schema.precision}, {schema.scale})" if schema.logical == DECIMAL else schema.logical


def takes_no_bytes(schema: AvroType, around: tuple[Record, ...]) -> bool:
    """True if values of a type, inside some records, have no bytes; any number of them then has no bytes."""
    match schema:
        case Primitive(kind):
            return kind == "null"
        case Fixed(_, size):
            return size == 0
        case Record(_, fields):
            return schema in around or all(takes_no_bytes(field.type, (*around, schema)) for field in fields)
    return False
