"""Versions of some keys in the files of a table with a history: the current one, and the newest one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import LandingError
from pravega_jobs.merging.engine.rows import check_kind, joined
from pravega_jobs.merging.engine.versions import NONE, KnownVersions, Numbers
from pravega_jobs.merging.merges import Merge
from pravega_jobs.merging.rules import CURRENT_COLUMN, END_COLUMN, FROM_COLUMN, SEQUENCE_COLUMN, TO_COLUMN

if TYPE_CHECKING:
    from pravega_jobs.merging.engine.table_files import NewFile, TableFile

_KEY: Final = "number of the key"
_FILE: Final = "number of the file"
_ROW: Final = "row of the file"
_POSITION: Final = "position"
_TIME: Final = "time"
_EVER: Final = np.iinfo(np.int64).min
_FOUND: Final = pa.schema(
    [
        (_KEY, pa.int64()),
        (_FILE, pa.int64()),
        (_ROW, pa.int64()),
        (_POSITION, pa.binary()),
        (_TIME, pa.int64()),
        (CURRENT_COLUMN, pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class HeldVersions:
    """Versions that a table has of some keys, which are numbered.

    Args:
        newest: by key, the position of the change that opened or closed its newest version; null: there is none.
        since: by key, the latest time of its versions, in microseconds since 1970; the least number, if it has none.
        file_of: by key, the number of the file that has its current version, or -1.
        row_of: by key, the row in that file.
    """

    newest: pa.Array
    since: Numbers
    file_of: Numbers
    row_of: Numbers

    def load(self, files: "Sequence[TableFile | NewFile]", keys: Numbers, schema: pa.Schema) -> KnownVersions:
        """The current versions of some keys, each named once."""
        rows, row_of, count = [schema.empty_table()], np.full(len(self.file_of), NONE), 0
        for number in np.unique(self.file_of[keys]):
            if number != NONE:
                here = keys[self.file_of[keys] == number]
                rows.append(files[number].read(schema).take(pa.array(self.row_of[here])))
                row_of[here] = np.arange(count, count + len(here))
                count += len(here)
        return KnownVersions(pa.concat_tables(rows), row_of, self.since)


def find_versions(
    files: Iterable[tuple[int, pa.Table]], keys: pa.Table, lengths: pa.Array, merge: Merge
) -> HeldVersions:
    """Find the versions that files have of some keys.

    Args:
        files: the number of each file, and the key and the columns of a history of all its rows.
        keys: the keys, each once.
        lengths: by key, the length of the positions of its changes.
        merge: the merge.

    Raises:
        LandingError: a key has two current versions, or its positions are of another kind than the changes'.
    """
    numbered = keys.append_column(_KEY, pa.array(np.arange(keys.num_rows)))
    found = [_FOUND.empty_table()]
    for number, rows in files:
        versions = _found(number, rows, numbered, merge)
        check_kind(versions[_POSITION], lengths.take(versions[_KEY].combine_chunks()), str(merge))
        # The current version is the newest one, but in a table of one's own both may be null.
        found += [
            versions.filter(versions[CURRENT_COLUMN]),
            _newest(versions.filter(pc.invert(versions[CURRENT_COLUMN]))),
        ]
    all_found = pa.concat_tables(found)
    current, newest = all_found.filter(all_found[CURRENT_COLUMN]), _newest(all_found)
    owners, times = np.unique(current[_KEY].to_numpy(), return_counts=True)
    if (times > 1).any():
        row = keys.slice(int(owners[times > 1][0]), 1).to_pylist()[0]
        raise LandingError(
            f"{merge}: the table has two current versions of the key {row}: close or remove one. Nothing was changed"
        )
    since, file_of, row_of, of_key = (np.full(keys.num_rows, each) for each in (_EVER, NONE, NONE, NONE))
    since[newest[_KEY].to_numpy()] = pc.fill_null(newest[_TIME], int(_EVER)).to_numpy()
    file_of[current[_KEY].to_numpy()] = current[_FILE].to_numpy()
    row_of[current[_KEY].to_numpy()] = current[_ROW].to_numpy()
    of_key[newest[_KEY].to_numpy()] = np.arange(newest.num_rows)
    positions = newest[_POSITION].combine_chunks().take(pa.array(of_key, mask=of_key == NONE))
    return HeldVersions(positions, since, file_of, row_of)


def _found(number: int, rows: pa.Table, keys: pa.Table, merge: Merge) -> pa.Table:
    """The versions of some keys in a file."""
    position = pc.coalesce(rows[END_COLUMN], rows[SEQUENCE_COLUMN])
    time = pc.coalesce(rows[TO_COLUMN], rows[FROM_COLUMN]).cast(pa.int64())
    current = pc.fill_null(rows[CURRENT_COLUMN], fill_value=True)
    right = rows.select(list(merge.rules.key))
    right = right.append_column(_ROW, pa.array(np.arange(rows.num_rows))).append_column(_POSITION, position)
    right = right.append_column(_TIME, time).append_column(CURRENT_COLUMN, current)
    pairs = joined(keys, right, merge)
    return pairs.append_column(_FILE, pa.array(np.full(pairs.num_rows, number))).select(_FOUND.names).cast(_FOUND)


def _newest(found: pa.Table) -> pa.Table:
    """The version with the greatest position of each key; a current one, if there are some."""
    order = [(_KEY, "ascending"), (_POSITION, "ascending"), (CURRENT_COLUMN, "ascending")]
    # Positions that are null come before all others.
    filled = pc.fill_null(found[_POSITION], b"")
    shown = found.set_column(found.column_names.index(_POSITION), _POSITION, filled)
    in_order = found.take(pc.sort_indices(shown, sort_keys=order))
    keys = in_order[_KEY].to_numpy()
    return in_order.filter(pa.array(np.append(keys[1:] != keys[:-1], np.ones(min(1, len(keys)), bool))))
