"""Merges of a table's files with chunks of changes: the files that are replaced, and the files that replace them.

In memory are one chunk of changes, the key and `_sequence` of one file of the table, and some pieces of it of 64 MB.
Only a file that has a row to change is read whole, and written again. In a table with partitions, rows that change
theirs leave the file, and are written with the new rows of the chunk into files of their partitions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError
from pravega_jobs.landing.locations import FolderLocation
from pravega_jobs.landing.parquet_files import write
from pravega_jobs.landing.splitting import Split
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles, footer_of
from pravega_jobs.merging.engine import rows as of_rows
from pravega_jobs.merging.engine.chunks import CHUNK_BYTES, Chunk, Mask
from pravega_jobs.merging.engine.table_files import DataFile, NewFile, bounds_in, bounds_of, may_have
from pravega_jobs.merging.merges import Counts, Merge
from pravega_jobs.merging.rules import DELETED_COLUMN, SEQUENCE_COLUMN

# Rows that the writer of files takes at once: it puts them together until a group has 64 MB.
_BATCH_ROWS: Final = 64 * 1024


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
    files: Sequence[DataFile]
    split: Split = field(default_factory=lambda: Split(()))
    removed: list[DataFile] = field(default_factory=list)
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
                self._replace(
                    file,
                    (
                        (rows, of_rows.without(rows, gone[at : at + rows.num_rows], self.merge))
                        for at, rows in self._pieces(file)
                    ),
                )
        self._write([self._moved_and(self.schema.empty_table())])

    def _apply(self, chunk: Chunk) -> None:
        matched, newer, was_deleted = (np.zeros(len(chunk), bool) for _ in range(3))
        bounds = bounds_of(chunk.values, self.merge)
        for file in self._now():
            if may_have(file, bounds):
                self._apply_to_file(file, chunk, matched, newer, was_deleted)
        of_rows.count(chunk, matched, newer, was_deleted, self.counts)
        self._write([self._moved_and(of_rows.inserted(chunk, matched, self.merge))])

    def _apply_to_file(self, file: "DataFile | NewFile", chunk: Chunk, matched: Mask, newer: Mask, gone: Mask) -> None:
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
            self._replace(
                file,
                (
                    (rows, of_rows.replaced(rows, chunk, found.within(at, rows.num_rows), self.merge))
                    for at, rows in self._pieces(file)
                ),
            )

    def _now(self) -> list["DataFile | NewFile"]:
        """The files after the chunks that were merged until now."""
        return [*(each for each in self.files if each not in self.removed), *self.added]

    def _short(self, file: "DataFile | NewFile") -> pa.Table:
        """The key, `_sequence` and the mark of deletes of all rows of a file."""
        own = [*self.merge.rules.key, SEQUENCE_COLUMN, *((DELETED_COLUMN,) if self.merge.rules.keeps_deleted else ())]
        return file.read(pa.schema([self.schema.field(name) for name in own]))

    def _pieces(self, file: "DataFile | NewFile") -> Iterator[tuple[int, pa.Table]]:
        """The rows of a file, some at a time, with the number of the first one."""
        at = 0
        for rows in file.pieces(self.schema):
            if rows.num_rows:
                yield at, rows
                at += rows.num_rows

    def _replace(self, file: "DataFile | NewFile", pieces: Iterable[tuple[pa.Table, pa.Table]]) -> None:
        """Write the rows that replace the rows of a file; rows of other partitions wait for `_moved_and`.

        Args:
            file: the file.
            pieces: rows of the file, and the rows that replace them.
        """
        self._write(self._staying(pieces))
        if isinstance(file, NewFile):
            self.added.remove(file)
            file.path.unlink()
        else:
            self.removed.append(file)
        if sum(each.nbytes for each in self._moved) > CHUNK_BYTES:
            self._write([self._moved_and(self.schema.empty_table())])

    def _staying(self, pieces: Iterable[tuple[pa.Table, pa.Table]]) -> Iterator[pa.Table]:
        """The rows that stay in the partition of their file."""
        home: tuple[Any, ...] | None = None
        for before, after in pieces:
            if home is None:
                # A file has one partition, unless others have changed the partitions of the table since it was written.
                home = self.split.parts(before.slice(0, 1))[0][0]
            for key, part in self.split.parts(after) if after.num_rows else ():
                if key == home:
                    yield part
                else:
                    self._moved.append(part)

    def _moved_and(self, rows: pa.Table) -> pa.Table:
        """The rows that are waiting for a file of their partition, which wait no more, and some rows."""
        moved, self._moved = self._moved, []
        # Rows that were put together may have lost that a column must have a value, which is checked later.
        return pa.concat_tables([pa.table(each.columns, schema=self.schema) for each in (*moved, rows)])

    def _write(self, tables: Iterable[pa.Table]) -> None:
        """Write rows into new files, while the next are read."""
        batches = (batch for rows in tables for batch in self._checked(rows).to_batches(_BATCH_ROWS))
        split = self.split if self.split.fields else None
        for file in write(batches, self.schema, {}, FolderLocation(self.folder), split=split):
            left_out = [each.name for _, each in self.split.left_out(self.schema)]
            values = dict(zip((each.column for each in self.split.fields), file.partition, strict=True))
            constants = {each: values[each] for each in left_out}
            bounds = bounds_in(file.metadata, self.schema.field(self.merge.rules.key[0]), constants)
            self.added.append(NewFile(self.folder, file.name, file.rows, bounds, file.partition, constants))

    def _checked(self, rows: pa.Table) -> pa.Table:
        for column in self.schema:
            if not column.nullable and rows[column.name].null_count:
                raise LandingError(
                    f"{self.merge}: the table's column {column.name} must have a value, and "
                    f"{rows[column.name].null_count} rows would have none: allow null in the table. Nothing was changed"
                )
        return rows
