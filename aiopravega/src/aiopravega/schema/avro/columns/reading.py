"""From a plan of reading to a tree of nodes, which reads whole blocks."""

from typing import Final

import pyarrow as pa

from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.avro import plan
from aiopravega.schema.avro.columns import compound, nodes
from aiopravega.schema.avro.columns.cursors import Events
from aiopravega.schema.avro.columns.items import Items
from aiopravega.schema.avro.columns.skipping import skipping
from aiopravega.schema.avro.columns.types import arrow_type, members, merged
from aiopravega.schema.avro.defaults import datum
from aiopravega.schema.avro.model import NULL, Primitive, RecordField, Union
from aiopravega.schema.avro.resolution import resolve

# Factor and divisor that make microseconds.
_UNITS: Final = {"millis": (1000, 1), "micros": (1, 1), "nanos": (1, 1000)}


def node_of(step: plan.Step) -> nodes.Node:
    """The node of a step; the plan has no types that columns cannot hold."""
    match step:
        case plan.ReadPrimitive(writer, reader):
            return _primitive(writer, reader)
        case plan.ReadFixed(_, reader):
            kind = arrow_type(reader)
            decimal = reader.logical == "decimal"
            return nodes.Decimal(kind, reader.size) if decimal else nodes.FixedBytes(kind, reader.size)
        case plan.ReadSymbol(_, symbols):
            return nodes.Symbols(pa.string(), symbols)
        case plan.ReadItems(reader, items):
            return Items(arrow_type(reader), (node_of(items),))
        case plan.ReadEntries(reader, values):
            return Items(arrow_type(reader), (nodes.Text(pa.string()), node_of(values)))
        case plan.ReadBranches(reader, branches):
            return compound.Choice(arrow_type(reader), tuple(map(node_of, branches)))
        case plan.IntoBranch(reader, index, inner):
            return _into_branch(reader, index, inner)
        case plan.ReadRecord():
            return _record(step)
        case plan.Unreadable(_, reader, problem):
            return nodes.Unreadable(arrow_type(reader), problem)


def _into_branch(reader: Union, index: int, step: plan.Step) -> nodes.Node:
    kind = arrow_type(reader)
    if reader.branches[index] == NULL:
        return nodes.Null(kind)
    one = merged(reader)
    if one is not None and isinstance(step, plan.ReadPrimitive):
        return _primitive(step.writer, one)
    branches = members(reader)
    node = node_of(step)
    return node if len(branches) == 1 else compound.Member(kind, branches.index(index), node)


def _primitive(writer: Primitive, reader: Primitive) -> nodes.Node:
    kind = arrow_type(reader)
    match writer.kind:
        case "null":
            return nodes.Null(kind)
        case "boolean":
            return nodes.Truth(kind)
        case "int" | "long":
            return nodes.Whole(kind, writer.kind == "int", *_unit(writer, reader))
        case "float" | "double":
            return nodes.Real(kind, "<f4" if writer.kind == "float" else "<f8")
    if reader.logical == "decimal":
        return nodes.Decimal(kind, 0)
    return nodes.Text(kind) if reader.kind == "string" else nodes.Bytes(kind)


def _unit(writer: Primitive, reader: Primitive) -> tuple[int, int]:
    """Factor and divisor to microseconds, of the writer's timestamps, or the reader's if the writer has numbers."""
    if "timestamp-" not in (reader.logical or ""):
        return 1, 1
    logical = writer.logical if "timestamp-" in (writer.logical or "") else reader.logical
    return _UNITS.get((logical or "").rpartition("-")[2], (1, 1))


def _record(step: plan.ReadRecord) -> nodes.Node:
    kind = arrow_type(step.reader)
    if step.problem:
        return nodes.Unreadable(kind, step.problem)
    written = tuple(
        (node_of(field.step), field.index) if isinstance(field, plan.ReadField) else (skipping(field.type), -1)
        for field in step.written
    )
    return compound.Fields(
        kind, written, tuple((index, _default(step.reader.fields[index])) for index in step.defaults)
    )


def _default(field: RecordField) -> pa.Array:
    """The default of a field, as an array with one value."""
    written = values_of([datum(field.type, field.default)], pa.binary())
    return node_of(resolve(field.type, field.type).step).read(Events.of(written))
