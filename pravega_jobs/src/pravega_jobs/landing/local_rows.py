"""Rows of a landing that this process has, and writes: a table of Arrow, pandas or Polars, or record batches.

Their types become those that Spark would have, so that one table takes ranges from both.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError
from aiopravega.schema.arrow.arrays import list_of
from aiopravega.schema.arrow.sql_columns import columns_of, sql_type
from pravega_jobs.landing.growth import TableColumns
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.rules import OWN_COLUMNS, Landing
from pravega_jobs.landing.staged_files import Copied, StagedFiles
from pravega_jobs.tables import batches_of

# Bytes of Arrow's columns that become a group of rows in a file, and bytes of a file after which the next one begins.
_GROUP_BYTES: Final = 64 * 1024 * 1024
_FILE_BYTES: Final = 256 * 1024 * 1024
_MOST_DIGITS: Final = 38
_SAME: Final = (
    pa.types.is_boolean,
    pa.types.is_signed_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_decimal128,
)
_TEXTS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES: Final = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
_LISTS: Final = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
# Types that tables do not have, and those that hold all of their values.
_WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


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
        known = self.types()
        columns = [
            self._schema.field(name) if known[name] == kind else pa.field(name, columns_of(f"name {kind}")[0].type)
            for name, kind in types.items()
        ]
        return LocalRows(self._reader, pa.schema(columns))

    def write_files(self, landing: Landing, folder: Path, own: Mapping[str, str]) -> StagedFiles:
        """Write the rows into a new folder, 64 MB of them in memory at a time.

        Args:
            landing: the landing of the rows.
            folder: the folder of the files; it must not exist yet.
            own: more columns with one text each.

        Raises:
            LandingError: a value does not fit the type of its column.
        """
        del landing
        folder.mkdir()
        schema = pa.schema([*self._schema, *((name, pa.string()) for name in own)])
        groups = self._groups(own, schema)
        group: pa.Table | None = next(groups, None) or schema.empty_table()
        number = 0
        while group is not None:
            path = folder / f"part-{number:05}.parquet"
            with parquet.ParquetWriter(path, schema, store_schema=False) as writer:
                while group is not None and (path.stat().st_size < _FILE_BYTES):
                    writer.write_table(group, row_group_size=max(group.num_rows, 1))
                    group = next(groups, None)
            number += 1
        return StagedFiles.found_in(folder)

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Copy the rows into a staging table of PostgreSQL, in one transaction."""
        return (copy_batches(self._batches(), dsn, staging, tuple(self.names)),)

    def _groups(self, own: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.Table]:
        """The rows with more columns, as many at a time as a group of rows has."""
        some: list[pa.RecordBatch] = []
        size = 0
        for batch in self._batches():
            constants = [pa.repeat(pa.scalar(text, pa.string()), batch.num_rows) for text in own.values()]
            some.append(pa.RecordBatch.from_arrays([*batch.columns, *constants], schema=schema))
            size += batch.nbytes
            if size >= _GROUP_BYTES:
                yield pa.Table.from_batches(some)
                some, size = [], 0
        if some:
            yield pa.Table.from_batches(some)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._reader:
            if batch.num_rows:
                columns = [_cast(batch.column(field.name), field) for field in self._schema]
                yield pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise LandingError(
            f"column {field.name!r} is {column.type}, and has a value that {field.type}, as tables have it, does not "
            f"hold: {error}. Round or cast it. Nothing was changed"
        ) from None


def table_type(name: str, kind: pa.DataType) -> pa.DataType:
    """The type that tables have for the values of a column.

    Args:
        name: the name of the column, for messages.
        kind: the type of the column.

    Raises:
        LandingError: there is none.
    """
    if any(test(kind) for test in _SAME) or pa.types.is_date32(kind):
        return kind
    if any(test(kind) for test in _TEXTS):
        return pa.string()
    if any(test(kind) for test in _BYTES):
        return pa.binary()
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_dictionary(kind):
        return table_type(name, kind.value_type)
    if any(test(kind) for test in _LISTS):
        return list_of(table_type(name, kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, table_type(name, field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(table_type(name, kind.key_type), table_type(name, kind.item_type))
    if pa.types.is_null(kind):
        raise LandingError(
            f"column {name!r} has no type, as pandas and Polars make it where all values are null or there are no "
            "rows: cast it to the type that the table has. Nothing was changed"
        )
    raise LandingError(
        f"column {name!r} is {kind}, which no kind of table has: cast it, for example to text. Nothing was changed"
    )


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
