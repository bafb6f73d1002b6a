"""Errors of landings decoded again: events that can be decoded now become rows of their interval.

An interval keeps the rows that its table has, and gets the rows of its mended errors: both are landed together as its
next generation, with the errors that are left. So the decision is that of any landing, and the stream is not read:
retention may have removed the range.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.landing import IntervalErrors, LandingTable, land
from pravega_jobs.landing.growth import TableColumns, growth
from pravega_jobs.landing.local_rows import LocalRows, arrow_columns, with_columns
from pravega_jobs.landing.rules import Evolution, Holding, Landing
from pravega_jobs.replays.mending import Mended, Mender, Replayed, Rule, reason_of
from pravega_jobs.spark.options import ERROR

_ROWS: Final = 10_000


def holding_of(target: LandingTable, errors: IntervalErrors) -> Holding:
    """The holding whose errors these are.

    Raises:
        LandingError: the table does not hold it any more.
    """
    for each in target.holdings():
        if (each.consumer, each.interval, each.generation) == (errors.consumer, errors.interval, errors.generation):
            return each
    raise LandingError(
        f"generation {errors.generation} of interval {errors.interval!r} of {errors.consumer!r}: another run has "
        f"replaced it in {target.location()} meanwhile. Run it again. Nothing was changed"
    )


@dataclass(frozen=True, slots=True)
class TableReplay:
    """The replay of the errors of one landing that a table holds.

    Args:
        target: the table.
        errors: the errors, which count.
        held: the holding whose errors they are.
        mender: decodes them.
        new_columns: the treatment of columns that the table lacks.
        rule: makes rows of the table from decoded events.
    """

    target: LandingTable
    errors: IntervalErrors
    held: Holding
    mender: Mender
    new_columns: Evolution
    rule: Rule

    def run(self) -> Replayed:
        """Land the interval again, if an event can be decoded now, and its rows fit the table."""
        mended = self.mender.mend(self.errors, self.held.stream)
        if mended.is_empty:
            return self._result(self.held, mended.left(None))
        columns, rows_now, left = self._fitted(mended)
        if mended.mends_nothing(left):
            return self._result(self.held, left)
        rows = pa.RecordBatchReader.from_batches(
            columns.append(pa.field(ERROR, ERROR_TYPE)), self._rows(columns, rows_now, left)
        )
        landed = land(
            rows,
            self.target,
            self.held.range,
            consumer=self.held.consumer,
            interval=self.held.interval,
            generation=self.held.generation + 1,
            new_columns=self.new_columns,
            errors=self.errors.sink,
        )
        return self._result(landed.holding, left)

    def _result(self, held: Holding, left: pa.StructArray) -> Replayed:
        return Replayed(
            held.consumer, held.interval, held.generation, self.errors.landed, len(left), held.rows, reason_of(left)
        )

    def _fitted(self, mended: Mended) -> tuple[pa.Schema, pa.Table, pa.StructArray]:
        """The columns that the table has for old and new rows, the new rows, and the errors that are left.

        Raises:
            LandingError: the columns differ, and the rule or the kind of table does not allow it.
        """
        landing = Landing(self.held.identity, self.held.range, self.held.generation + 1, new_columns=self.new_columns)
        known = self.target.columns()
        if known is None:
            raise LandingError(f"{landing}: {self.target.location()} is gone. Nothing was changed")
        # A database would fill in what rows lack, but the rows are landed with the older ones.
        known = replace(known, takes_values=False)
        rows, refusals = mended.changed(self.rule)
        own = LocalRows(rows)
        if refusals is not None:
            own = own.fitting(refusals, known, landing, refuses_nul=self.target.refuses_nul)
        grown = growth(landing, known, own.types())
        try:
            columns = arrow_columns({**known.types, **grown.widened, **grown.added}, own.arrow_schema())
        except ConfigurationError as error:
            raise LandingError(
                f"{landing}: the table has a column of a type that rows of a replay cannot have: {error}. Land the "
                "interval again from its range. Nothing was changed"
            ) from None
        rows_now = pa.Table.from_batches(own.batches(), own.arrow_schema())
        return columns, rows_now, mended.left(refusals)

    def _rows(self, columns: pa.Schema, mended: pa.Table, still: pa.StructArray) -> Iterator[pa.RecordBatch]:
        """The rows that the table has, the rows of mended errors, and the errors that are left."""
        wanted = columns.append(pa.field(ERROR, ERROR_TYPE))
        known: TableColumns | None = self.target.columns()
        older = pa.schema([each for each in columns if known is not None and each.name in known.types])
        count = 0
        for batch in self.target.read(self.held, older):
            count += batch.num_rows
            yield with_columns(batch, wanted)
        if count != self.held.rows:
            raise LandingError(
                f"generation {self.held.generation} of {self.held.identity}: {self.held.rows} rows of it were landed, "
                f"and {count} are in {self.target.location()}: somebody has deleted, added or restored rows. Land the "
                "interval again from its range, as its next generation. Nothing was changed"
            )
        for batch in mended.to_batches(_ROWS):
            yield with_columns(batch, wanted)
        yield with_columns(pa.RecordBatch.from_arrays([still], [ERROR]), wanted)
