"""Rows as Avro datums: a tree of encoders that follows the schema; each encoder gets a whole column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import booleans
from aiopravega.schema.arrow.byte_columns import (
    concatenated,
    constant,
    counts_of,
    entries_of,
    joined,
    joined_items,
    null_as,
    varints,
    zigzag,
)
from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro.columns.branches import Encoder, number_of, union_encoder
from aiopravega.schema.avro.columns.values import (
    Bytes,
    DecimalBytes,
    DecimalFixed,
    FixedBytes,
    Symbols,
    Truth,
    simple_of,
)
from aiopravega.schema.avro.limits import MOST_DIGITS
from aiopravega.schema.avro.model import NO_DEFAULT, NULL, AvroType, kind_of

_END: Final = b"\0"  # of the blocks of an array or a map


@dataclass(frozen=True, slots=True)
class Always:
    """Encodes the same value in each row: the default of a field without a column."""

    data: bytes

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        return pa.nulls(len(array), pa.binary()).fill_null(constant(self.data))


@dataclass(frozen=True, slots=True)
class Items:
    """Encodes arrays."""

    inner: Encoder

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        items = _whole(self.inner.encode(array.flatten(), f"{where}[]"), f"{where}[]")
        return _blocks(items, array)


@dataclass(frozen=True, slots=True)
class Entries:
    """Encodes maps."""

    inner: Encoder

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        keys, values = entries_of(array)
        inside = _whole(self.inner.encode(values, f"{where}{{}}"), f"{where}{{}}")
        return _blocks(joined(Bytes().encode(keys, where), inside), array)


@dataclass(frozen=True, slots=True)
class Fields:
    """Encodes records: the encoder of each field and the index of its column, None for a field without a column."""

    names: tuple[str, ...]
    encoders: tuple[Encoder, ...]
    indexes: tuple[int | None, ...]

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        return null_as(self.columns(array.flatten(), len(array), f"{where}.", array), array)

    def columns(
        self, columns: Sequence[pa.Array], rows: int, path: str = "", around: pa.Array = None
    ) -> pa.BinaryArray:
        """A datum of each row of some columns; rows in which `around` is null get no bytes."""
        parts = []
        for name, encoder, index in zip(self.names, self.encoders, self.indexes, strict=True):
            column = pa.nulls(rows) if index is None else columns[index]
            part = encoder.encode(column, path + name)
            if around is not None and around.null_count:
                part = pc.if_else(pc.is_null(around), constant(b""), part)
            parts.append(_whole(part, path + name))
        return concatenated(parts) if parts else Always(b"").encode(pa.nulls(rows), path)


def encoder_of(schema: AvroType, kind: pa.DataType, where: str) -> Encoder:
    """The encoder of a column.

    Raises:
        ConfigurationError: the column does not fit the schema; `where` is its path.
    """
    match schema:
        case avro.Union():
            return union_encoder(schema, kind, where, encoder_of)
        case avro.Record():
            if not pa.types.is_struct(kind):
                raise _misfit(where, kind, f"a record {schema.name}")
            return fields_of(schema, list(kind), f"{where}.")
        case avro.Sequence(items):
            if not pa.types.is_list(kind) or pa.types.is_map(kind):
                raise _misfit(where, kind, "an array")
            return Items(encoder_of(items, kind.value_type, f"{where}[]"))
        case avro.Mapping(values):
            if not pa.types.is_map(kind) or not pa.types.is_string(kind.key_type):
                raise _misfit(where, kind, "a map with strings as keys")
            return Entries(encoder_of(values, kind.item_type, f"{where}{{}}"))
        case avro.Primitive("bytes", "decimal", precision, scale) if pa.types.is_decimal(kind):
            return DecimalBytes(_fitting(where, kind, precision, scale))
        case avro.Fixed(_, size, "decimal", precision, scale) if pa.types.is_decimal(kind):
            return DecimalFixed(_fitting(where, kind, precision, scale), size)
        case avro.Fixed(_, size) if pa.types.is_binary(kind):
            return FixedBytes(size)
        case avro.Enumeration(name, symbols) if pa.types.is_string(kind):
            return Symbols(name, symbols)
        case avro.Primitive("boolean") if pa.types.is_boolean(kind):
            return Truth()
        case avro.Primitive(wanted, logical):
            found_simple = simple_of(wanted, logical, kind)
            if found_simple is not None:
                return found_simple
            raise _misfit(where, kind, f"{wanted} ({logical})" if logical else wanted)
    raise _misfit(where, kind, kind_of(schema))


def fields_of(record: avro.Record, columns: Sequence[pa.Field], path: str = "") -> Fields:
    """The encoder of a record from columns, which are found by their names.

    Raises:
        ConfigurationError: a column has no field, or a field without a default has no column.
    """
    indexes = {column.name: index for index, column in enumerate(columns)}
    strange = indexes.keys() - {field.name for field in record.fields}
    if strange:
        raise ConfigurationError(
            f"the Avro schema has no field for the column {path}{min(strange)}: drop it, or add it to the schema"
        )
    encoders: list[Encoder] = []
    for field in record.fields:
        at = f"{path}{field.name}"
        if field.name in indexes:
            encoders.append(encoder_of(field.type, columns[indexes[field.name]].type, at))
        else:
            encoders.append(_absent(field, at))
    names = tuple(field.name for field in record.fields)
    return Fields(names, tuple(encoders), tuple(indexes.get(name) for name in names))


def _absent(field: avro.RecordField, where: str) -> Encoder:
    """The encoder of a field without a column: null, if it may be null. Defaults are for readers."""
    if field.type == NULL:
        return Always(b"")
    if isinstance(field.type, avro.Union) and NULL in field.type.branches and field.default in (None, NO_DEFAULT):
        return Always(number_of(field.type, NULL))
    raise ConfigurationError(
        f"there is no column for the field {where} of the Avro schema, which may not be null: add the column, with the "
        "field's default if that is wanted"
    )


def _blocks(items: pa.BinaryArray, like: pa.Array) -> pa.BinaryArray:
    """Items of each row as one block with its count, and the end of blocks."""
    counts = counts_of(like)
    block = joined(varints(zigzag(counts)), joined_items(items, counts), constant(_END))
    return null_as(pc.if_else(booleans(counts == 0), constant(_END), block), like)


def _whole(array: pa.BinaryArray, where: str) -> pa.BinaryArray:
    if array.null_count:
        row = int(pc.index(pc.is_null(array), pa.scalar(True)).as_py())
        raise ConfigurationError(
            f"{where} is null in {array.null_count} of {len(array)} rows, the first is row {row} of its batch, but the "
            "Avro schema has no null there: filter such rows out, or make the field a union with null"
        )
    return array


def _fitting(where: str, kind: pa.DataType, precision: int, scale: int) -> pa.DataType:
    if kind.scale > scale or kind.precision - kind.scale > precision - scale:
        raise _misfit(where, kind, f"a decimal({precision}, {scale})")
    return pa.decimal128(min(precision, MOST_DIGITS), scale)


def _misfit(where: str, kind: pa.DataType, wanted: str) -> ConfigurationError:
    return ConfigurationError(f"column {where} is {kind}, which the Avro schema has as {wanted}: cast it")
