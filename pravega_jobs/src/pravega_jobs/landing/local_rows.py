"""Rows of a landing that this process has, and writes: a table of Arrow, pandas or Polars, or record batches.

Their types become those that Spark would have, so that one table takes ranges from both.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from aiopravega.schema.arrow.sql_columns import sql_type
from pravega_jobs.landing.column_types import cast_batch, table_type
from pravega_jobs.landing.locations import Location
from pravega_jobs.landing.parquet_files import stage, with_own, write
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import Copied, StagedFiles
from pravega_jobs.tables import batches_of

# Bytes of a file after which the next one begins.
_FILE_BYTES: Final = 256 * 1024 * 1024


class LocalRows:
    """The rows of a table in this process, batch by batch; they can be read once.

    Args:
        value: a value that `pravega_jobs.tables.check_table` has accepted. A LazyFrame is collected.

    Raises:
        LandingError: a column is of a type that tables do not have.
    """

    def __init__(self, value: Any) -> None:
        self._reader = batches_of(value)
        self._schema = pa.schema([(field.name, table_type(field.name, field.type)) for field in self._reader.schema])

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._schema.names)

    def types(self) -> dict[str, str]:
        """The columns and their types, as Spark's `simpleString` spells them."""
        return {field.name: sql_type(field.type) for field in self._schema}

    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow's types."""
        return self._schema

    def write_files(self, landing: Landing, location: Location, own: Mapping[str, str]) -> StagedFiles:
        """Write the rows into a new location, 64 MB of them in memory at a time.

        Args:
            landing: the landing of the rows.
            location: the location of the files; it must not exist yet.
            own: more columns with one text each.

        Raises:
            LandingError: a value does not fit the type of its column.
        """
        schema = with_own(self._schema, own)
        return stage(landing, location, schema, lambda tries: write(self._batches(), schema, own, tries, _FILE_BYTES))

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Copy the rows into a staging table of PostgreSQL, in one transaction."""
        return (copy_batches(self._batches(), dsn, staging, tuple(self.names)),)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return (cast_batch(batch, self._schema) for batch in self._reader if batch.num_rows)
