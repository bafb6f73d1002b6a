"""Rows of a landing that this process has, and writes: a table of Arrow, pandas or Polars, or record batches.

Their types become those that Spark would have, so that one table takes ranges from both.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from aiopravega.errors import LandingError
from aiopravega.schema.arrow.sql_columns import columns_of, sql_type
from pravega_jobs.error_rows import Sieve
from pravega_jobs.landing.column_types import cast_batch, table_type
from pravega_jobs.landing.growth import TableColumns
from pravega_jobs.landing.locations import Location
from pravega_jobs.landing.parquet_files import stage, with_own, write
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.row_fit import RowFit, fitting_types
from pravega_jobs.landing.rows import Copied
from pravega_jobs.landing.rules import OWN_COLUMNS, Landing
from pravega_jobs.landing.splitting import Split
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles
from pravega_jobs.refusals import Refusals
from pravega_jobs.tables import batches_of

# Bytes of a file after which the next one begins.
_FILE_BYTES: Final = 256 * 1024 * 1024


class LocalRows:
    """The rows of a table in this process, batch by batch; they can be read once.

    Args:
        value: a value that `pravega_jobs.tables.check_table` has accepted. A LazyFrame is collected.
        columns: the columns that the rows get; by default all of the value's, in types that tables have.

    Raises:
        LandingError: a column is of a type that tables do not have.
    """

    def __init__(self, value: Any, columns: pa.Schema | None = None) -> None:
        self._reader = batches_of(value)
        self._schema = columns or pa.schema(
            [(field.name, table_type(field.name, field.type)) for field in self._reader.schema]
        )

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

    def select(self, types: Mapping[str, str]) -> "LocalRows":
        """The rows with the columns of these names, in these types. These rows must not be read any more."""
        return LocalRows(self._reader, arrow_columns(types, self._schema))

    def sifted(self, sieve: Sieve) -> "LocalRows":
        """The rows without an error, without that column. These rows must not be read any more."""
        columns = sieve.columns(self._reader.schema)
        return LocalRows(pa.RecordBatchReader.from_batches(columns, sieve.sift(self._reader)))

    def fitting(
        self, refusals: Refusals, table: TableColumns | None, landing: Landing, *, refuses_nul: bool
    ) -> "LocalRows":
        """The rows that no check refuses and that fit the table, without the column of their events' pointers.

        Numbers of a wider type than the table's get its type. These rows must not be read any more.

        Args:
            refusals: gets the other rows.
            table: the columns of the table; None: it is new.
            landing: the landing.
            refuses_nul: True if the table does not take texts with the character of code 0.

        Raises:
            ConfigurationError: the column of pointers is missing, or a check is none for the columns.
            LandingError: a column is of a type that tables do not have.
        """
        own = LocalRows(refusals.columns(self._reader.schema).empty_table())
        columns = arrow_columns(fitting_types(own.types(), table, landing), own.arrow_schema())
        fit = RowFit(refusals, columns, table, refuses_nul)
        return LocalRows(pa.RecordBatchReader.from_batches(columns, fit.batches(self._reader)))

    def write_files(
        self, landing: Landing, location: Location, own: Mapping[str, str], split: Split | None = None
    ) -> StagedFiles:
        """Write the rows into a new location, 64 MB of them at a time, while the next are read.

        Args:
            landing: the landing of the rows.
            location: the location of the files; it must not exist yet.
            own: more columns with one text each.
            split: the partitions of the table, which have files of their own; None: it has none.

        Raises:
            LandingError: a value does not fit the type of its column.
        """
        schema = with_own(self._schema, own)

        def work(tries: Location) -> Iterator[StagedFile]:
            return write(self.batches(), schema, own, tries, _FILE_BYTES, split)

        return stage(landing, location, schema, work, split)

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Copy the rows into a staging table of PostgreSQL, in one transaction."""
        return (copy_batches(self.batches(), dsn, staging, tuple(self.names)),)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in the types of their columns.

        Raises:
            LandingError: a value does not fit the type of its column.
        """
        names = self._schema.names  # maybe fewer than the value's, and in another order
        return (cast_batch(batch.select(names), self._schema) for batch in self._reader if batch.num_rows)


def arrow_columns(types: Mapping[str, str], known: pa.Schema) -> pa.Schema:
    """Columns with types of Arrow.

    Args:
        types: the types, as Spark's `simpleString` spells them.
        known: columns that are taken as they are if they have these types.

    Raises:
        ConfigurationError: Spark has no such type.
    """
    own = types_of(known)
    return pa.schema(
        [
            known.field(name) if own.get(name) == kind else pa.field(name, columns_of(f"name {kind}")[0].type)
            for name, kind in types.items()
        ]
    )


def with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the columns of a schema, with null in those that it lacks.

    Raises:
        LandingError: a value does not fit the type of its column.
    """
    names = batch.schema.names
    columns = [batch[each.name] if each.name in names else pa.nulls(batch.num_rows, each.type) for each in schema]
    return cast_batch(pa.RecordBatch.from_arrays(columns, schema.names), schema)


def table_columns(schema: pa.Schema, *, widens: bool = False) -> TableColumns:
    """The columns of a table.

    Args:
        schema: the columns, as the library of its format names them.
        widens: True if a column can get a wider type.
    """
    required = frozenset(each.name for each in schema if not each.nullable)
    return TableColumns(types_of(schema), required, widens)


def types_of(schema: pa.Schema) -> dict[str, str]:
    """The types of the columns of a table or a file, without the columns that a landing adds."""
    return {each.name: _text(each) for each in schema if each.name not in OWN_COLUMNS}


def _text(column: pa.Field) -> str:
    try:
        return sql_type(table_type(column.name, column.type))
    except LandingError:
        return str(column.type)  # rows never have it
