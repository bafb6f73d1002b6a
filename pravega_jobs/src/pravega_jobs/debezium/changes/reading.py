"""Reads change events as Arrow structs, for each form that their values have in JSON.

Debezium writes the same column as a number, a text or an object, by its settings: decimals, dates, times, NaN. Arrow
must know the form before it reads. So some events of a block are parsed first; events that do not fit are read again in
another form, until each has been read or cannot be read.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import Numbers, list_of, pick
from aiopravega.schema.arrow.block import good_rows
from aiopravega.schema.arrow.byte_columns import missing
from aiopravega.schema.json.columns.decoder import JsonDecoder
from pravega_jobs.debezium.changes.metadata import EITHER
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, OP
from pravega_jobs.debezium.changes.placeholders import Placeholder

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()
_VARIABLE: Final = pa.struct([("scale", pa.int32()), ("value", pa.string())])
_ROW, _SOURCE = "row", "source"
# By part of the event and name.
Forms = dict[tuple[str, str], pa.DataType]
# Events that are parsed first, in a block of any size.
_SAMPLED: Final = 8
# Fields that tell the kinds of events without an operation. Only such events, which are few, are read with them.
_TELLING: Final = [pa.field(name, _TEXT) for name in ("status", "ddl", "specversion", "__op", "__deleted")]


@dataclass(frozen=True, slots=True)
class UniformEvents:
    """Events that are read in one form, with their positions in the block, and columns for the envelope's fields."""

    rows: Numbers
    columns: dict[str, pa.Array]


@dataclass(slots=True)
class EventReader:
    """Reads the payloads of change events.

    Args:
        after: the columns of the image of a row after a change.
        before: the columns of the image before a change that are needed.
        source: the fields of `source` that are needed, with their types.
        more: further fields of the envelope that are needed.
        placeholder: the value for values that were not sent, which an object may have as a key.
    """

    after: pa.Schema
    before: pa.Schema
    source: pa.Schema
    more: pa.Schema
    placeholder: Placeholder
    # The last form of each column and of each field of `source`, as the type that Arrow reads it with.
    _forms: Forms = field(default_factory=dict)
    _readers: dict[pa.Schema, JsonDecoder] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def read(self, payloads: pa.BinaryArray) -> tuple[list[UniformEvents], dict[int, str]]:
        """The events in batches, each read in one form, and the reason for each event that cannot be read."""
        if not len(payloads):
            return [], {}
        self._look_into(payloads)
        usual = self._schema(self._forms)
        batches, bad = self._read(payloads, np.arange(len(payloads), dtype=np.int64), usual)
        others: dict[pa.Schema, list[int]] = {}
        for row in sorted(bad):
            event = _loaded(payloads[row].as_py())
            if event is not None:
                forms: Forms = {}
                self._learn(event, forms)
                others.setdefault(self._schema(forms), []).append(row)
        for schema, rows in others.items():
            if schema != usual:
                chosen = np.array(rows, np.int64)
                more, still = self._read(pick(payloads, chosen), chosen, schema)
                batches += more
                for row in rows:
                    del bad[row]
                bad |= still
        return batches, bad

    def _read(
        self, payloads: pa.BinaryArray, rows: Numbers, schema: pa.Schema
    ) -> tuple[list[UniformEvents], dict[int, str]]:
        if schema not in self._readers:
            self._readers[schema] = JsonDecoder(schema)
        block = self._readers[schema].decode(payloads)
        good = good_rows(len(rows), block.bad)
        bad = {int(rows[row]): why for row, why in block.bad.items()}
        if not len(good):
            return [], bad
        columns = dict(zip(schema.names, block.columns, strict=True))
        without = missing(columns[OP])
        if _TELLING[0] in schema or not without.any():
            return [UniformEvents(rows[good], columns)], bad
        chosen = good[without]
        batches, wrong = self._read(pick(payloads, chosen), rows[chosen], pa.schema([*schema, *_TELLING]))
        changes = np.flatnonzero(~without)
        if len(changes):
            batches.insert(
                0, UniformEvents(rows[good[changes]], {name: pick(one, changes) for name, one in columns.items()})
            )
        return batches, bad | wrong

    def _look_into(self, payloads: pa.BinaryArray) -> None:
        """Learn the form of each column from some events, and the table's columns that the read does not have."""
        count = len(payloads)
        chosen = {index * (count - 1) // (_SAMPLED - 1) for index in range(_SAMPLED)}
        for index in sorted(chosen):
            event = _loaded(payloads[index].as_py())
            if event is not None:
                self._learn(event, self._forms)

    def _learn(self, event: dict[str, Any], forms: Forms) -> None:
        for name, schema in ((BEFORE, self.before), (AFTER, self.after)):
            image = event.get(name)
            if isinstance(image, dict):
                for column in schema:
                    value = image.get(column.name)
                    if value is not None:
                        forms[_ROW, column.name] = form_of(column.type, value)
        source = event.get(_SOURCE)
        for name in EITHER:
            if isinstance(source, dict) and source.get(name) is not None:
                forms[_SOURCE, name] = _as_it_is(source[name])
        if isinstance(event.get(AFTER), dict):
            self.unknown |= event[AFTER].keys() - set(self.after.names)

    def _schema(self, forms: Forms) -> pa.Schema:
        def image(of: pa.Schema) -> pa.DataType:
            read = [(one, forms.get((_ROW, one.name)) or form_of(one.type, None)) for one in of]
            beside = self.placeholder.beside
            return pa.struct([(one.name, beside(form) if pa.types.is_struct(one.type) else form) for one, form in read])

        return pa.schema(
            [
                (OP, _TEXT),
                (AFTER, image(self.after)),
                (BEFORE, image(self.before)),
                (_SOURCE, pa.struct([(one.name, forms.get((_SOURCE, one.name), one.type)) for one in self.source])),
                *self.more,
            ]
        )


def _loaded(event: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(event)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _as_it_is(value: Any) -> pa.DataType:
    if isinstance(value, bool):
        return pa.bool_()
    return _WHOLE if isinstance(value, int) else _TEXT


def form_of(kind: pa.DataType, value: Any) -> pa.DataType:
    """The type by which Arrow reads a column of this type with such a value; the usual one for None."""
    if pa.types.is_list(kind):
        items = value if isinstance(value, list) else []
        some = next((item for item in items if item is not None), None)
        return list_of(form_of(kind.value_type, some))
    if pa.types.is_struct(kind):
        parts = value if isinstance(value, dict) else {}
        return pa.struct([(part.name, form_of(part.type, parts.get(part.name))) for part in kind])
    if pa.types.is_boolean(kind):
        return kind
    if pa.types.is_integer(kind):
        return _WHOLE
    if isinstance(value, dict) and value.keys() == {"scale", "value"}:
        return _VARIABLE
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, float):
        return _REAL
    if isinstance(value, int) and not isinstance(value, bool):
        return _REAL if pa.types.is_floating(kind) else _WHOLE
    return _usual(kind)


def _usual(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _WHOLE
    return _REAL if pa.types.is_floating(kind) else _TEXT
