"""Rows as Protobuf messages: a tree of encoders that follows a message type; each encoder gets a whole column.

The wire format has a few kinds of fields; each is a tag and a value. A field that is null is left out. A message has
the same columns as in a read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import pick, values_of
from aiopravega.schema.arrow.byte_columns import (
    concatenated,
    constant,
    counts_of,
    entries_of,
    fixed,
    joined,
    joined_items,
    numbers_of,
    sizes_of,
    varints,
    without_nulls,
    zigzag,
)

_VARINT, _WORD, _BYTES, _HALF = 0, 1, 2, 5  # kinds of fields on the wire
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_SECOND: Final = 1_000_000  # microseconds
_NANOSECONDS: Final = 1000  # of a microsecond

Encode = Callable[[pa.Array, str], pa.BinaryArray]
_Field = FieldDescriptor
_Proto = FieldDescriptorProto
# The type on the wire, and the Arrow type that a column is cast to.
_NUMBERS: Final = {
    _Field.TYPE_INT32: (_VARINT, pa.int32()),
    _Field.TYPE_INT64: (_VARINT, pa.int64()),
    _Field.TYPE_UINT32: (_VARINT, pa.uint32()),
    _Field.TYPE_UINT64: (_VARINT, pa.uint64()),
    _Field.TYPE_SINT32: (_VARINT, pa.int32()),
    _Field.TYPE_SINT64: (_VARINT, pa.int64()),
    _Field.TYPE_FIXED32: (_HALF, pa.uint32()),
    _Field.TYPE_FIXED64: (_WORD, pa.uint64()),
    _Field.TYPE_SFIXED32: (_HALF, pa.int32()),
    _Field.TYPE_SFIXED64: (_WORD, pa.int64()),
    _Field.TYPE_FLOAT: (_HALF, pa.float32()),
    _Field.TYPE_DOUBLE: (_WORD, pa.float64()),
}


@dataclass(frozen=True, slots=True)
class Message:
    """The encoder of a message: its fields, and the index of the column of each."""

    names: tuple[str, ...]
    fields: tuple[Encode, ...]
    indexes: tuple[int, ...]

    def columns(self, columns: Sequence[pa.Array], rows: int, path: str = "") -> pa.BinaryArray:
        """A message of each row of some columns."""
        parts = [
            encode(columns[index], path + name).fill_null(constant(b""))
            for name, encode, index in zip(self.names, self.fields, self.indexes, strict=True)
        ]
        return concatenated(parts) if parts else pa.nulls(rows, pa.binary()).fill_null(constant(b""))

    def __call__(self, array: pa.Array, where: str) -> pa.BinaryArray:
        """The messages of a column; empty for rows that are null."""
        return self.columns(array.flatten(), len(array), f"{where}.")


def message_of(descriptor: Descriptor, columns: Sequence[pa.Field], path: str = "") -> Message:
    """The encoder of a message type from columns, which are found by their names.

    Raises:
        ConfigurationError: a column has no field, or its field has another type.
    """
    labels = _labels(descriptor)
    fields = []
    for column in columns:
        at = path + column.name
        field = descriptor.fields_by_name.get(column.name)
        if field is None:
            raise ConfigurationError(
                f"the message {descriptor.full_name} has no field for the column {at}: drop it, or add it there"
            )
        fields.append(_field(field, labels[field.name] == _Proto.LABEL_REPEATED, column.type, at))
    given = _names(columns)
    missing = [name for name, label in labels.items() if label == _Proto.LABEL_REQUIRED and name not in given]
    if missing:
        raise ConfigurationError(f"there is no column for {path}{missing[0]}, which {descriptor.name} requires")
    return Message(given, tuple(fields), tuple(range(len(columns))))


def _labels(descriptor: Descriptor) -> dict[str, int]:
    """The label (repeated, required, optional) of each field. A field has it in another form since Protobuf 6."""
    proto = DescriptorProto()
    descriptor.CopyToProto(proto)
    return {field.name: field.label for field in proto.field}


def _names(columns: Sequence[pa.Field]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _field(field: FieldDescriptor, repeated: bool, kind: pa.DataType, where: str) -> Encode:
    """The encoder of a column's part of a message: tag and value, several of them, or null for nothing."""
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        if not pa.types.is_map(kind):
            raise _misfit(field, kind, where)
        keys = _single(entry.fields_by_name["key"], kind.key_type, where)
        values = _single(entry.fields_by_name["value"], kind.item_type, where)
        return lambda array, at: _entries(field.number, keys, values, array, at)
    if not repeated:
        return _single(field, kind, where)
    if not pa.types.is_list(kind):
        raise _misfit(field, kind, where)
    one = _single(field, kind.value_type, where)
    return lambda array, at: _repeated(one, array, at)


def _repeated(one: Encode, array: pa.Array, where: str) -> pa.BinaryArray:
    return joined_items(_whole(one(array.flatten(), where), where), counts_of(array))


def _entries(number: int, keys: Encode, values: Encode, array: pa.Array, where: str) -> pa.BinaryArray:
    some_keys, some_values = entries_of(array)
    inside = joined(keys(some_keys, where), values(some_values, where).fill_null(constant(b"")))
    return joined_items(_sized(number, inside), counts_of(array))


def _single(field: FieldDescriptor, kind: pa.DataType, where: str) -> Encode:
    number = field.number
    if field.type in _NUMBERS:
        wire, wanted = _NUMBERS[field.type]
        if not _is_number(kind) or (pa.types.is_floating(kind) and not pa.types.is_floating(wanted)):
            raise _misfit(field, kind, where)
        signed = field.type in (_Field.TYPE_SINT32, _Field.TYPE_SINT64)
        return lambda array, _: joined(_tag(number, wire), _number(array, wire, wanted, signed))
    if field.type == _Field.TYPE_BOOL and pa.types.is_boolean(kind):
        return lambda array, _: joined(_tag(number, _VARINT), fixed(without_nulls(array, 0).astype(np.uint8), array))
    if field.type == _Field.TYPE_STRING and pa.types.is_string(kind):
        return lambda array, _: _sized(number, array.cast(pa.binary()))
    if field.type == _Field.TYPE_BYTES and (pa.types.is_binary(kind) or pa.types.is_string(kind)):
        return lambda array, _: _sized(number, array.cast(pa.binary()))
    if field.enum_type is not None and pa.types.is_string(kind):
        known = {value.name: value.number for value in field.enum_type.values}
        return lambda array, at: joined(_tag(number, _VARINT), _symbols(known, array, at))
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP and pa.types.is_timestamp(kind):
            return lambda array, _: _sized(number, _timestamps(array))
        if pa.types.is_struct(kind):
            inner = message_of(field.message_type, list(kind), f"{where}.")
            return lambda array, at: pc.if_else(
                pc.is_null(array), pa.nulls(len(array), pa.binary()), _sized(number, inner(array, at))
            )
    raise _misfit(field, kind, where)


def _is_number(kind: pa.DataType) -> bool:
    whole_decimal = pa.types.is_decimal(kind) and kind.scale == 0  # reads give numbers beyond a bigint as decimals
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or whole_decimal)


def _tag(number: int, wire: int) -> pa.BinaryScalar:
    return constant(varints(np.array([number << 3 | wire], np.uint64))[0].as_py())


def _sized(number: int, content: pa.BinaryArray) -> pa.BinaryArray:
    return joined(_tag(number, _BYTES), varints(sizes_of(content), content), content)


def _number(array: pa.Array, wire: int, wanted: pa.DataType, signed: bool) -> pa.BinaryArray:
    # A value beyond the field's range is refused; a double in a float loses digits, as everywhere.
    cast = array.cast(wanted, safe=not pa.types.is_floating(wanted))
    values = numbers_of(cast, wanted)
    if wire != _VARINT:
        return fixed(values, cast)
    if wanted in (pa.uint32(), pa.uint64()):
        return varints(values.astype(np.uint64), cast)
    whole = values.astype(np.int64)
    return varints(zigzag(whole) if signed else whole.view(np.uint64), cast)


def _symbols(known: dict[str, int], array: pa.Array, where: str) -> pa.BinaryArray:
    coded = array.dictionary_encode()
    names = coded.dictionary.to_pylist()
    unknown = [symbol for symbol in names if symbol not in known]
    if unknown:
        raise ConfigurationError(
            f"{where} is {unknown[0]!r} in some rows, not a value of the enumeration: it has {', '.join(known)}"
        )
    codes = varints(np.array([known[symbol] for symbol in names], np.int64).view(np.uint64)).to_pylist()
    return pick(
        values_of(codes, pa.binary()),
        without_nulls(coded.indices, -1),
    )


def _timestamps(array: pa.Array) -> pa.BinaryArray:
    micros = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    values = numbers_of(micros, pa.int64()).astype(np.int64)
    seconds, rest = values // _SECOND, values % _SECOND * _NANOSECONDS
    return joined(
        _tag(1, _VARINT),
        varints(seconds.view(np.uint64), array),
        _tag(2, _VARINT),
        varints(rest.view(np.uint64)),
    )


def _whole(items: pa.BinaryArray, where: str) -> pa.BinaryArray:
    if items.null_count:
        raise ConfigurationError(f"{where} has a null in a list, which Protobuf does not allow: remove it")
    return items


def _misfit(field: FieldDescriptor, kind: pa.DataType, where: str) -> ConfigurationError:
    name = field.message_type.full_name if field.message_type is not None else _type_name(field)
    return ConfigurationError(f"column {where} is {kind}, which the Protobuf message has as {name}: cast it")


def _type_name(field: FieldDescriptor) -> str:
    names = {value: name for name, value in vars(_Field).items() if name.startswith("TYPE_")}
    return names[field.type].removeprefix("TYPE_").lower()
