"""Conditions of Polars by which segments, and pieces of them, are left out of a read.

A condition is taken apart by Polars itself: each guess of its form is built again from its parts, and counts if Polars
calls both equal. What has none of these forms leaves out nothing. Polars applies the whole condition to what is read.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiopravega import TimeUnit
from pravega_jobs.frames.limits import KnownColumns, MayHold, Rows
from pravega_jobs.pruning import CONSTANTS, Comparison, bounds_of, may_have

if TYPE_CHECKING:
    import polars as pl

# The same comparison with its sides exchanged.
_MIRRORED: Final[dict[Callable[[Any, Any], Any], Comparison]] = {
    operator.eq: operator.eq,
    operator.gt: operator.lt,
    operator.ge: operator.le,
    operator.lt: operator.gt,
    operator.le: operator.ge,
}


def polars_may_hold(condition: "pl.Expr", known: KnownColumns) -> MayHold:
    """The question whether a condition of Polars can be true in some rows."""
    return lambda rows: _Question(known, rows).may_be_true(condition)


@dataclass(frozen=True, slots=True)
class _Question:
    known: KnownColumns
    rows: Sequence[Rows]

    def may_be_true(self, condition: "pl.Expr") -> list[bool]:
        """For each of the rows, False if the condition is false or null in all of them."""
        names = set(condition.meta.root_names())
        constants = [self.known.constants(one) for one in self.rows]
        if names and all(names <= each.keys() for each in constants):
            return self._of_constants(condition, sorted(names), constants)
        match condition.meta.pop():  # the last side comes first
            case [right, left]:
                return self._of_two_sides(condition, left, right)
        return self._any

    @property
    def _any(self) -> list[bool]:
        return [True] * len(self.rows)

    def _of_two_sides(self, condition: "pl.Expr", left: "pl.Expr", right: "pl.Expr") -> list[bool]:
        for combine in (operator.and_, operator.or_):
            if combine(left, right).meta.eq(condition):
                both = zip(self.may_be_true(left), self.may_be_true(right), strict=True)
                return [combine(one, other) for one, other in both]
        column, literal = (left, right) if right.meta.is_literal() else (right, left)
        if not literal.meta.is_literal():
            return self._any
        for compare, mirrored in _MIRRORED.items():
            if compare(left, right).meta.eq(condition):
                return self._of_comparison(column, compare if column is left else mirrored, literal)
        return self._any

    def _of_constants(
        self, condition: "pl.Expr", names: Sequence[str], constants: Sequence[dict[str, str | int]]
    ) -> list[bool]:
        import polars as pl

        types = {str: pl.String, int: pl.Int64}
        values = {name: [each[name] for each in constants] for name in names}
        schema = {name: types[CONSTANTS[self.known.kinds[name]]] for name in names}
        found = pl.DataFrame(values, schema=schema).select(condition).to_series()
        if found.dtype != pl.Boolean or len(found) != len(self.rows):
            return self._any
        return [value is True for value in found]

    def _of_comparison(self, column: "pl.Expr", compare: Comparison, literal: "pl.Expr") -> list[bool]:
        """The answer of a comparison of an offset or a time with a value."""
        import polars as pl

        value = pl.select(literal).to_series()
        for name in self.known.offsets:
            if column.meta.eq(pl.col(name)) and (value[0] is None or value.dtype.is_integer()):
                bounds = bounds_of(compare, value[0])
                return [one.part is None or may_have(one.part, bounds) for one in self.rows]
        time = self.known.time
        if time is None or not column.meta.eq(pl.col(time.name)) or compare in (operator.gt, operator.ge):
            return self._any
        if isinstance(value.dtype, pl.Datetime) and value.dtype.time_zone is not None:
            unit = TimeUnit.parse(value.dtype.time_unit)
        elif value.dtype.is_integer():
            unit = time.unit
        else:
            return self._any
        wanted = value.to_physical()[0]
        return [wanted is not None and self._reaches(one, compare, wanted * unit) for one in self.rows]

    def _reaches(self, rows: Rows, compare: Comparison, wanted: int) -> bool:
        """True if a time of the rows can be as early as a comparison wants it, in nanoseconds."""
        time = self.known.time
        if time is None or rows.since is None:
            return True
        first = rows.since * time.written // time.unit * time.unit
        return first < wanted if compare is operator.lt else first <= wanted
