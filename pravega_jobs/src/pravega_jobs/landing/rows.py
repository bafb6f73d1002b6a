"""Rows on their way into a table, and what becomes of them before the table shows them.

`spark_rows` has those of a DataFrame of Spark, `local_rows` those of a table in this process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import StagedFiles

if TYPE_CHECKING:
    import pyarrow as pa


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

    def write_files(self, landing: Landing, folder: Path, own: Mapping[str, str]) -> StagedFiles:
        """Write the rows as Parquet files into a new folder, with more columns of one text each.

        Raises:
            LandingError: they cannot be written as they are.
        """

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Copy the rows into a staging table of PostgreSQL; returns the tries that count.

        Raises:
            LandingError: they cannot be written as they are.
        """
