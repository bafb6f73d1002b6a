"""The text that Debezium writes for a large value that a change has not touched: never data.

PostgreSQL does not log such values (TOAST). The column is null then, and its name is in `_unchanged`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import Mask, list_of, mask_of, pick, strings
from aiopravega.schema.arrow.byte_columns import counts_of

_TEXT: Final = "__debezium_unavailable_value"
# The text in columns of bytes: in base64, and in hexadecimal digits.
_BASE64: Final = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
_FORMS: Final = (_TEXT, _BASE64, _TEXT.encode().hex())
UNSAID: Final = (
    "the value of {} is not in the event, because the change has not touched it (TOAST): ask for the column "
    "_unchanged, which names such columns, or set REPLICA IDENTITY FULL for the table"
)


def unavailable(array: pa.Array) -> Mask | None:
    """The mask of a column's values, as they were read, that are the placeholder; None if none is."""
    texts = array
    if pa.types.is_list(array.type) and pa.types.is_string(array.type.value_type):
        texts = array.flatten()
    if not pa.types.is_string(texts.type) or not len(texts):
        return None
    found = mask_of(pc.is_in(texts, value_set=strings(list(_FORMS))))
    if not found.any():
        return None
    if texts is array:
        return found
    rows = np.repeat(np.arange(len(array)), counts_of(array))
    inside = np.zeros(len(array), np.bool_)
    inside[rows[found]] = True
    return inside


def without(array: pa.Array, which: Mask) -> pa.Array:
    """The same with nulls in these rows."""
    return pick(array, np.where(which, -1, np.arange(len(array))))


def named_in(lists: pa.ListArray, name: str) -> Mask:
    """The mask of rows whose list of columns that were not sent has this one."""
    rows = np.repeat(np.arange(len(lists)), counts_of(lists))
    found = np.zeros(len(lists), np.bool_)
    found[rows[mask_of(pc.is_in(lists.flatten(), value_set=strings([name])))]] = True
    return found


def put_into(written: pa.Array, which: Mask, *, in_base64: bool) -> pa.Array | None:
    """A column, as it is written, with the placeholder in these rows; None if the column is not a text."""
    if not pa.types.is_string(written.type):
        return None
    both = pa.concat_arrays([written, strings([_BASE64 if in_base64 else _TEXT])])
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
