"""Merges of a table with a history: changes close versions and open new ones, and no version is lost.

In memory are one chunk, the current versions of its keys, and one file of the table at a time. A file with a current
version that ends is written again, with the new one of its key instead of it. Closed versions go into
separate files, which are never written again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pravega_jobs.landing.splitting import Split
from pravega_jobs.merging.engine.chunks import Chunk
from pravega_jobs.merging.engine.files import Merging
from pravega_jobs.merging.engine.held_versions import HeldVersions, find_versions
from pravega_jobs.merging.engine.table_files import DataFile, NewFile, bounds_of, may_have
from pravega_jobs.merging.engine.versions import NONE, Numbers, versions
from pravega_jobs.merging.merges import Merge
from pravega_jobs.merging.rules import HISTORY_COLUMNS, SEQUENCE_COLUMN


def merging_for(
    merge: Merge, schema: pa.Schema, folder: Path, files: Sequence[DataFile], split: Split | None = None
) -> Merging:
    """The merge of a table with a history, or without; its arguments are those that `Merging` takes."""
    kind = HistoryMerging if merge.rules.keeps_history else Merging
    return kind(merge, schema, folder, files, split or Split(()))


@dataclass(slots=True)
class HistoryMerging(Merging):
    """One merge into a table with a history."""

    def _apply(self, chunk: Chunk) -> None:
        chunk, keys = by_key(chunk, self.merge)
        files = self._now()
        firsts = np.unique(keys, return_index=True)[1]
        lengths = pc.binary_length(chunk.values[SEQUENCE_COLUMN].take(pa.array(firsts)).combine_chunks())
        distinct = chunk.values.select(list(self.merge.rules.key)).take(pa.array(firsts))
        found = find_versions(self._short_of(files, chunk), distinct, lengths, self.merge)
        positions, newest = chunk.values[SEQUENCE_COLUMN], found.newest.take(pa.array(keys))
        is_new = np.asarray(pc.fill_null(pc.greater(positions, newest), fill_value=True), bool)
        # A later change at the position of the current version; after a delete it is one that Debezium repeats.
        is_new |= np.asarray(pc.fill_null(pc.equal(positions, newest), fill_value=False), bool) & (
            found.file_of[keys] != NONE
        )
        left = np.flatnonzero(is_new & ~_repeated(chunk, keys))
        self.counts.older += len(chunk) - len(left)
        if len(left):
            self._apply_newer(chunk.select(left), keys[left], found, files)

    def _apply_newer(self, chunk: Chunk, keys: Numbers, found: HeldVersions, files: list[DataFile | NewFile]) -> None:
        known = found.load(files, np.unique(keys), self.schema)
        made = versions(chunk, keys, known, self.merge, self.counts)
        # A new version goes into the file that had the version before of its key.
        file_of_old, file_of_new = found.file_of[made.ended], found.file_of[made.keys]
        for number in np.unique(file_of_old):
            rows = files[number].read(self.schema)
            stay = np.ones(rows.num_rows, bool)
            stay[found.row_of[made.ended[file_of_old == number]]] = False
            new = made.current.filter(pa.array(file_of_new == number))
            self._replace(files[number], [(rows, pa.concat_tables([rows.filter(pa.array(stay)), new]))])
        self._write([self._moved_and(made.current.filter(pa.array(file_of_new == NONE)))])
        self._write([made.closed])

    def _short_of(self, files: list[DataFile | NewFile], chunk: Chunk) -> Iterator[tuple[int, pa.Table]]:
        """The key and the columns of a history of all rows, of the files that may have keys of a chunk."""
        own = (*self.merge.rules.key, SEQUENCE_COLUMN, *HISTORY_COLUMNS)
        schema, bounds = pa.schema([self.schema.field(name) for name in own]), bounds_of(chunk.values, self.merge)
        for number, file in enumerate(files):
            if may_have(file, bounds):
                yield number, file.read(schema)


def by_key(chunk: Chunk, merge: Merge) -> tuple[Chunk, Numbers]:
    """Changes by key and position, and the number of the key of each. At one position a delete is the last."""
    columns = {name: chunk.values[name] for name in (*merge.rules.key, SEQUENCE_COLUMN)}
    table = pa.table(
        [*columns.values(), pa.array(chunk.deletes)], names=[str(each) for each in range(len(columns) + 1)]
    )
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
    chunk = chunk.select(order.to_numpy())
    differs = np.zeros(max(0, len(chunk) - 1), bool)
    for name in merge.rules.key:
        column = chunk.values[name]
        differs |= np.asarray(pc.not_equal(column.slice(1), column.slice(0, len(chunk) - 1)), bool)
    return chunk, np.cumsum(np.concatenate(([False], differs))).astype(np.int64)


def _repeated(chunk: Chunk, keys: Numbers) -> np.ndarray:
    """A mask of the changes that are followed by one of the same key and position: Debezium has written them twice."""
    positions = chunk.values[SEQUENCE_COLUMN]
    same = np.asarray(pc.equal(positions.slice(1), positions.slice(0, len(chunk) - 1)), bool)
    return np.append(same & (keys[1:] == keys[:-1]), False)
