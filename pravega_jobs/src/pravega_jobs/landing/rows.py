"""Rows on their way into a table.

`spark_rows` has the rows of a DataFrame of Spark, `local_rows` the rows of a table in this process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pravega_jobs.landing.locations import Location
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import StagedFiles

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_jobs.error_rows import Sieve
    from pravega_jobs.landing.splitting import Split


@dataclass(frozen=True, slots=True)
class Copied:
    """The try of a task that copies rows, and how many it has copied."""

    task: str
    rows: int


class Rows(Protocol):
    """Rows on their way into a table: a DataFrame of Spark, or a table in this process."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def types(self) -> dict[str, str]:
        """The columns and their types, as Spark's `simpleString` spells them."""

    def arrow_schema(self) -> "pa.Schema":
        """The columns as Arrow's types."""

    def select(self, types: Mapping[str, str]) -> "Rows":
        """The rows with the columns of these names, in these types, which hold all values of those that they have.

        Args:
            types: as `types` gives them.
        """

    def sifted(self, sieve: "Sieve") -> "Rows":
        """The rows without an error, without that column; the sieve gets the others when these are written.

        Args:
            sieve: gets them once.
        """

    def write_files(
        self, landing: Landing, location: Location, own: Mapping[str, str], split: "Split | None" = None
    ) -> StagedFiles:
        """Write the rows as Parquet files into a new location, with more columns of one text each.

        Args:
            landing: the landing of the rows.
            location: the location of the files; it must not exist yet.
            own: more columns with one text each.
            split: the partitions of the table, which have files of their own; None: it has none.

        Raises:
            LandingError: they cannot be written as they are.
        """

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Copy the rows into a staging table of PostgreSQL; returns the tries that count.

        Raises:
            LandingError: they cannot be written as they are.
        """
