"""A decoder that refuses events without a field of each column; a field that is null is there.

Arrow's reader makes null of both, so only events with nulls are parsed again.
"""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import numbers
from aiopravega.schema.arrow.block import DecodedBlock, good_rows
from aiopravega.schema.json.columns.decoder import JsonDecoder


class WholeDecoder:
    """Decodes objects that have all columns of a schema, and all fields of the structs that are in them."""

    def __init__(self, schema: pa.Schema, inner: JsonDecoder) -> None:
        self._kind = pa.struct(schema)
        self._inner = inner

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The columns of the schema."""
        block = self._inner.decode(payloads)
        rows = good_rows(len(payloads), block.bad)  # the payloads of the rows of the columns
        suspects = np.zeros(len(rows), np.bool_)
        for column in block.columns:
            suspects |= _with_nulls(column)
        keeps = np.ones(len(rows), np.bool_)
        bad = dict(block.bad)
        for at in np.flatnonzero(suspects):
            row = int(rows[at])
            reason = self._reason(payloads[row].as_py())
            if reason is not None:
                bad[row] = reason
                keeps[at] = False
        if keeps.all():
            return block
        kept = numbers(np.flatnonzero(keeps), pa.int64())
        return DecodedBlock([column.take(kept) for column in block.columns], bad)

    def trim(self, payload: bytes) -> bytes:
        """The payload without zeros at its end, which JSON does not have."""
        return self._inner.trim(payload)

    def _reason(self, payload: bytes) -> str | None:
        """The reason to refuse a payload, which Arrow's reader has read; None: it has all fields."""
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError) as error:
            return f"its fields cannot be compared with the columns: {error}"
        missing = next(iter(_missing(value, self._kind, "")), None)
        return None if missing is None else f"it has no field {missing!r} (missing_fields=fail)"


def _missing(value: Any, kind: pa.DataType, name: str) -> Iterable[str]:
    """The names of fields that a value lacks, each behind the names of the fields around it."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        for field in kind:
            inside = f"{name}.{field.name}" if name else field.name
            if field.name not in value:
                yield inside
            else:
                yield from _missing(value[field.name], field.type, inside)
    elif pa.types.is_list(kind) and isinstance(value, list):
        for item in value:
            yield from _missing(item, kind.value_type, name)


def _with_nulls(array: pa.Array) -> "np.typing.NDArray[np.bool_]":
    """True for rows that are null, or have a null in them."""
    nulls: np.typing.NDArray[np.bool_] = pc.is_null(array).to_numpy(zero_copy_only=False)
    if pa.types.is_struct(array.type):
        for part in array.flatten():
            nulls = nulls | _with_nulls(part)
    elif pa.types.is_list(array.type):
        inner = _with_nulls(array.flatten())
        counts = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        sums = np.concatenate(([0], np.cumsum(inner)))
        ends = np.cumsum(counts)
        nulls = nulls | (sums[ends] > sums[ends - counts])
    return nulls
