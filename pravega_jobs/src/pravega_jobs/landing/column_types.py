"""Types of columns that all kinds of tables have, for rows from Spark and from this process alike."""

from typing import Final

import pyarrow as pa

from aiopravega.errors import LandingError
from aiopravega.schema.arrow.arrays import list_of

_MOST_DIGITS: Final = 38
_ITEM: Final = list_of(pa.null()).value_field.name
_SAME: Final = (
    pa.types.is_boolean,
    pa.types.is_signed_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_decimal128,
)
_TEXTS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES: Final = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
_LISTS: Final = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
# Types that tables do not have, and those that hold all of their values.
_WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the types of a schema, whose columns it has in this order.

    Raises:
        LandingError: a value does not fit the type of its column.
    """
    columns = [_cast(column, field) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise LandingError(
            f"column {field.name!r} is {column.type}, and has a value that {field.type}, as tables have it, does not "
            f"hold: {error}. Round or cast it. Nothing was changed"
        ) from None


def table_type(name: str, kind: pa.DataType, *, required: bool = False) -> pa.DataType:
    """The type that tables have for the values of a column.

    Args:
        name: the name of the column, for messages.
        kind: the type of the column.
        required: True if values in lists, maps and structs that must not be null stay so, as with Spark's own files.

    Raises:
        LandingError: there is none.
    """
    if any(test(kind) for test in _SAME) or pa.types.is_date32(kind):
        return kind
    if any(test(kind) for test in _TEXTS):
        return pa.string()
    if any(test(kind) for test in _BYTES):
        return pa.binary()
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_dictionary(kind):
        return table_type(name, kind.value_type, required=required)

    def inner(field: pa.Field, new_name: str) -> pa.Field:
        return pa.field(new_name, table_type(name, field.type, required=required), field.nullable or not required)

    if any(test(kind) for test in _LISTS):
        return pa.list_(inner(kind.value_field, _ITEM))
    if pa.types.is_struct(kind):
        return pa.struct([inner(field, field.name) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(table_type(name, kind.key_type, required=required), inner(kind.item_field, kind.item_field.name))
    if pa.types.is_null(kind):
        raise LandingError(
            f"column {name!r} has no type, as pandas and Polars make it where all values are null or there are no "
            "rows: cast it to the type that the table has. Nothing was changed"
        )
    raise LandingError(
        f"column {name!r} is {kind}, which no kind of table has: cast it, for example to text. Nothing was changed"
    )
