"""Rows that a table does not take: they are found one by one, and their events become errors of the landing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pravega_jobs.landing.growth import TableColumns, is_wider
from pravega_jobs.landing.rules import Evolution, Landing
from pravega_jobs.refusals import Refusals

# Binary fractions have no narrower type: most values would lose digits.
_KEPT: Final = "double"
_NUL: Final = "\0"


@dataclass(frozen=True, slots=True)
class RowFit:
    """Takes rows out of a landing that a check refuses, or that do not fit the table.

    Args:
        refusals: checks rows, and makes errors of the events of those that are refused.
        columns: the columns that the rows get.
        table: the columns of the table; None: there is none, and it gets the columns of the rows.
        refuses_nul: True if the table does not take texts with the character of code 0.
    """

    refusals: Refusals
    columns: pa.Schema
    table: TableColumns | None
    refuses_nul: bool

    def batches(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that the table takes, in their new columns.

        Raises:
            ConfigurationError: a row that is refused is not one of one event.
            PravegaError: the event of a row cannot be fetched.
            LandingError: there are too many bytes of errors.
        """
        for batch in rows:
            for part, pointers in self.refusals.checked(batch):
                yield from self._taken(part, pointers)
        self.refusals.finish()

    def _taken(self, rows: pa.RecordBatch, pointers: pa.StringArray) -> Iterator[pa.RecordBatch]:
        """The rows that fit; the events of the others are refused, each for the first column that does not fit."""
        reasons: dict[int, str] = {}
        for column, field in zip(rows.columns, self.columns, strict=True):
            for row, reason in self._misfits(column, field):
                reasons.setdefault(row, reason)
        for row in sorted(reasons):
            self.refusals.refuse(pointers[row].as_py(), f"does not fit the table: {reasons[row]}")
        if reasons:
            fits = np.ones(rows.num_rows, np.bool_)
            fits[list(reasons)] = False
            rows, pointers = rows.filter(pa.array(fits)), pointers.filter(pa.array(fits))
        if rows.num_rows:
            self.refusals.taken(pointers)
            yield pa.RecordBatch.from_arrays(
                [column.cast(field.type) for column, field in zip(rows.columns, self.columns, strict=True)],
                schema=self.columns,
            )

    def _misfits(self, column: pa.Array, field: pa.Field) -> Iterator[tuple[int, str]]:
        """The rows whose value of a column the table does not take, with the reason."""
        for row, error in _not_held(column, field.type):
            yield row, f"column {field.name!r} is {field.type}, which does not hold the value: {error}"
        if self.table is not None and column.null_count and field.name in self.table.required:
            for row in _numbers(column.is_null()):
                yield row, f"column {field.name!r} must not be null"
        if self.refuses_nul and pa.types.is_string(field.type):
            for row in _numbers(pc.match_substring(column.cast(field.type), _NUL)):
                yield row, f"column {field.name!r} has the character of code 0, which PostgreSQL cannot store"


def _numbers(chosen: pa.BooleanArray) -> list[int]:
    """The rows for which a condition is true."""
    return np.flatnonzero(chosen.fill_null(False).to_numpy(zero_copy_only=False)).tolist()


def _not_held(values: pa.Array, kind: pa.DataType, first: int = 0) -> Iterator[tuple[int, str]]:
    """The values that a type does not hold, by their numbers from `first` on, with the reason.

    Of values that it does not hold, each half is tried by itself.
    """
    try:
        values.cast(kind)
    except pa.ArrowException as error:
        if len(values) == 1:
            yield first, str(error)
            return
        half = len(values) // 2
        yield from _not_held(values[:half], kind, first)
        yield from _not_held(values[half:], kind, first + half)


def fitting_types(types: Mapping[str, str], table: TableColumns | None, landing: Landing) -> dict[str, str]:
    """The types of rows that fit a table one by one: the table's types, where its numbers are narrower.

    Args:
        types: the types of the rows, as Spark's `simpleString` spells them.
        table: the columns of the table; None: there is none.
        landing: the landing; with `new_columns=add` a table whose columns can get wider types gets them.
    """
    grows = table is not None and table.widens and landing.new_columns is Evolution.ADD
    if table is None or grows:
        return dict(types)
    known = table.types
    return {
        name: known[name] if name in known and kind != _KEPT and is_wider(kind, known[name]) else kind
        for name, kind in types.items()
    }
