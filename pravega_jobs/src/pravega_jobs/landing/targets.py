"""The tables that intervals are landed in: what they have in common, and their names as texts."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.parquet import ParquetFolder
from pravega_jobs.landing.postgres import Postgres
from pravega_jobs.landing.rules import Holding, Landed, Landing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


class LandingTable(Protocol):
    """A table that takes the rows of an interval once. What `staged` gives is of the table's own kind."""

    def holdings(self) -> list[Holding]:
        """What the table holds."""
        ...

    def held(self, landing: Landing) -> Holding | None:
        """What the table holds of the interval of a landing."""
        ...

    def rows(self) -> dict[tuple[str, str], int] | None:
        """The rows that are there, by consumer and interval, whatever was noted; None: they are of no interval."""
        ...

    def staged(self, frame: "DataFrame", landing: Landing) -> AbstractContextManager[Any]:
        """Have Spark write the rows where no reader of the table finds them."""
        ...

    def commit(self, staged: Any, landing: Landing) -> Landed:
        """Show the staged rows in the table, unless it has them."""
        ...


def table_of(text: str) -> LandingTable:
    """The table that a text names.

    Args:
        text: `parquet:/folder`, `delta:/folder`, `iceberg:catalog/namespace.table`, or
            `postgresql://user@host/database#schema.table`.

    Raises:
        ConfigurationError: it is none of these.
    """
    kind, _, rest = text.partition(":")
    makers: Mapping[str, Callable[[], LandingTable]] = {
        "parquet": lambda: ParquetFolder(rest),
        "delta": lambda: DeltaFolder(rest),
        "iceberg": lambda: _iceberg(rest),
        "postgresql": lambda: _postgres(text),
        "postgres": lambda: _postgres(text),
    }
    if kind not in makers:
        raise ConfigurationError(
            f"{text!r} is not the name of a table: write parquet:/folder, delta:/folder, "
            "iceberg:catalog/namespace.table, or postgresql://user@host/database#schema.table"
        )
    return makers[kind]()


def _iceberg(text: str) -> Iceberg:
    catalog, slash, identifier = text.partition("/")
    if not slash or not catalog:
        raise ConfigurationError("a table of Iceberg is named with its catalog: iceberg:catalog/namespace.table")
    return Iceberg(identifier, catalog)


def _postgres(text: str) -> Postgres:
    dsn, _, table = text.rpartition("#")
    if not dsn:
        raise ConfigurationError("the address of a database needs the table at its end: postgresql://…/database#table")
    return Postgres(dsn, table)
