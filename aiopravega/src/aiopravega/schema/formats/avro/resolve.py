"""From a writer's schema and a reader's to the tree of nodes that reads the one as the other.

The rules are those of the Avro specification, section "Schema Resolution". What can never be read is an error here;
what depends on the data (a branch of a union, a symbol) is left to the data.
"""

from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.formats.arrays import values_of
from aiopravega.schema.formats.avro import compound, nodes
from aiopravega.schema.formats.avro.defaults import datum
from aiopravega.schema.formats.avro.events import Events
from aiopravega.schema.formats.avro.schema import (
    AvroType,
    Enumeration,
    Field,
    Fixed,
    Mapping,
    Primitive,
    Record,
    Sequence,
    Union,
)
from aiopravega.schema.formats.avro.types import arrow_type, members, merged

_NULL: Final = Primitive("null")
_WIDER: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
# Factor and divisor that make microseconds.
_UNITS: Final = {"millis": (1000, 1), "micros": (1, 1), "nanos": (1, 1000)}


class _MismatchError(Exception):
    """The two types have nothing in common; the text says what they are."""


def top_node(writer: AvroType, reader: AvroType) -> compound.Fields:
    """The node of a whole event; its columns are those of the reader's schema.

    Raises:
        ConfigurationError: data of the writer's schema can never be read with the reader's.
    """
    if not isinstance(reader, Record):
        # Read as a record of one field, which is written in the same way.
        writer = Record("", (Field("value", writer),))
        reader = Record("", (Field("value", reader),))
    try:
        node = _node(writer, reader, "")
    except _MismatchError as mismatch:
        raise ConfigurationError(f"its Avro schema does not fit the one that is read with: {mismatch}") from None
    if not isinstance(node, compound.Fields):
        raise ConfigurationError("its Avro schema is not a record, as the one that is read with")
    return node


def _arrow(schema: AvroType) -> pa.DataType:
    return arrow_type(schema, "")


def _node(writer: AvroType, reader: AvroType, path: str) -> nodes.Node:
    """The node that reads a value of `writer` as one of `reader`."""
    if isinstance(writer, Union):
        return compound.Choice(_arrow(reader), tuple(_branch(branch, reader, path) for branch in writer.branches))
    if isinstance(reader, Union):
        return _into_union(writer, reader, path)
    match writer, reader:
        case Primitive(), Primitive():
            return _primitive(writer, reader, path)
        case Fixed(_, size), Fixed(_, other) if size == other:
            _check_decimals(writer, reader, path)
            kind = _arrow(reader)
            return nodes.Decimal(kind, size) if reader.logical == "decimal" else nodes.FixedBytes(kind, size)
        case Enumeration(), Enumeration():
            known = {symbol: symbol for symbol in reader.symbols}
            return nodes.Symbols(pa.string(), tuple(known.get(symbol, reader.default) for symbol in writer.symbols))
        case Sequence(items), Sequence(other):
            return compound.Items(_arrow(reader), (_node(items, other, f"{path}[]"),))
        case Mapping(values), Mapping(other):
            return compound.Items(_arrow(reader), (nodes.Text(pa.string()), _node(values, other, f"{path}{{}}")))
        case Record(), Record():
            return _record(writer, reader, path)
    raise _MismatchError(f"{path or 'the top'} is written as {_name(writer)}, but read as {_name(reader)}")


def _branch(writer: AvroType, reader: AvroType, path: str) -> nodes.Node:
    """A branch of a written union, which matters only if it is met."""
    if writer == _NULL and not (isinstance(reader, Union) and _NULL in reader.branches) and reader != _NULL:
        return nodes.Unreadable(_arrow(reader), f"{path} is null, which the schema that is read with does not allow")
    if writer == _NULL:
        return nodes.Null(_arrow(reader))
    try:
        return _node(writer, reader, path)
    except _MismatchError as mismatch:
        return nodes.Unreadable(_arrow(reader), str(mismatch))


def _into_union(writer: AvroType, reader: Union, path: str) -> nodes.Node:
    """A value that is not written as a union becomes the first branch that it fits."""
    kind = _arrow(reader)
    if writer == _NULL and _NULL in reader.branches:
        return nodes.Null(kind)
    places = members(reader)
    one = merged(reader)
    exact = [place for place in places if _same(writer, reader.branches[place])]
    for place in [*exact, *places]:
        try:
            node = _node(writer, one or reader.branches[place], path)
        except _MismatchError:
            continue
        return node if one or len(places) == 1 else compound.Member(kind, places.index(place), node)
    raise _MismatchError(f"{path or 'the top'} is written as {_name(writer)}, but read as {_name(reader)}")


def _same(writer: AvroType, reader: AvroType) -> bool:
    """Whether a branch of a union is the very one, by name where there are names."""
    if isinstance(writer, (Record, Enumeration, Fixed)) and isinstance(reader, type(writer)):
        return _last(writer.name) == _last(reader.name)
    return writer == reader or (
        isinstance(writer, Primitive) and isinstance(reader, Primitive) and writer.kind == reader.kind
    )


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _primitive(writer: Primitive, reader: Primitive, path: str) -> nodes.Node:
    if writer.kind != reader.kind and reader.kind not in _WIDER.get(writer.kind, ()):
        raise _MismatchError(f"{path or 'the top'} is written as {_name(writer)}, but read as {_name(reader)}")
    kind = _arrow(reader)
    match writer.kind:
        case "null":
            return nodes.Null(kind)
        case "boolean":
            return nodes.Truth(kind)
        case "int" | "long":
            return nodes.Whole(kind, writer.kind == "int", *_unit(writer, reader))
        case "float" | "double":
            return nodes.Real(kind, "<f4" if writer.kind == "float" else "<f8")
    _check_decimals(writer, reader, path)
    if reader.logical == "decimal":
        return nodes.Decimal(kind, 0)
    return nodes.Text(kind) if reader.kind == "string" else nodes.Bytes(kind)


def _unit(writer: Primitive, reader: Primitive) -> tuple[int, int]:
    """What makes microseconds of the writer's timestamps, or of the reader's if the writer has plain numbers."""
    if "timestamp-" not in (reader.logical or "") or reader.kind != "long":
        return 1, 1
    logical = writer.logical if "timestamp-" in (writer.logical or "") else reader.logical
    return _UNITS.get((logical or "").rpartition("-")[2], (1, 1))


def _check_decimals(writer: Primitive | Fixed, reader: Primitive | Fixed, path: str) -> None:
    if writer.logical == reader.logical == "decimal" and writer.scale != reader.scale:
        raise _MismatchError(f"{path} is written with {writer.scale} decimal places, but read with {reader.scale}")


def _record(writer: Record, reader: Record, path: str) -> nodes.Node:
    wanted: dict[str, int] = {}
    for place, field in enumerate(reader.fields):
        for alias in field.aliases:
            wanted.setdefault(alias, place)
    wanted |= {field.name: place for place, field in enumerate(reader.fields)}
    written, filled = [], set()
    for field in writer.fields:
        place = wanted.get(field.name, -1)
        if place in filled:
            place = -1
        filled.add(place)
        target = reader.fields[place].type if place >= 0 else field.type
        written.append((_node(field.type, target, f"{path}.{field.name}" if path else field.name), place))
    defaults = []
    for place, field in enumerate(reader.fields):
        if place in filled:
            continue
        at = f"{path}.{field.name}" if path else field.name
        if not field.has_default:
            raise _MismatchError(f"{at} is read, but not written, and has no default")
        defaults.append((place, _default(field, at)))
    return compound.Fields(_arrow(reader), tuple(written), tuple(defaults))


def _default(field: Field, path: str) -> pa.Array:
    """The default of a field, as an array of one."""
    try:
        written = datum(field.type, field.default)
    except ValueError as error:
        raise _MismatchError(f"{path}: {error}") from None
    return _node(field.type, field.type, path).read(Events.of(values_of([written], pa.binary())))


def _name(schema: AvroType) -> str:
    match schema:
        case Primitive(kind, logical):
            return f"{kind} ({logical})" if logical else kind
        case Union(branches):
            return f"[{', '.join(_name(branch) for branch in branches)}]"
        case Record(name) | Fixed(name) | Enumeration(name):
            return name
    return type(schema).__name__.lower()
