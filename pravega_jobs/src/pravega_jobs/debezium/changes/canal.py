"""Change events of Canal, which reads MySQL's log: each event opened as the changes of Debezium that say the same.

An event has the rows of one statement, whose values are texts in MySQL's spelling. `old` has only the values before an
update that have changed. They lack the position in the database's log, so that the order is the order of the stream.
Source: the format as Canal's flat messages have it, and as Flink documents `canal-json`.
"""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import values_of
from pravega_jobs.debezium.changes.envelope import EventGroup

_OPS: Final = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}
_TRUNCATE: Final = "TRUNCATE"
_BITS: Final = {"0": False, "1": True, "false": False, "true": True}
_WHOLE: Final = re.compile(r"[+-]?\d+")
_FOREIGN: Final = "it is not a change event of Canal: it has no {}"


class CanalEnvelopes:
    """Opens change events of Canal.

    Args:
        table: the columns of the table that are read.
        key: the columns that identify a row; an update of one of them becomes a delete and an insert. None: it stays
            one change.
    """

    def __init__(self, table: pa.Schema, key: tuple[str, ...] | None) -> None:
        self._types = {field.name: field.type for field in table}
        self._key = key or ()

    def open(self, events: pa.BinaryArray) -> tuple[list[EventGroup], dict[int, str]]:
        """The changes of all events, in one group, and the reason for each event that cannot be opened.

        An event has as many changes as rows.
        """
        rows: list[int] = []
        payloads: list[bytes] = []
        bad: dict[int, str] = {}
        for row, event in enumerate(events.to_pylist()):
            try:
                changes = self._last(self._changes(json.loads(event)))
                made = [json.dumps(change, ensure_ascii=False).encode() for change in changes]
            except (ValueError, RecursionError) as error:
                bad[row] = f"it cannot be read as a change event of Canal: {error}"
                continue
            payloads += made
            rows += [row] * len(made)
        groups = [EventGroup(np.array(rows, np.int64), values_of(payloads, pa.binary()))] if rows else []
        return groups, bad

    def _last(self, changes: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        """The last change of each key: all changes of an event have one position in the stream."""
        if not self._key:
            return list(changes)
        found: dict[Any, dict[str, Any]] = {}
        for number, change in enumerate(changes):
            row = change.get("after") or change.get("before") or {}
            values = tuple(row.get(name) for name in self._key)
            key = number if None in values else values  # without a key, no change stands for another
            found.pop(key, None)
            found[key] = change
        return list(found.values())

    def _changes(self, event: Any) -> Iterator[dict[str, Any]]:
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise ValueError(_FOREIGN.format("type"))
        around = {
            "source": {"db": event.get("database"), "table": event.get("table"), "ts_ms": event.get("es")},
            "ts_ms": event.get("ts"),
        }
        kind = event["type"].upper()
        if kind == _TRUNCATE:
            yield {"op": "t", **around}
            return
        if event.get("isDdl"):
            yield {"ddl": event.get("sql") or kind, **around}
            return
        if kind not in _OPS:
            raise ValueError(f"its type is {event['type']!r}, which is not known")
        data, old = event.get("data"), event.get("old")
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            raise ValueError(_FOREIGN.format("data"))
        if kind == "UPDATE" and (not isinstance(old, list) or len(old) != len(data)):
            raise ValueError("it is an update, whose old must have as many rows as its data")
        for number, values in enumerate(data):
            row = self._row(values)
            if kind == "INSERT":
                yield {"op": "c", "before": None, "after": row, **around}
            elif kind == "DELETE":
                yield {"op": "d", "before": row, "after": None, **around}
            else:
                before = row | self._row((old or [])[number] or {})
                moved = any(before.get(name) != row.get(name) for name in self._key)
                if moved:
                    yield {"op": "d", "before": before, "after": None, **around}
                yield {"op": "c" if moved else "u", "before": None if moved else before, "after": row, **around}

    def _row(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values as Debezium writes them, by the types of the columns; columns that are not read stay texts."""
        return {name: self._value(name, value) for name, value in values.items()}

    def _value(self, name: str, value: Any) -> Any:
        kind = self._types.get(name)
        if kind is None or not isinstance(value, str):
            return value
        if pa.types.is_integer(kind):
            if not _WHOLE.fullmatch(value):
                raise ValueError(f"column {name!r} is {kind}, and has {value[:50]!r}, which is not a whole number")
            return int(value)
        if pa.types.is_floating(kind):
            return float(value)
        if pa.types.is_boolean(kind):
            if value.lower() not in _BITS:
                raise ValueError(f"column {name!r} is {kind}, and has {value[:50]!r}, which is neither 0 nor 1")
            return _BITS[value.lower()]
        if pa.types.is_binary(kind):  # each character stands for a byte
            return base64.b64encode(value.encode("latin-1")).decode()
        if pa.types.is_timestamp(kind):
            return value.replace(" ", "T", 1)
        return value
