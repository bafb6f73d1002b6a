"""Values as Debezium writes them into the types of the columns that are wanted, whole columns at a time.

A conversion that needs a guess, or would lose something, is a `BlockError` with the remedy.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import list_of, strings
from aiopravega.schema.arrow.base64_texts import bytes_of
from aiopravega.schema.arrow.block import BlockError
from aiopravega.schema.arrow.byte_columns import counts_of, validity
from pravega_jobs.debezium.changes import decimals, times
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.meanings import DATES, DECIMAL, TIMES, TIMESTAMPS, VARIABLE, ZONED
from pravega_jobs.debezium.changes.options import ChangeOptions

_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_UNKNOWN: Final = Meaning("")


@dataclass(slots=True)
class Converter:
    """Converts the columns of one task. `seen` has the forms of columns whose values no schema explains."""

    options: ChangeOptions
    seen: dict[str, str] = field(default_factory=dict)

    def convert(self, array: pa.Array, kind: pa.DataType, meaning: Meaning | None, column: str) -> pa.Array:
        """A column as it was read, converted to a type.

        Args:
            array: the column as it was read.
            kind: the type that is wanted.
            meaning: the column's meaning in the schema of the events; None if there is no schema.
            column: its name, for errors.

        Raises:
            BlockError: a value cannot be converted.
        """
        if array.null_count == len(array):
            return pa.nulls(len(array), kind)
        try:
            return self._convert(array, kind, meaning or _UNKNOWN, column)
        except (pa.ArrowException, BlockError) as error:
            raise BlockError(f"{column} cannot be read as {kind}: {error}") from None

    def _convert(self, array: pa.Array, kind: pa.DataType, meaning: Meaning, column: str) -> pa.Array:
        if pa.types.is_list(kind):
            return _as_list(array, self._items(array.flatten(), kind.value_type, meaning, f"{column}[]"))
        if pa.types.is_struct(kind):
            return self._struct(array, kind, meaning, column)
        if pa.types.is_decimal(kind):
            return decimals.convert(array, kind, meaning, self.options, self.seen, column)
        if pa.types.is_date(kind):
            _expect(meaning, DATES)
            return times.dates(array, infinity_is_null=self.options.infinity_is_null)
        if pa.types.is_timestamp(kind):
            _expect(meaning, (*TIMESTAMPS, ZONED))
            return times.timestamps(array, kind, meaning, self.options, self.seen, column)
        if pa.types.is_string(kind):
            return self._text(array, meaning, column)
        if pa.types.is_binary(kind):
            return bytes_of(_text_of(array))
        if pa.types.is_floating(kind) and pa.types.is_string(array.type):
            return _reals(array, kind)
        if pa.types.is_integer(kind) and meaning.name in (*DATES, *TIMESTAMPS):
            return times.finite(array, meaning, infinity_is_null=self.options.infinity_is_null).cast(kind)
        return array.cast(kind)

    def _items(self, items: pa.Array, kind: pa.DataType, meaning: Meaning, column: str) -> pa.Array:
        if items.null_count == len(items):
            return pa.nulls(len(items), kind)
        return self._convert(items, kind, meaning.items or _UNKNOWN, column)

    def _struct(self, array: pa.Array, kind: pa.DataType, meaning: Meaning, column: str) -> pa.Array:
        parts = dict(meaning.fields)
        children = [
            self.convert(one, part.type, parts.get(part.name), f"{column}.{part.name}")
            for one, part in zip(array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())

    def _text(self, array: pa.Array, meaning: Meaning, column: str) -> pa.Array:
        if pa.types.is_struct(array.type) or meaning.name in (DECIMAL, VARIABLE):
            return decimals.texts(array, meaning)
        if pa.types.is_integer(array.type):
            if meaning.name and meaning.name not in TIMES:
                raise BlockError(f"it is {meaning.name}, which is not a text")
            return times.times_of_day(array, meaning, self.options)
        return _text_of(array)


def _expect(meaning: Meaning, names: tuple[str, ...]) -> None:
    if meaning.base and meaning.name not in names and meaning.name:
        raise BlockError(f"it is {meaning.name}")
    if meaning.base and not meaning.name and meaning.base != "string":
        raise BlockError(f"it is {meaning.base}, which is a number, not a date or a time")


def _text_of(array: pa.Array) -> pa.Array:
    if not pa.types.is_string(array.type):
        raise BlockError(f"it is {array.type} in JSON, not a text")
    return array


def _reals(array: pa.Array, kind: pa.DataType) -> pa.Array:
    known = pc.is_in(array, value_set=strings(list(_NUMBERS)))
    if not pc.all(pc.or_(known, array.is_null())).as_py():
        raise BlockError("it is a text, not a number")
    return array.cast(kind)


def _as_list(array: pa.Array, items: pa.Array) -> pa.Array:
    """The lists of an array with other items; `flatten` has left out the items of lists that are null."""
    borders = np.zeros(len(array) + 1, np.int32)
    np.cumsum(counts_of(array), out=borders[1:])
    buffers = [validity(array), pa.py_buffer(borders)]
    return pa.ListArray.from_buffers(list_of(items.type), len(array), buffers, children=[items])
