"""Changes of some keys, and the current version of each in a table, as versions with a beginning and an end: no I/O.

Versions of a key follow one another by position, never by time. A change with the values of the version before opens no
version. Versions never overlap: a time that goes back is replaced by the time of the version before.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pravega_jobs.merging.engine.chunks import Chunk, Mask
from pravega_jobs.merging.engine.rows import check_unsent, differ
from pravega_jobs.merging.merges import Counts, Merge
from pravega_jobs.merging.rules import (
    CURRENT_COLUMN,
    END_COLUMN,
    FROM_COLUMN,
    HISTORY_COLUMNS,
    SEQUENCE_COLUMN,
    TO_COLUMN,
)

Numbers = npt.NDArray[np.int64]
NONE: Final = -1


@dataclass(frozen=True, slots=True)
class KnownVersions:
    """Current versions that a table has of some keys, which are numbered.

    Args:
        rows: their current versions, with the table's columns.
        row_of: by key, the number of its current version in `rows`, or -1.
        since: by key, the latest time of its versions, in microseconds since 1970; the least number, if it has no
            version.
    """

    rows: pa.Table
    row_of: Numbers
    since: Numbers


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions after some changes.

    Args:
        ended: the keys whose version in `KnownVersions.rows` is not current any more.
        closed: these versions as they are now, and versions that the changes opened and closed.
        current: new versions that no change has closed.
        keys: by row of `current`, its key.
    """

    ended: Numbers
    closed: pa.Table
    current: pa.Table
    keys: Numbers


def versions(chunk: Chunk, keys: Numbers, known: KnownVersions, merge: Merge, counts: Counts) -> Versions:
    """The versions that changes make.

    Args:
        chunk: the changes by key and position, none twice, and none that the table has.
        keys: the number of the key of each change.
        known: the versions that the table has of these keys.
        merge: the merge.
        counts: the counts to add to.

    Raises:
        LandingError: a value was not sent, and no version before has it either.
    """
    first, base = _first(keys), known.row_of[keys]
    after_delete = np.concatenate(([False], chunk.deletes[:-1]))
    follows = np.where(first, base != NONE, ~after_delete)  # there is a version that is current until the change
    values = _filled(chunk, first | after_delete, np.where(first, base, NONE), known, merge)
    differs = np.zeros(len(chunk), bool)
    compared = np.flatnonzero(follows & ~chunk.deletes)
    before = np.where(first, base, known.rows.num_rows + np.arange(len(chunk)) - 1)[compared]
    for name in _own(values, merge):
        differs[compared] |= differ(values[name].take(compared), _joined(known.rows, values, name).take(before))
    opens, closes = ~chunk.deletes & (~follows | differs), chunk.deletes & follows
    counts.inserted += int((opens & ~follows).sum())
    counts.updated += int((opens & follows).sum())
    counts.same += int((~chunk.deletes & ~opens).sum())
    counts.deleted += int(closes.sum())
    counts.absent += int((chunk.deletes & ~follows).sum())
    return _made(values, keys, known, opens, opens | closes)


def _made(values: pa.Table, keys: Numbers, known: KnownVersions, opens: Mask, acts: Mask) -> Versions:
    """The versions of changes: `opens` marks changes that open one, `acts` these and changes that only end one."""
    acting = np.flatnonzero(acts)
    times = pa.array(_not_back(values[FROM_COLUMN], keys, known.since, acts), values.schema.field(FROM_COLUMN).type)
    # The next change that acts on the same key ends the version.
    same_key = np.append(keys[acting][1:] == keys[acting][:-1], False)[: len(acting)]
    end = np.where(same_key, np.append(acting[1:], NONE)[: len(acting)], NONE)
    opening = opens[acting]
    opened, end = acting[opening], end[opening]
    rows = _marked(values.take(opened), values, times, end).set_column(
        values.column_names.index(FROM_COLUMN), values.schema.field(FROM_COLUMN), times.take(pa.array(opened))
    )
    ending = acting[_first(keys[acting])]
    ending = ending[known.row_of[keys[ending]] != NONE]
    is_current = end == NONE
    closed = pa.concat_tables(
        [
            _marked(known.rows.take(known.row_of[keys[ending]]), values, times, ending),
            rows.filter(pa.array(~is_current)),
        ]
    )
    return Versions(keys[ending], closed, rows.filter(pa.array(is_current)), keys[opened[is_current]])


def _marked(rows: pa.Table, values: pa.Table, times: pa.Array, end: Numbers) -> pa.Table:
    """Versions, with the number of the change that has ended each, or -1."""
    by = pa.array(end, mask=end == NONE)
    marks = {
        TO_COLUMN: times.take(by),
        CURRENT_COLUMN: pa.array(end == NONE),
        END_COLUMN: values[SEQUENCE_COLUMN].take(by),
    }
    for name, column in marks.items():
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), column)
    return rows


def _filled(chunk: Chunk, starts: Mask, base: Numbers, known: KnownVersions, merge: Merge) -> pa.Table:
    """The changes with all values: a value that was not sent comes from the version before, if there is one.

    Args:
        chunk: the changes.
        starts: a mask of the changes that follow no other change: the first of a key, and the first after a delete.
        base: for the first change of a key, the number of the current version before it; -1 for other changes.
        known: the versions that the table has.
        merge: the merge.
    """
    numbers = np.arange(len(chunk))
    start = np.maximum.accumulate(np.where(starts, numbers, 0))
    columns, unsent = [], {}
    for name in chunk.values.column_names:
        latest = np.maximum.accumulate(np.where(chunk.has(name), numbers, NONE))
        source = np.where(latest >= start, known.rows.num_rows + latest, base[start])
        found = source == NONE
        columns.append(_joined(known.rows, chunk.values, name).take(pa.array(source, mask=found)))
        unsent[name] = found & chunk.lacking.get(name, np.zeros(len(chunk), bool)) & ~chunk.deletes
    check_unsent(unsent, merge)
    return pa.table(columns, schema=chunk.values.schema)


def _joined(known: pa.Table, changes: pa.Table, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([*known[name].chunks, *changes[name].chunks], type=changes.schema.field(name).type)


def _own(values: pa.Table, merge: Merge) -> list[str]:
    """The columns whose values make a version."""
    return [
        name
        for name in values.column_names
        if name not in merge.rules.key and name not in (SEQUENCE_COLUMN, *HISTORY_COLUMNS)
    ]


def _first(keys: Numbers) -> Mask:
    """A mask of the changes that are the first of their key."""
    return np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]))


def _not_back(times: pa.ChunkedArray, keys: Numbers, since: Numbers, acts: Mask) -> Numbers:
    """The time of each change that acts, never before the time of an earlier change of the same key."""
    found = times.cast(pa.int64()).to_numpy()
    known, ranks = np.unique(np.concatenate((found, since[keys])), return_inverse=True)
    own, earlier = ranks[: len(found)], ranks[len(found) :]
    # The greatest until now, within each key: all ranks of later keys are greater than all ranks of earlier keys.
    first_of = keys * len(known)
    greatest = np.maximum.accumulate(first_of + np.maximum(np.where(acts, own, 0), earlier)) - first_of
    latest: Numbers = known[greatest]
    return latest
