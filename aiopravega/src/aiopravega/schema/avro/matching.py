"""Matching of two Avro types without their parts: kinds, names, and the table of promotions."""

from typing import Final

from aiopravega.schema.avro.model import (
    NULL,
    AvroType,
    Enumeration,
    Fixed,
    Named,
    Primitive,
    Record,
    Union,
    kind_of,
    label_of,
)

# A written type, and the types that it can be read as besides itself.
_WIDENINGS: Final = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}


def may_read(reader: AvroType, writer: AvroType) -> bool:
    """True if one type can be read as the other, by their kinds and names alone."""
    if kind_of(reader) == kind_of(writer):
        return same_name(reader, writer)
    return kind_of(reader) in _WIDENINGS.get(kind_of(writer), ())


def same_name(reader: AvroType, writer: AvroType) -> bool:
    """True if two types of one kind have the same name, or no names."""
    # The specification compares the last parts of names; an alias is a full name.
    return label_of(reader) == label_of(writer) or (isinstance(reader, Named) and full_name(writer) in reader.aliases)


def full_name(schema: AvroType) -> str:
    """The name with its namespace; empty for a type without."""
    return schema.name if isinstance(schema, Named) else ""


def family(schema: Primitive | Fixed) -> str:
    """The family of a logical type: timestamps of one family differ in their unit only."""
    logical = schema.logical or ""
    return logical.rpartition("-")[0] if "timestamp-" in logical else logical


def mismatch(reader: AvroType, writer: AvroType, path: str) -> str:
    """The reason for which a value cannot be read, for people who have the event."""
    if writer == NULL:
        return f"{path} is null, which the schema that is read with does not allow"
    return f"{path} is written as {_shown(writer)}, but read as {_shown(reader)}"


def _shown(schema: AvroType) -> str:
    match schema:
        case Primitive(kind, logical):
            return f"{kind} ({logical})" if logical else kind
        case Union(branches):
            return f"[{', '.join(map(_shown, branches))}]"
        case Record(name) | Fixed(name) | Enumeration(name):
            return name
    return kind_of(schema)
