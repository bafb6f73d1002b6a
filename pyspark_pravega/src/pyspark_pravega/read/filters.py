"""Filters of a query by which segments, or pieces of them, are left out of a read.

`scope`, `stream`, `segment` and `segment_id` have one value in all rows of a segment, so filters on them are applied
completely.
`offset` has a range of values: pieces that cannot have a fitting row are left out, or read without rows if a later
piece needs their proof (`pyspark_pravega.read.plan.needed`), and Spark filters the rest. Spark applies all other
filters.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from aiopravega.cuts import SegmentRange
from pravega_jobs.pruning import (
    ANY_OFFSET,
    CONSTANTS,
    NO_OFFSET,
    OFFSET,
    Bounds,
    Comparison,
    bounds_of,
    constant_of,
    may_have,
)
from pyspark_pravega.read.columns import Columns

# SQL's three truth values; None is "unknown".
Truth: TypeAlias = bool | None

_COMPARISONS: Final[Mapping[type[Filter], Comparison]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}
_TEXTS: Final[Mapping[type[Filter], Callable[[str, str], bool]]] = {
    StringStartsWith: str.startswith,
    StringEndsWith: str.endswith,
    StringContains: operator.contains,
}
# For offsets, which are never null: `not a < b` is `a >= b`.
_OPPOSITE: Final[Mapping[type[Filter], type[Filter]]] = {
    GreaterThan: LessThanOrEqual,
    GreaterThanOrEqual: LessThan,
    LessThan: GreaterThanOrEqual,
    LessThanOrEqual: GreaterThan,
}


class Pushed:
    """The filters of one query that this module can use."""

    def __init__(self) -> None:
        self._exact: list[tuple[str, Filter]] = []
        self._offsets: list[Bounds] = []

    def add(self, filters: Iterable[Filter], columns: Columns) -> list[Filter]:
        """Keep the filters that can be used; returns the filters that Spark has to apply itself."""
        return [one for one in filters if not self._applies(one, columns)]

    def _applies(self, one: Filter, columns: Columns) -> bool:
        """Keep a filter if it can be used; returns True if it is applied completely."""
        child = one.child if isinstance(one, Not) else one
        kind = columns.kind_of(_column(child)) or ""
        if kind in CONSTANTS and _fits(child, CONSTANTS[kind]):
            self._exact.append((kind, one))
            return True
        if kind == OFFSET and _fits(child, int):
            self._offsets.append(_bounds(one))
        return False

    def segments(self, parts: Sequence[SegmentRange]) -> list[SegmentRange]:
        """The ranges that can have fitting rows."""
        return [
            part
            for part in parts
            if self.may_have_rows(part)
            and all(truth(one, constant_of(kind, part)) is True for kind, one in self._exact)
        ]

    def may_have_rows(self, part: SegmentRange) -> bool:
        """Return True if an event of this piece can have a fitting offset."""
        return all(may_have(part, bounds) for bounds in self._offsets)


class PushFilters:
    """A reader's `pushFilters`, as an attribute of the reader, which Spark accepts whether pushing is on or off.

    While `spark.sql.python.filterPushdown.enabled` is false, which is the default, Spark refuses every reader that
    overrides `pushFilters`, which it detects by `__func__`. Such a session never calls the method, so `__func__` may
    name the inherited one.
    """

    def __init__(self, pushed: Pushed, columns: Columns) -> None:
        self._pushed = pushed
        self._columns = columns

    @property
    def __func__(self) -> object:
        return DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> list[Filter]:
        """Keep the filters that can be used; returns the filters that Spark has to apply itself."""
        return self._pushed.add(filters, self._columns)


def _column(one: Filter) -> str:
    """The column of a filter; empty if the filter is about a field of a column."""
    path: tuple[str, ...] = getattr(one, "attribute", ())
    return path[0] if len(path) == 1 else ""


def _fits(one: Filter, kind: type) -> bool:
    """Return True if a filter is of a kind that this module knows, and compares with values of a type."""
    if isinstance(one, IsNull | IsNotNull):
        return True
    if type(one) in _TEXTS:
        return kind is str
    if type(one) not in _COMPARISONS and not isinstance(one, In):
        return False
    value = getattr(one, "value", None)
    values = value if isinstance(one, In) else (value,)
    return all(each is None or type(each) is kind for each in values or ())


def truth(one: Filter, value: Any) -> Truth:
    """The truth of a filter in SQL, for a value that is not null."""
    match one:
        case Not(child):
            inner = truth(child, value)
            return None if inner is None else not inner
        case IsNull() | IsNotNull():
            return isinstance(one, IsNotNull)
        case In(_, values):
            return True if value in values else (None if None in values else False)
    wanted = getattr(one, "value", None)
    if wanted is None:
        return False if isinstance(one, EqualNullSafe) else None
    compare = _COMPARISONS.get(type(one)) or _TEXTS[type(one)]
    return compare(value, wanted)


def _bounds(one: Filter) -> Bounds:
    """The lowest and the highest offset of a row that fits, by this filter alone."""
    child, kind = (one.child, _OPPOSITE.get(type(one.child))) if isinstance(one, Not) else (one, type(one))
    if kind is None or kind is IsNotNull:
        return ANY_OFFSET
    if isinstance(child, In):
        known = [value for value in child.value if value is not None]
        return (min(known), max(known)) if known else NO_OFFSET
    compare = _COMPARISONS.get(kind)
    return NO_OFFSET if compare is None else bounds_of(compare, getattr(child, "value", None))  # no offset is null
