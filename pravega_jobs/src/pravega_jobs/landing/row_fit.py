"""Rows that a table does not take: they are found one by one, and their events become errors of the landing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

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
    """

    refusals: Refusals
    columns: pa.Schema
    table: TableColumns | None

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
        """The rows that fit: of rows that do not, each half is tried by itself."""
        made = self._fitted(rows)
        if isinstance(made, pa.RecordBatch):
            self.refusals.taken(pointers)
            yield made
        elif rows.num_rows == 1:
            self.refusals.refuse(pointers[0].as_py(), f"does not fit the table: {made}")
        else:
            half = rows.num_rows // 2
            yield from self._taken(rows.slice(0, half), pointers[:half])
            yield from self._taken(rows.slice(half), pointers[half:])

    def _fitted(self, rows: pa.RecordBatch) -> pa.RecordBatch | str:
        """The rows in the columns of the table; or the reason why one of them does not fit."""
        made: list[pa.Array] = []
        for column, field in zip(rows.columns, self.columns, strict=True):
            try:
                made.append(column.cast(field.type))
            except pa.ArrowException as error:
                return f"column {field.name!r} is {field.type}, which does not hold the value: {error}"
            if self.table is not None and column.null_count and field.name in self.table.required:
                return f"column {field.name!r} must not be null"
            is_text = self.table is not None and self.table.refuses_nul and pa.types.is_string(field.type)
            if is_text and pc.any(pc.match_substring(made[-1], _NUL)).as_py():
                return f"column {field.name!r} has the character of code 0, which PostgreSQL cannot store"
        return pa.RecordBatch.from_arrays(made, schema=self.columns)


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
