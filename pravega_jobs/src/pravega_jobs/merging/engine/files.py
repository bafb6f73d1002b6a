"""Merges of a table's files with chunks of changes: the files that are replaced, and the files that replace them.

In memory are one chunk of changes and one file of the table at a time. First the key and `_sequence` of a file are
read; only a file that has a row to change is read whole, and written again. In a table with partitions, rows that
change theirs leave the file, and are written with the new rows of the chunk into files of their partitions.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from aiopravega.errors import LandingError
from pravega_jobs.landing.locations import FolderLocation
from pravega_jobs.landing.splitting import Split
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles, footer_of
from pravega_jobs.merging.engine import rows as of_rows
from pravega_jobs.merging.engine.chunks import CHUNK_BYTES, Chunk, Mask
from pravega_jobs.merging.merges import Counts, Merge
from pravega_jobs.merging.rules import DELETED_COLUMN, SEQUENCE_COLUMN

_KINDS: Final = (pa.types.is_integer, pa.types.is_date32)


class TableFile(Protocol):
    """A file of a table, as the table's format has it."""

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """The least and the greatest value of the key's first column, if the table knows both."""
        ...

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of the rows that the file has for the table."""
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


@dataclass(slots=True)
class Merging:
    """One merge: the table's files as they would be after the chunks until now.

    Args:
        merge: the merge.
        schema: the table's columns; columns that are not nullable must have values.
        folder: the folder of new files; it is made.
        files: the files of the table. The files in `added` replace the files in `removed`.
        split: the partitions of the table; each new file has one of them.
    """

    merge: Merge
    schema: pa.Schema
    folder: Path
    files: Sequence[TableFile]
    split: Split = field(default_factory=lambda: Split(()))
    removed: list[TableFile] = field(default_factory=list)
    added: list[NewFile] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    _moved: list[pa.Table] = field(default_factory=list, init=False)

    def apply_all(self, found: Iterable[Chunk]) -> None:
        """Merge all chunks.

        Raises:
            LandingError: the rows and the changes do not fit together; the message says why.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for chunk in found:
            if len(chunk):
                self._apply(chunk)
        if self.merge.snapshot is not None:
            self._remove_ghosts(self.merge.snapshot)

    def staged(self) -> StagedFiles:
        """The new files."""
        files = tuple(
            StagedFile(each.name, each.path.stat().st_size, footer_of(parquet.read_metadata(each.path)), each.partition)
            for each in self.added
        )
        return StagedFiles(FolderLocation(self.folder), files, files[0].footer if files else b"")

    def _remove_ghosts(self, snapshot: bytes) -> None:
        """Remove rows that are older than the snapshot: the changes have replaced all rows that are in it, or newer."""
        for file in self._now():
            gone = of_rows.older(self._short(file), snapshot, str(self.merge))
            if gone.any():
                self.counts.ghosts += int(gone.sum())
                rows = file.read(self.schema)
                self._replace(file, rows, of_rows.without(rows, gone, self.merge))
        self._write(self._moved_and(self.schema.empty_table()))

    def _apply(self, chunk: Chunk) -> None:
        matched, newer, was_deleted = (np.zeros(len(chunk), bool) for _ in range(3))
        bounds = bounds_of(chunk.values, self.merge)
        for file in self._now():
            if may_have(file, bounds):
                self._apply_to_file(file, chunk, matched, newer, was_deleted)
        of_rows.count(chunk, matched, newer, was_deleted, self.counts)
        self._write(self._moved_and(of_rows.inserted(chunk, matched, self.merge)))

    def _apply_to_file(self, file: "TableFile | NewFile", chunk: Chunk, matched: Mask, newer: Mask, gone: Mask) -> None:
        """Merge a chunk with a file, and mark the changes that matched a row, were newer, or matched a deleted row."""
        short = self._short(file)
        found = of_rows.match(short, chunk, self.merge)
        again = found.changes[matched[found.changes]]
        if len(again):
            raise of_rows.twice(chunk, int(again[0]), self.merge)
        if found.level.any():
            found = of_rows.with_level(file.read(self.schema), chunk, found, self.merge)
        matched[found.changes] = True
        newer[found.changes] = found.newer
        gone[found.changes] = of_rows.deleted_of(short, self.merge)[found.rows]
        if found.newer.any():
            rows = file.read(self.schema)
            self._replace(file, rows, of_rows.replaced(rows, chunk, found, self.merge))

    def _now(self) -> list["TableFile | NewFile"]:
        """The files after the chunks that were merged until now."""
        return [*(each for each in self.files if each not in self.removed), *self.added]

    def _short(self, file: "TableFile | NewFile") -> pa.Table:
        """The key, `_sequence` and the mark of deletes of all rows of a file."""
        own = [*self.merge.rules.key, SEQUENCE_COLUMN, *((DELETED_COLUMN,) if self.merge.rules.keeps_deleted else ())]
        return file.read(pa.schema([self.schema.field(name) for name in own]))

    def _replace(self, file: "TableFile | NewFile", before: pa.Table, rows: pa.Table) -> None:
        """Write the rows that replace the rows of a file; rows of other partitions wait for `_moved_and`."""
        if isinstance(file, NewFile):
            self.added.remove(file)
            file.path.unlink()
        else:
            self.removed.append(file)
        if not rows.num_rows:
            return
        # A file has one partition, unless others have changed the partitions of the table since it was written.
        home, _ = self.split.parts(before.slice(0, 1))[0]
        for key, part in self.split.parts(rows):
            if key == home:
                self._write_file(key, part)
            else:
                self._moved.append(part)
        if sum(each.nbytes for each in self._moved) > CHUNK_BYTES:
            self._write(self._moved_and(self.schema.empty_table()))

    def _moved_and(self, rows: pa.Table) -> pa.Table:
        """The rows that are waiting for a file of their partition, which wait no more, and some rows."""
        moved, self._moved = self._moved, []
        # Rows that were put together may have lost that a column must have a value, which is checked later.
        return pa.concat_tables([pa.table(each.columns, schema=self.schema) for each in (*moved, rows)])

    def _write(self, rows: pa.Table) -> None:
        if rows.num_rows:
            for key, part in self.split.parts(rows):
                self._write_file(key, part)

    def _write_file(self, partition: tuple[Any, ...], rows: pa.Table) -> None:
        for column in self.schema:
            if not column.nullable and rows[column.name].null_count:
                raise LandingError(
                    f"{self.merge}: the table's column {column.name} must have a value, and "
                    f"{rows[column.name].null_count} rows would have none: allow null in the table. Nothing was changed"
                )
        left_out = [each.name for _, each in self.split.left_out(self.schema)]
        values = dict(zip((each.column for each in self.split.fields), partition, strict=True))
        name = f"{self.split.folder(partition)}part-{uuid.uuid4().hex}.parquet"
        file = NewFile(
            self.folder,
            name,
            rows.num_rows,
            bounds_of(rows, self.merge),
            partition,
            {each: values[each] for each in left_out},
        )
        file.path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(rows.drop_columns(left_out).replace_schema_metadata(), file.path, compression="zstd")
        self.added.append(file)


def read_columns(file: parquet.ParquetFile, schema: pa.Schema, constants: Mapping[str, Any]) -> pa.Table:
    """Some columns of a file.

    Args:
        file: the file.
        schema: the columns; those that the file does not have are constant, or null.
        constants: the values of columns that the table has elsewhere, such as partitions.
    """
    names = [name for name in schema.names if name in file.schema_arrow.names and name not in constants]
    rows = file.read(columns=names)
    found = [
        rows[each.name].cast(each.type)
        if each.name in names
        else _constant(constants.get(each.name), each.type, file.metadata.num_rows)
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


def may_have(file: TableFile | NewFile, bounds: tuple[Any, Any] | None) -> bool:
    """True if a file may have a key within bounds of the key's first column, as far as both bounds are known."""
    return file.bounds is None or bounds is None or not (file.bounds[1] < bounds[0] or file.bounds[0] > bounds[1])
