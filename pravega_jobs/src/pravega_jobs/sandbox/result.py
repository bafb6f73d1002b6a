"""The result of a replay: how many rows are the same, added, removed or changed, by interval and by column.

It has a few samples of each difference, however many there are, so it fits into an XCom, a page or the log of a test.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pravega_jobs.sandbox.page import page_of

_NONE = "none"
_LONGEST = 200  # characters of a row or a value in a text


@dataclass(frozen=True, slots=True)
class ReplayedInterval:
    """An interval that was replayed.

    Attributes:
        interval: its name.
        written_as: the write id, or the table's interval, that it is compared with.
        generation: the generation of that write or landing.
        before: the number of rows that were written then.
        now: the number of rows that the code gives.
        added: rows whose key was not written then; without a key, rows that were not.
        removed: rows whose key the code does not give; without a key, rows that it does not give.
        changed: rows that were written then under the same key, with other values.
        repeated_keys: keys that several rows of one side have: these rows are paired in the order of their values.
        scratch: the write in the scratch scope that has the rows of now; None: they were written nowhere.
    """

    interval: str
    written_as: str
    generation: int
    before: int
    now: int
    added: int
    removed: int
    changed: int
    repeated_keys: int = 0
    scratch: Mapping[str, str] | None = None

    @property
    def is_same(self) -> bool:
        """True if the same rows were written then."""
        return not (self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """A column of changed rows: how many have another value in it, and the first of them: key, before, now."""

    column: str
    changed: int
    samples: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class KindsOfValues:
    """A column that has other kinds of values than before, such as text and whole number; None: it has no values."""

    column: str
    before: str | None
    now: str | None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The differences between what intervals gave then and what other code gives now.

    Attributes:
        stream: the stream of the intervals.
        consumer: their consumer.
        code: the name of the function.
        output: the stream or the table that has what was written then.
        key: the columns that identify a row; empty: whole rows are compared.
        intervals: the intervals, in the order in which they were replayed.
        columns: the columns of changed rows with other values, the one that changes most first.
        schema: the columns whose kinds of values differ.
        added: a few added rows.
        removed: a few removed rows.
    """

    stream: str
    consumer: str
    code: str
    output: str
    key: Sequence[str]
    intervals: Sequence[ReplayedInterval]
    columns: Sequence[ColumnChanges] = ()
    schema: Sequence[KindsOfValues] = ()
    added: Sequence[Mapping[str, Any]] = ()
    removed: Sequence[Mapping[str, Any]] = ()

    @property
    def is_same(self) -> bool:
        """True if all rows are the same, and the columns have the same kinds of values."""
        return not self.schema and all(each.is_same for each in self.intervals)

    def total(self, count: str) -> int:
        """The sum of a count over all intervals, such as `changed`."""
        return sum(int(getattr(each, count)) for each in self.intervals)

    def assert_same(self) -> None:
        """Fail a test if something differs.

        Raises:
            AssertionError: with the text of the result.
        """
        if not self.is_same:
            raise AssertionError(self.text)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for XComs and metadata."""
        return {"same": self.is_same, **asdict(self)}

    def to_html(self) -> str:
        """The result as a page, which loads nothing."""
        return page_of(self.to_json())

    @property
    def text(self) -> str:
        """The result as text."""
        lines = [f"{self.verdict}: {self.code} on {self.consumer!r} of {self.stream}, compared with {self.output}"]
        lines += [f"  {line}" for each in self.intervals for line in _interval_lines(each)]
        if self.schema:
            lines.append("columns with other kinds of values:")
            lines += [
                f"  {each.column}: {each.before or 'none'} then, {each.now or 'none'} now" for each in self.schema
            ]
        for column in self.columns:
            lines.append(f"{column.column}: {column.changed:,} rows have another value")
            lines += [
                f"  {shown(each['key'])}: {shown(each['before'])} then, {shown(each['now'])} now"
                for each in column.samples
            ]
        for title, rows in (("added", self.added), ("removed", self.removed)):
            if rows:
                lines.append(f"{title}, the first of {self.total(title):,}:")
                lines += [f"  {shown(row)}" for row in rows]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """The result in a word."""
        return "same" if self.is_same else "different"


def shown(value: Any) -> str:
    """A value or a row as text of a bounded length."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _interval_lines(each: ReplayedInterval) -> list[str]:
    counts = f"{each.added:,} added, {each.removed:,} removed, {each.changed:,} changed"
    lines = [f"{each.interval}: {each.before:,} rows then, {each.now:,} now: {counts}"]
    if each.repeated_keys:
        lines.append(f"  {each.repeated_keys:,} keys have several rows, which are paired in the order of their values")
    if each.scratch is not None:
        lines.append(f"  the rows of now are in {each.scratch['stream']}, as write {each.scratch['write_id']!r}")
    return lines
