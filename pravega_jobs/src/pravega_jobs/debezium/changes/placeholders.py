"""The value that Debezium writes for a large value that a change has not touched: never data.

PostgreSQL does not log such values (TOAST). The column is null then, and its name is in `_unchanged`.
"""

import base64
import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Mask, list_of, mask_of, numbers, pick, strings
from aiopravega.schema.arrow.byte_columns import counts_of, missing
from pravega_jobs.debezium.changes.options import UNAVAILABLE

_HEX: Final = "hex:"
# The usual text in columns of bytes.
_BASE64: Final = base64.b64encode(UNAVAILABLE.encode()).decode()
UNSAID: Final = (
    "the value of {} is not in the event, because the change has not touched it (TOAST): ask for the column "
    "_unchanged, which names such columns, or set REPLICA IDENTITY FULL for the table"
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The placeholder in each form that columns of PostgreSQL give it.

    Texts have its text, bytes its bytes in Base64 or hexadecimal digits, `hstore` one pair of it and itself. Arrays of
    texts and of bytes have it as their item, `uuid[]` has a UUID made of it. Arrays of numbers, dates and times have
    one number for each of its bytes.

    Args:
        given: the value of Debezium's setting `unavailable.value.placeholder`: a text, or `hex:` and digits.

    Raises:
        ConfigurationError: the value is empty, or its digits are none.
    """

    given: str = UNAVAILABLE
    text: str = field(init=False)
    data: bytes = field(init=False)
    _texts: tuple[str, ...] = field(init=False)
    _items: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        data = _bytes_of(self.given)
        text = data.decode(errors="replace")
        coded = (base64.b64encode(data), base64.urlsafe_b64encode(data), data.hex().encode())
        pair = {text: text}
        pairs = [json.dumps(pair, ensure_ascii=False, separators=(",", each)) for each in (":", ": ")]
        texts = (text, *(each.decode() for each in coded), *pairs)
        # Java's UUID.nameUUIDFromBytes: the digest alone, without a namespace.
        digest = uuid.UUID(bytes=hashlib.md5(data, usedforsecurity=False).digest(), version=3)
        for name, value in (("data", data), ("text", text), ("_texts", texts), ("_items", (*texts, str(digest)))):
            object.__setattr__(self, name, value)

    def beside(self, kind: pa.DataType) -> pa.DataType:
        """The type to read a column with: a struct also has the key of the placeholder of `hstore`."""
        return pa.struct([*kind, (self.text, pa.string())]) if pa.types.is_struct(kind) else kind

    def alone(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """A column that was read with `beside`, without the key of the placeholder."""
        if not pa.types.is_struct(kind) or array.type.get_field_index(self.text) < 0:
            return array
        return pa.StructArray.from_arrays(array.flatten()[:-1], fields=list(array.type)[:-1], mask=array.is_null())

    def found(self, array: pa.Array) -> Mask | None:
        """The mask of a column's values, as they were read, that are the placeholder; None if none is."""
        if not len(array):
            return None
        kind = array.type
        if pa.types.is_list(kind):
            mask = self._in_lists(array)
        elif pa.types.is_string(kind):
            mask = _among(array, self._texts)
        elif pa.types.is_struct(kind) and kind.get_field_index(self.text) >= 0:
            mask = _among(array.flatten()[-1], (self.text,))
        else:
            return None
        return mask if mask.any() else None

    def _in_lists(self, lists: pa.ListArray) -> Mask:
        items, counts = lists.flatten(), counts_of(lists)
        inside = np.zeros(len(lists), np.bool_)
        if pa.types.is_string(items.type):
            inside[np.repeat(np.arange(len(lists)), counts)[_among(items, self._items)]] = True
        long_enough = np.flatnonzero(counts == len(self.data))
        if len(long_enough):
            chosen = pick(items, np.flatnonzero(np.repeat(counts == len(self.data), counts)))
            same = self._are_bytes(chosen).reshape(-1, len(self.data)).all(axis=1)
            inside[long_enough[same]] = True
        return inside

    def _are_bytes(self, items: pa.Array) -> Mask:
        """The mask of items that are the number of their byte; `items` are of lists with one for each byte."""
        times = len(items) // len(self.data)
        if pa.types.is_struct(items.type) and items.type.get_field_index("value") >= 0:
            items = items.field("value")  # each with its scale
        if pa.types.is_string(items.type):
            wanted = strings([base64.b64encode(bytes([byte])).decode() for byte in self.data] * times)
        elif pa.types.is_int64(items.type) or pa.types.is_float64(items.type):
            signed = np.tile(np.frombuffer(self.data, np.int8), times).astype(items.type.to_pandas_dtype())
            wanted = numbers(signed, items.type)
        else:
            return np.zeros(len(items), np.bool_)
        return mask_of(pc.equal(items, wanted)) & ~missing(items)


def _bytes_of(given: str) -> bytes:
    data = given.encode()
    if given.startswith(_HEX):
        try:
            data = bytes.fromhex(given.removeprefix(_HEX))
        except ValueError:
            raise ConfigurationError(
                f"option 'unavailable_placeholder' is {given!r}, but {_HEX} is followed by pairs of digits: give the "
                "value of Debezium's setting unavailable.value.placeholder"
            ) from None
    if not data:
        raise ConfigurationError(
            "option 'unavailable_placeholder' is empty: give the value of Debezium's setting "
            "unavailable.value.placeholder, or leave the option out"
        )
    return data


def _among(texts: pa.Array, values: tuple[str, ...]) -> Mask:
    return mask_of(pc.is_in(texts, value_set=strings(list(values))))


def without(array: pa.Array, which: Mask) -> pa.Array:
    """The same with nulls in these rows."""
    return pick(array, np.where(which, -1, np.arange(len(array))))


def named_in(lists: pa.ListArray, name: str) -> Mask:
    """The mask of rows whose list of columns that were not sent has this one."""
    rows = np.repeat(np.arange(len(lists)), counts_of(lists))
    mask = np.zeros(len(lists), np.bool_)
    mask[rows[mask_of(pc.is_in(lists.flatten(), value_set=strings([name])))]] = True
    return mask


def put_into(written: pa.Array, which: Mask, *, in_base64: bool) -> pa.Array | None:
    """A column, as it is written, with the placeholder in these rows; None if the column is not a text."""
    if not pa.types.is_string(written.type):
        return None
    both = pa.concat_arrays([written, strings([_BASE64 if in_base64 else UNAVAILABLE])])
    return pick(both, np.where(which, len(written), np.arange(len(written))))


def names_of(masks: Mapping[str, Mask], count: int) -> pa.Array:
    """For each row the names of the columns whose values are not there; an empty list if all values are."""
    table = np.zeros((count, max(1, len(masks))), np.bool_)
    for index, mask in enumerate(masks.values()):
        table[:, index] = mask
    borders = np.zeros(count + 1, np.int32)
    np.cumsum(table.sum(axis=1), out=borders[1:])
    names = strings(list(masks) or [""])
    items = pick(names, np.nonzero(table)[1].astype(np.int64))
    return pa.ListArray.from_buffers(list_of(pa.string()), count, [None, pa.py_buffer(borders)], children=[items])
