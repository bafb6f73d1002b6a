"""Conditions of Polars by which segments are left out of a read of raw events.

A condition is taken apart by Polars itself: each guess of its form is built again from its parts, and counts if Polars
calls both equal. What has none of these forms leaves out nothing. Polars applies the whole condition to what is read.
"""

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from aiopravega.cuts import SegmentRange
from pravega_jobs.pruning import CONSTANTS, OFFSET, Comparison, bounds_of, constant_of, may_have

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


def parts_with_rows(condition: "pl.Expr", parts: Sequence[SegmentRange]) -> list[SegmentRange]:
    """The ranges of segments that can have rows for which a condition is true, in their order."""
    return [part for part, may in zip(parts, _may_be_true(condition, parts), strict=True) if may]


def _may_be_true(condition: "pl.Expr", parts: Sequence[SegmentRange]) -> list[bool]:
    """For each range, False if the condition is false or null in all of its rows."""
    names = set(condition.meta.root_names())
    if names and names <= CONSTANTS.keys():
        return _of_constants(condition, sorted(names), parts)
    match condition.meta.pop():  # the last side comes first
        case [right, left]:
            return _of_two_sides(condition, left, right, parts)
    return [True] * len(parts)


def _of_two_sides(condition: "pl.Expr", left: "pl.Expr", right: "pl.Expr", parts: Sequence[SegmentRange]) -> list[bool]:
    for combine in (operator.and_, operator.or_):
        if combine(left, right).meta.eq(condition):
            both = zip(_may_be_true(left, parts), _may_be_true(right, parts), strict=True)
            return [combine(one, other) for one, other in both]
    return _of_offset(condition, left, right, parts)


def _of_constants(condition: "pl.Expr", names: Sequence[str], parts: Sequence[SegmentRange]) -> list[bool]:
    import polars as pl

    types = {str: pl.String, int: pl.Int64}
    values = {name: [constant_of(name, part) for part in parts] for name in names}
    found = pl.DataFrame(values, schema={name: types[CONSTANTS[name]] for name in names}).select(condition).to_series()
    if found.dtype != pl.Boolean or len(found) != len(parts):
        return [True] * len(parts)
    return [value is True for value in found]


def _of_offset(condition: "pl.Expr", left: "pl.Expr", right: "pl.Expr", parts: Sequence[SegmentRange]) -> list[bool]:
    """The answer of a comparison of the offset with a whole number, on either side."""
    import polars as pl

    column, number = (left, right) if right.meta.is_literal() else (right, left)
    if number.meta.is_literal() and column.meta.eq(pl.col(OFFSET)):
        wanted = pl.select(number).item()
        for compare, mirrored in _MIRRORED.items():
            if compare(left, right).meta.eq(condition) and (wanted is None or type(wanted) is int):
                bounds = bounds_of(compare if column is left else mirrored, wanted)
                return [may_have(part, bounds) for part in parts]
    return [True] * len(parts)
