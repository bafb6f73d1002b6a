"""Changes as Spark has reduced or sorted them, read back in chunks that fit into memory, as a table's columns.

There is one change for each key; with a history, all changes of a key. A key is in one of the staged files only, so
each chunk can be merged alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import LandingError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, UNCHANGED
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles
from pravega_jobs.merging.merges import Merge
from pravega_jobs.merging.rules import DELETED_COLUMN, FROM_COLUMN, SEQUENCE_COLUMN, TIME_COLUMNS

Mask = npt.NDArray[np.bool_]
# Bytes of staged rows, not compressed, that are merged at once; a file of Spark's is not divided.
CHUNK_BYTES: Final = 256 * 1024**2
_DELETE: Final = "delete"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some changes: one for each key; with a history, all changes of a key.

    Args:
        values: the changes with the table's columns; null for a value that a change lacks.
        sent: by column, a mask of the changes that have a value of it, null included; all changes have the columns that
            are not named.
        lacking: by column, a mask of the changes that lack a value of it that the row has (TOAST).
        deletes: a mask of the deletes.
    """

    values: pa.Table
    sent: Mapping[str, Mask]
    lacking: Mapping[str, Mask]
    deletes: Mask

    def __len__(self) -> int:
        return len(self.deletes)

    def has(self, name: str) -> Mask:
        """A mask of the changes that have a value of a column."""
        return self.sent.get(name, np.ones(len(self), bool))

    def select(self, numbers: npt.NDArray[np.int64]) -> "Chunk":
        """Some of the changes, in an order."""
        sent, lacking = ({name: rows[numbers] for name, rows in each.items()} for each in (self.sent, self.lacking))
        return Chunk(self.values.take(pa.array(numbers)), sent, lacking, self.deletes[numbers])


def chunks(staged: StagedFiles, schema: pa.Schema, merge: Merge, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The staged changes, some files at once.

    Args:
        staged: rows that `last_changes` gave; `all_changes`, for a history.
        schema: the table's columns.
        merge: the merge.
        size: bytes of rows, not compressed, from which on a chunk is whole.

    Raises:
        LandingError: a change has no key, position or, for a history, time.
    """
    files: list[StagedFile] = []
    weight = 0
    for file in staged.files:
        metadata = file.metadata
        files.append(file)
        weight += sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        if weight >= size:
            yield _chunk(staged, files, schema, merge)
            files, weight = [], 0
    if files:
        yield _chunk(staged, files, schema, merge)


def _chunk(staged: StagedFiles, files: list[StagedFile], schema: pa.Schema, merge: Merge) -> Chunk:
    rows = pa.concat_tables([staged.read(each) for each in files]).combine_chunks()
    times = tuple(TIME_COLUMNS) if merge.rules.keeps_history else ()
    for name in (*merge.rules.key, SEQUENCE_COLUMN, *times):
        if rows[name].null_count:
            raise incomplete(merge, rows[name].null_count, name)
    deletes, lacking = _mask(pc.equal(rows[CHANGE_TYPE], _DELETE)), _lacking(rows)
    always = (*merge.rules.key, SEQUENCE_COLUMN)
    sent, columns = {}, []
    for column in schema:
        if column.name == DELETED_COLUMN and merge.rules.keeps_deleted:
            columns.append(pa.array(deletes))
        elif column.name == FROM_COLUMN and merge.rules.keeps_history:
            columns.append(rows[times[0]].cast(column.type))
        elif column.name in rows.column_names:
            columns.append(rows[column.name].cast(column.type))
            if column.name not in always:
                # A delete has the key; its nulls are not the row's values.
                sent[column.name] = ~deletes & ~lacking.get(column.name, np.zeros_like(deletes))
        else:
            columns.append(pa.nulls(rows.num_rows, column.type))
            sent[column.name] = np.zeros_like(deletes)
    lacking = {name: rows for name, rows in lacking.items() if name in schema.names}
    return Chunk(pa.table(columns, schema=schema), sent, lacking, deletes)


def incomplete(merge: Merge, count: int, name: str) -> LandingError:
    """The error of changes without a value that each change needs."""
    return LandingError(
        f"{merge}: {count} changes have no {name}. Events that could not be decoded (on_error=null, on_error=dead) "
        "have none: leave them out with .where('_corrupt_event is null'), or .where('_error is null'). Check the "
        "key, too. Nothing was changed"
    )


def _lacking(rows: pa.Table) -> dict[str, Mask]:
    """By column, a mask of the changes that lack a value of it that the row has (TOAST)."""
    if UNCHANGED not in rows.column_names or not rows.num_rows:
        return {}
    lists = rows[UNCHANGED].combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    owners, names = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists)
    found = {}
    for name in pc.unique(names).to_pylist():
        found[name] = np.zeros(rows.num_rows, bool)
        found[name][owners[_mask(pc.equal(names, name))]] = True
    return found


def _mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    found: Mask = np.asarray(values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values, bool)
    return found
