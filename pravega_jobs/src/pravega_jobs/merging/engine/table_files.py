"""Files of a table, and of a merge that are not in a table yet: their rows, and the bounds of their keys."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from pravega_jobs.merging.merges import Merge

# Bytes of a file's rows that are replaced at once, encoded: in memory they have some times as many.
_PIECE_BYTES: Final = 16 * 1024 * 1024
_LEAST_ROWS: Final = 1024
_KINDS: Final = (pa.types.is_integer, pa.types.is_date32)


class TableFile(Protocol):
    """Rows of a table: a file, as the table's format has it, or all."""

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """The least and the greatest value of the key's first column, if the table knows both."""
        ...

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the rows that the file has for the table."""
        ...


class DataFile(TableFile, Protocol):
    """A file that a merge can replace."""

    def pieces(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The rows that `read` gives, some at a time."""
        ...


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a merge has written, which is not in the table yet.

    Args:
        folder: the folder of all new files.
        name: its name in the folder, maybe with folders.
        rows: the number of rows.
        bounds: of the key's first column, if its values are whole numbers or dates.
        partition: the values of its partition, as `Split.parts` gives them.
        constants: the values of the columns that it does not have.
    """

    folder: Path
    name: str
    rows: int
    bounds: tuple[Any, Any] | None
    partition: tuple[Any, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.name

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the file."""
        return read_columns(parquet.ParquetFile(self.path), schema, self.constants)

    def pieces(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The same rows, some at a time."""
        return pieces_of(parquet.ParquetFile(self.path), schema, self.constants)


def read_columns(file: parquet.ParquetFile, schema: pa.Schema, constants: Mapping[str, Any]) -> pa.Table:
    """Some columns of a file.

    Args:
        file: the file.
        schema: the columns; those that the file does not have are constant, or null.
        constants: the values of columns that the table has elsewhere, such as partitions.
    """
    return _with_constants(file.read(columns=_own(file, schema, constants)), schema, constants)


def pieces_of(
    file: parquet.ParquetFile, schema: pa.Schema, constants: Mapping[str, Any], piece_bytes: int = _PIECE_BYTES
) -> Iterator[pa.Table]:
    """The same as `read_columns`, some rows at a time, of about as many bytes in the file, not compressed."""
    footer = file.metadata
    size = sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
    count = max(piece_bytes * footer.num_rows // max(size, 1), _LEAST_ROWS)
    for batch in file.iter_batches(count, columns=_own(file, schema, constants)):
        yield _with_constants(batch, schema, constants)


def _own(file: parquet.ParquetFile, schema: pa.Schema, constants: Mapping[str, Any]) -> list[str]:
    """The columns that are in the file."""
    return [name for name in schema.names if name in file.schema_arrow.names and name not in constants]


def _with_constants(rows: pa.Table | pa.RecordBatch, schema: pa.Schema, constants: Mapping[str, Any]) -> pa.Table:
    found = [
        rows[each.name].cast(each.type)
        if each.name in rows.schema.names
        else _constant(constants.get(each.name), each.type, rows.num_rows)
        for each in schema
    ]
    return pa.table(found, schema=schema)


def _constant(value: Any, type_: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, type_) if value is None else pa.repeat(pa.scalar(value, type_), count)


def bounds_of(rows: pa.Table, merge: Merge) -> tuple[Any, Any] | None:
    """The least and the greatest value of the key's first column, if its values are whole numbers or dates."""
    column = rows[merge.rules.key[0]]
    if not any(is_kind(column.type) for is_kind in _KINDS):
        return None
    found = pc.min_max(column)
    low, high = found["min"].as_py(), found["max"].as_py()
    return None if low is None or column.null_count else (low, high)


def bounds_in(footer: parquet.FileMetaData, column: pa.Field, constants: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """The same as `bounds_of`, by the footer of a new file.

    Args:
        footer: the footer.
        column: the key's first column.
        constants: the values of columns that the file does not have.
    """
    if not any(is_kind(column.type) for is_kind in _KINDS):
        return None
    if column.name in constants:
        value = constants[column.name]
        return None if value is None else (value, value)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    found = [each.statistics for each in columns if each.path_in_schema == column.name]
    if any(each is None or each.null_count or not each.has_min_max for each in found):
        return None
    return min(each.min for each in found), max(each.max for each in found)


def may_have(file: TableFile | NewFile, bounds: tuple[Any, Any] | None) -> bool:
    """True if a file may have a key within bounds of the key's first column, as far as both bounds are known."""
    return file.bounds is None or bounds is None or not (file.bounds[1] < bounds[0] or file.bounds[0] > bounds[1])
