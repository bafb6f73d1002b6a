"""Counts of differences by column, with the first rows of each kind; memory for the samples only."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pravega_jobs.sandbox.differences import Difference
from pravega_jobs.sandbox.result import ColumnChanges

_LONGEST: Final = 1000  # characters of a value in a sample


class Tally:
    """Counts the differences of all intervals.

    Args:
        key: the columns that identify a row.
        samples: the most rows that are kept of each kind of difference.
    """

    def __init__(self, key: Sequence[str], samples: int) -> None:
        self._key = key
        self._most = samples
        self._changed: Counter[str] = Counter()
        self._samples: dict[str, list[Mapping[str, Any]]] = {}
        self.added: list[Mapping[str, Any]] = []
        self.removed: list[Mapping[str, Any]] = []

    def add(self, differences: Iterable[Difference]) -> tuple[int, int, int]:
        """Count the differences of an interval: added, removed and changed rows."""
        added = removed = changed = 0
        for each in differences:
            if each.before is None and each.now is not None:
                added += 1
                self._keep(self.added, each.now)
            elif each.now is None and each.before is not None:
                removed += 1
                self._keep(self.removed, each.before)
            elif each.now is not None and each.before is not None:
                changed += 1
                self._compare(each.key, json.loads(each.before), json.loads(each.now))
        return added, removed, changed

    @property
    def columns(self) -> list[ColumnChanges]:
        """The columns of changed rows that have other values, the one that changes most first."""
        order = sorted(self._changed.items(), key=lambda each: (-each[1], each[0]))
        return [ColumnChanges(name, count, self._samples.get(name, [])) for name, count in order]

    def _keep(self, samples: list[Mapping[str, Any]], row: str) -> None:
        if len(samples) < self._most:
            samples.append({name: _short(value) for name, value in json.loads(row).items()})

    def _compare(self, key: str | None, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        for name in sorted(before.keys() | now.keys()):
            old, new = before.get(name), now.get(name)
            if json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True):  # in Python, True is 1
                continue
            self._changed[name] += 1
            kept = self._samples.setdefault(name, [])
            if len(kept) < self._most:
                parts = map(_short, json.loads(key or "[]"))
                values = dict(zip(self._key, parts, strict=True))
                kept.append({"key": values, "before": _short(old), "now": _short(new)})


def _short(value: Any) -> Any:
    """A value of a sample: a long one is cut off, as text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
