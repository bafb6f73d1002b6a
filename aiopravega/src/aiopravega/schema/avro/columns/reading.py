"""From a plan of reading to a tree of nodes, which reads whole blocks.

Values that the reader's schema does not have are skipped: their nodes only find their ends.
"""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.avro import plan
from aiopravega.schema.avro.columns import compound, nodes
from aiopravega.schema.avro.columns.compound import UnionNode
from aiopravega.schema.avro.columns.cursors import Events
from aiopravega.schema.avro.columns.items import ItemsNode
from aiopravega.schema.avro.columns.nodes import Node
from aiopravega.schema.avro.columns.types import arrow_type, members, merged
from aiopravega.schema.avro.columns.walks import after_number, after_span
from aiopravega.schema.avro.defaults import datum
from aiopravega.schema.avro.model import (
    NULL,
    AvroType,
    Enumeration,
    Fixed,
    Mapping,
    Primitive,
    Record,
    RecordField,
    Sequence,
    Union,
)
from aiopravega.schema.avro.resolution import resolve

# Factor and divisor that make microseconds.
_UNITS: Final = {"millis": (1000, 1), "micros": (1, 1), "nanos": (1, 1000)}
_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NOTHING: Final = pa.null()
_LISTS: Final = pa.list_(pa.null())


def node_of(step: plan.Step) -> nodes.Node:
    """The node of a step; the plan has no types that columns cannot hold."""
    match step:
        case plan.ReadPrimitive(writer, reader):
            return _primitive(writer, reader)
        case plan.ReadFixed(_, reader):
            kind = arrow_type(reader)
            decimal = reader.logical == "decimal"
            return nodes.DecimalNode(kind, reader.size) if decimal else nodes.FixedNode(kind, reader.size)
        case plan.ReadSymbol(_, symbols):
            return nodes.EnumNode(pa.string(), symbols)
        case plan.ReadItems(reader, items):
            return ItemsNode(arrow_type(reader), (node_of(items),))
        case plan.ReadEntries(reader, values):
            return ItemsNode(arrow_type(reader), (nodes.StringNode(pa.string()), node_of(values)))
        case plan.ReadBranches(reader, branches):
            return compound.UnionNode(arrow_type(reader), tuple(map(node_of, branches)))
        case plan.IntoBranch(reader, index, inner):
            return _into_branch(reader, index, inner)
        case plan.ReadRecord():
            return _record(step)
        case plan.Unreadable(_, reader, problem):
            return nodes.UnreadableNode(arrow_type(reader), problem)


def _into_branch(reader: Union, index: int, step: plan.Step) -> nodes.Node:
    kind = arrow_type(reader)
    if reader.branches[index] == NULL:
        return nodes.NullNode(kind)
    one = merged(reader)
    if one is not None and isinstance(step, plan.ReadPrimitive):
        return _primitive(step.writer, one)
    branches = members(reader)
    node = node_of(step)
    return node if len(branches) == 1 else compound.MemberNode(kind, branches.index(index), node)


def _primitive(writer: Primitive, reader: Primitive) -> nodes.Node:
    kind = arrow_type(reader)
    match writer.kind:
        case "null":
            return nodes.NullNode(kind)
        case "boolean":
            return nodes.BooleanNode(kind)
        case "int" | "long":
            return nodes.IntegerNode(kind, writer.kind == "int", *_unit(writer, reader))
        case "float" | "double":
            return nodes.FloatNode(kind, "<f4" if writer.kind == "float" else "<f8")
    if reader.logical == "decimal":
        return nodes.DecimalNode(kind, 0)
    return nodes.StringNode(kind) if reader.kind == "string" else nodes.BytesNode(kind)


def _unit(writer: Primitive, reader: Primitive) -> tuple[int, int]:
    """Factor and divisor to microseconds, of the writer's timestamps, or the reader's if the writer has numbers."""
    if "timestamp-" not in (reader.logical or ""):
        return 1, 1
    logical = writer.logical if "timestamp-" in (writer.logical or "") else reader.logical
    return _UNITS.get((logical or "").rpartition("-")[2], (1, 1))


def _record(step: plan.ReadRecord) -> nodes.Node:
    kind = arrow_type(step.reader)
    if step.problem:
        return nodes.UnreadableNode(kind, step.problem)
    written = tuple(
        (node_of(field.step), field.index) if isinstance(field, plan.ReadField) else (skipping(field.type), -1)
        for field in step.written
    )
    return compound.RecordNode(
        kind, written, tuple((index, _default(step.reader.fields[index])) for index in step.defaults)
    )


def _default(field: RecordField) -> pa.Array:
    """The default of a field, as an array with one value."""
    written = values_of([datum(field.type, field.default)], pa.binary())
    return node_of(resolve(field.type, field.type).step).read(Events.of(written))


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
            return SkipParts((ItemsNode(_LISTS, (skipping(items),)),))
        case Mapping(values):
            return SkipParts((ItemsNode(_LISTS, (SkipParts((SkipSpan(), skipping(values))),)),))
        case Union(branches):
            return UnionNode(pa.null(), tuple(map(skipping, branches)))
        case Record(_, fields):
            return SkipParts(tuple(skipping(field.type) for field in fields))
