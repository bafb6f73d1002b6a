"""Rows as texts, so that rows of any origin can be compared: a JSON object of the values that are not null.

Equal values have one text: fields are in the order of their names, and a number without a fraction is written without
one, so that 2.0 is 2. What kinds of values a column has is counted beside that.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.sandbox.result import KindsOfValues

_KINDS: Final = {
    bool: "true or false",
    int: "number",  # JSON does not tell 2.0 from 2
    float: "number",
    Decimal: "decimal",
    str: "text",
    bytes: "bytes",
    list: "list",
    dict: "object",
}
# Behind the name of a column: what is in its values.
_FIELDS: Final = ".*"
_ITEMS: Final = "[]"
# Above it a floating-point number has no fraction, and not each whole number is one.
_EXACT: Final = 2**53
_OF_OUTPUT: Final = "say by output_options how they become columns, or decode=raw to compare them as they are"


@dataclass
class RowTexts:
    """Makes texts of rows, and remembers the columns with the kinds of their values.

    Args:
        key: the columns that identify a row; empty: the whole row does.
    """

    key: Sequence[str]
    kinds: dict[str, set[str]] = field(default_factory=dict)

    def texts(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str | None, str]]:
        """The key and the text of each row; the key is None if no columns are the key."""
        for row in rows:
            values = {name: self._value(name, value) for name, value in row.items() if value is not None}
            key = json.dumps([values.get(name) for name in self.key], ensure_ascii=False) if self.key else None
            yield key, json.dumps(values, sort_keys=True, ensure_ascii=False)

    def _value(self, column: str, value: Any) -> Any:
        self._note(column, value)
        return plain(value)

    def _note(self, name: str, value: Any) -> None:
        """Remember the kind of a value, and of those in it: all fields have one name, as a map may have any."""
        self.kinds.setdefault(name, set()).add(_KINDS.get(type(value)) or type(value).__name__.lower())
        if isinstance(value, Mapping):
            inside, name = list(value.values()), f"{name}{_FIELDS}"
        elif isinstance(value, list | tuple):
            inside, name = list(value), f"{name}{_ITEMS}"
        else:
            return
        for each in inside:
            if each is not None:
                self._note(name, each)


def kinds_that_differ(before: RowTexts, now: RowTexts) -> list[KindsOfValues]:
    """The columns whose kinds of values differ, and what is in their values; none if a side has no rows at all.

    A list or a map that is empty on one side shows no kind: only its rows differ.
    """
    if not before.kinds or not now.kinds:
        return []
    columns = sorted(before.kinds.keys() | now.kinds.keys())
    kinds = [(name, before.kinds.get(name), now.kinds.get(name)) for name in columns]
    return [
        KindsOfValues(name, _text(then), _text(found))
        for name, then, found in kinds
        if then != found and (None not in (then, found) or not name.endswith((_FIELDS, _ITEMS)))
    ]


def _text(kinds: set[str] | None) -> str | None:
    return None if kinds is None else ", ".join(sorted(kinds))


def plain(value: Any) -> Any:
    """A value as JSON has it, the same for equal values."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return int(value) if abs(value) < _EXACT and value.is_integer() else value
        case Decimal():
            return f"{value.normalize():f}" if value.is_finite() else str(value)
        case bytes():
            # Backslashes are doubled, so that no other bytes have this text.
            return value.replace(b"\\", b"\\\\").decode(errors="backslashreplace")
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
        case date() | time():
            return value.isoformat()
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return str(value)


def objects_of(events: Iterable[bytes], what: str, way_out: str = _OF_OUTPUT) -> Iterator[dict[str, Any]]:
    """The events as JSON objects.

    Args:
        events: the events.
        what: their origin, for messages.
        way_out: the remedy, for messages.

    Raises:
        ConfigurationError: one is something else.
    """
    for event in events:
        try:
            value = json.loads(event)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ConfigurationError(f"{what} have {event[:80]!r}, which is not a JSON object: {way_out}")
        yield value
