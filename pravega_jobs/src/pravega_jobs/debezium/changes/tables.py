"""Tables of events: the events of one table are taken out of a stream of several tables.

This is the first step, because columns of one name may have other types in other tables.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import Mask, Numbers, mask_of, pick, strings
from aiopravega.schema.arrow.block import good_rows
from aiopravega.schema.arrow.byte_columns import missing
from aiopravega.schema.json.columns.decoder import JsonDecoder

_NAMES: Final = ("db", "schema", "table")
_SOURCE: Final = pa.struct([(name, pa.string()) for name in _NAMES])
_CHANGES: Final = ("c", "r", "u", "d", "t")
_WITH_SCHEMA: Final = 2


class TableFilter:
    """Selects the events of one table, and all events that are not changes of rows.

    Args:
        table: its name, alone or with the schema, the database, or both in front.
    """

    def __init__(self, table: str) -> None:
        self._parts = table.split(".")
        self._reader = JsonDecoder(pa.schema([("op", pa.string()), ("source", _SOURCE)]))

    def rows(self, payloads: pa.BinaryArray) -> Numbers:
        """The events that are not of another table; events that cannot be read are among them."""
        block = self._reader.decode(payloads)
        op, source = block.columns
        names = dict(zip(_NAMES, source.flatten(), strict=True))
        others = mask_of(pc.is_in(op, value_set=strings(list(_CHANGES)))) & ~self._fits(names)
        if not others.any():
            return np.arange(len(payloads))
        kept = np.ones(len(payloads), np.bool_)
        kept[good_rows(len(payloads), block.bad)[others]] = False
        return np.flatnonzero(kept)

    def takes(self, payload: bytes) -> bool:
        """True if one event is not of another table."""
        return bool(len(self.rows(pa.array([payload], pa.binary()))))

    def _fits(self, names: Mapping[str, pa.Array]) -> Mask:
        *outer, table = self._parts
        fits = _equals(names["table"], table)
        if not outer:
            return fits
        if len(outer) == _WITH_SCHEMA:
            return fits & _equals(names["schema"], outer[1]) & _equals(names["db"], outer[0])
        without_schemas = missing(names["schema"]) & _equals(names["db"], outer[0])
        return fits & (_equals(names["schema"], outer[0]) | without_schemas)


def _equals(texts: pa.Array, value: str) -> Mask:
    return mask_of(pc.is_in(texts, value_set=strings([value])))


def tables_in(source: Mapping[str, pa.Array], rows: Numbers) -> set[str]:
    """The names of the tables of some events."""
    chosen = [pick(source[name], rows) for name in _NAMES]
    joined = pc.binary_join_element_wise(*chosen, strings(["."])[0], null_handling="skip")
    return set(pc.unique(joined).to_pylist())
