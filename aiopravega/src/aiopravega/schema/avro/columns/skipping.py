"""Readers that skip values that the reader's schema does not have: they only find their ends."""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from aiopravega.schema.avro.columns.compound import Choice
from aiopravega.schema.avro.columns.cursors import Events
from aiopravega.schema.avro.columns.items import Items
from aiopravega.schema.avro.columns.nodes import Node
from aiopravega.schema.avro.columns.walks import after_number, after_span
from aiopravega.schema.avro.model import AvroType, Enumeration, Fixed, Mapping, Primitive, Record, Sequence, Union

_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NOTHING: Final = pa.null()
_LISTS: Final = pa.list_(pa.null())


@dataclass(frozen=True, slots=True)
class SkipNumber:
    """Skips an int, a long, or the number of a symbol."""

    type: pa.DataType = _NOTHING

    def read(self, events: Events) -> pa.Array:
        events.longs()
        return pa.nulls(len(events))

    def walk(self, view: memoryview, at: int) -> int:
        return after_number(view, at)


@dataclass(frozen=True, slots=True)
class SkipSpan:
    """Skips bytes or a string."""

    type: pa.DataType = _NOTHING

    def read(self, events: Events) -> pa.Array:
        events.spans()
        return pa.nulls(len(events))

    def walk(self, view: memoryview, at: int) -> int:
        return after_span(view, at)


@dataclass(frozen=True, slots=True)
class SkipWidth:
    """Skips `width` bytes."""

    width: int
    type: pa.DataType = _NOTHING

    def read(self, events: Events) -> pa.Array:
        events.skip(self.width)
        return pa.nulls(len(events))

    def walk(self, view: memoryview, at: int) -> int:
        return at + self.width


@dataclass(frozen=True, slots=True)
class SkipParts:
    """Skips several values, one after the other."""

    parts: tuple[Node, ...]
    type: pa.DataType = _NOTHING

    def read(self, events: Events) -> pa.Array:
        for part in self.parts:
            part.read(events)
        return pa.nulls(len(events))

    def walk(self, view: memoryview, at: int) -> int:
        for part in self.parts:
            at = part.walk(view, at)
        return at


def skipping(schema: AvroType) -> Node:
    """The node that skips a value; the schema has no types that columns cannot hold."""
    match schema:
        case Primitive(kind) if kind in _WIDTHS:
            return SkipWidth(_WIDTHS[kind])
        case Primitive("bytes" | "string"):
            return SkipSpan()
        case Primitive() | Enumeration():
            return SkipNumber()
        case Fixed(_, size):
            return SkipWidth(size)
        case Sequence(items):
            return SkipParts((Items(_LISTS, (skipping(items),)),))
        case Mapping(values):
            return SkipParts((Items(_LISTS, (SkipParts((SkipSpan(), skipping(values))),)),))
        case Union(branches):
            return Choice(pa.null(), tuple(map(skipping, branches)))
        case Record(_, fields):
            return SkipParts(tuple(skipping(field.type) for field in fields))
