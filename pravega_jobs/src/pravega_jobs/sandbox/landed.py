"""Rows that an interval was landed as in a table, and rows that the code gives now, in the types that tables have."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.error_rows import Sieve
from pravega_jobs.landing import Holding, LandingTable
from pravega_jobs.landing.local_rows import LocalRows, arrow_columns
from pravega_jobs.sandbox.outputs import Keep, Row
from pravega_jobs.sandbox.recorded import RecordedRange
from pravega_jobs.spark.options import ERROR


@dataclass(frozen=True, slots=True)
class LandedRows:
    """The rows of an interval that a table holds."""

    table: LandingTable
    held: Holding

    @classmethod
    def of(cls, of: RecordedRange, table: LandingTable) -> Self:
        """Find what an interval was landed as.

        Raises:
            LandingError: the table does not hold the interval, or another range of it, or its rows are of no interval.
        """
        interval, where = of.interval, table.location()
        mine = (interval.consumer, interval.stream, interval.name)
        held = next((each for each in table.holdings() if (each.consumer, each.stream, each.interval) == mine), None)
        if held is None:
            raise LandingError(f"{where} does not hold {interval}: land it, or name the table that holds it")
        if held.range != of.range:
            raise LandingError(
                f"{where} holds {interval} with another range than the ledger has, from {held.start} to {held.end}: "
                "land it again from its range, as its next generation"
            )
        if table.rows() is None:
            raise LandingError(
                f"{interval} is merged into {where}, whose rows belong to no interval: compare with a stream, or with "
                "a table in which intervals are landed"
            )
        return cls(table, held)

    @property
    def output(self) -> str:
        """The location of the table."""
        return self.table.location()

    @property
    def name(self) -> str:
        """The interval, as the table holds it."""
        return self.held.interval

    @property
    def generation(self) -> int:
        """The generation of the landing."""
        return self.held.generation

    def before(self) -> Iterator[Row]:
        """The rows that the table has.

        Raises:
            LandingError: somebody has added or removed rows since.
        """
        count = 0
        for batch in self.table.read(self.held, self._columns()):
            count += batch.num_rows
            yield from batch.to_pylist()
        if count != self.held.rows:
            raise LandingError(
                f"generation {self.generation} of {self.held.identity}: {self.held.rows} rows of it were landed, and "
                f"{count} are in {self.output}: somebody has deleted, added or restored rows, so this is not what was "
                "written then"
            )

    def now(self, made: Any, keep: Keep | None = None) -> Iterator[Row]:
        """The rows of a table that the code has made, without errors of decoding."""
        del keep  # a landing makes no events
        rows = LocalRows(made)
        if ERROR in rows.names:
            rows = rows.sifted(Sieve())
        for batch in rows.batches():
            yield from batch.to_pylist()

    def _columns(self) -> pa.Schema:
        known = self.table.columns()
        if known is None:
            raise LandingError(f"{self.output} is gone: {self.held.identity} cannot be compared with it")
        try:
            return arrow_columns(known.types, pa.schema([]))
        except ConfigurationError as error:
            raise LandingError(
                f"{self.output} has a column of a type that cannot be compared: {error}. Name a stream by compare_with"
            ) from None
