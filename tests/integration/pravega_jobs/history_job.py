"""Merges into tables of Delta and Iceberg that keep every version of a row, as Spark and a driver make them.

Run as a program, it merges ranges into a table until they are all there, and may be killed at any moment.
"""

import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from tests.integration.pravega_jobs.landing_job import new_table
from tests.integration.pravega_jobs.merging_job import Change, columns_of, merge, merge_of

from pravega_jobs.landing import DeltaFolder, Iceberg
from pravega_jobs.merging import Merge, Merged

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
# n, big, position of what opened it, position of what closed it
Version = tuple[int | None, str | None, int, int | None]


def history_of(number: int, **rules: Any) -> Merge:
    """The merge of a range with a history."""
    return merge_of(number, history="scd2", **rules)


def staged(changes: Sequence[Change]) -> pa.Table:
    """Changes as Spark stages them for a history; each was committed in the second of its position."""
    rows = columns_of(sorted(changes, key=lambda each: (each[0], each[3])))
    times = [EPOCH + timedelta(seconds=int.from_bytes(each, "big")) for each in rows["_sequence"].to_pylist()]
    return rows.append_column("_source_ts", pa.array(times, pa.timestamp("us", "UTC")))


def keep(table: DeltaFolder | Iceberg, number: int, changes: Sequence[Change], **rules: Any) -> Merged:
    """Merge changes into a table with a history."""
    return merge(table, history_of(number, **rules), staged(changes))


def found_in(table: DeltaFolder | Iceberg) -> list[dict[str, Any]]:
    """What any reader finds."""
    if isinstance(table, DeltaFolder):
        return list(DeltaTable(table.path).to_pyarrow_table().to_pylist())
    return list(table.load().scan().to_arrow().to_pylist())


def versions_of(table: DeltaFolder | Iceberg) -> dict[int, list[Version]]:
    """The versions of each row, in their order; one whose times are not those of its changes fails."""
    found: dict[int, list[Version]] = {}
    for row in sorted(found_in(table), key=lambda each: each["_sequence"]):
        at, end = (row[name] and int.from_bytes(row[name], "big") for name in ("_sequence", "_end_sequence"))
        assert row["_valid_from"] == EPOCH + timedelta(seconds=at)
        assert row["_valid_to"] == (None if end is None else EPOCH + timedelta(seconds=end))
        assert row["_current"] == (end is None)
        found.setdefault(row["id"], []).append((row["n"], row["big"], at, end))
    return found


def replayed(changes: Sequence[Change]) -> dict[int, list[Version]]:
    """The same, by changes in the order of the database, each once."""
    found: dict[int, list[Version]] = {}
    for id_, n, big, at in changes:
        known = found.get(id_, [])
        old = known[-1] if known and known[-1][3] is None else None
        new = None if n is None else (n, old[1] if big is ... and old else big)
        if new == (old and old[:2]):
            continue
        if old:
            known[-1] = (*old[:3], at)
        if new:
            found.setdefault(id_, []).append((*new, at, None))
    return found


def random_changes(number: int, seed: int) -> list[Change]:
    """The changes of a range, several of some keys."""
    choose = random.Random(seed * 1000 + number)
    found: list[Change] = []
    for each in range(60):
        n = None if choose.random() < 0.25 else choose.randrange(3)
        found.append((choose.randrange(25), n, choose.choice(["a", "b", None]), number * 100 + each))
    return found


def main(kind: str, folder: str, ranges: int) -> None:
    table = new_table(kind, Path(folder), make=False)
    for number in range(ranges):
        keep(table, number, random_changes(number, 1))
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
