"""Merges into tables of Delta, Iceberg and PostgreSQL, as Spark and a driver make them.

Run as a program, it merges ranges into a table until they are all there, and may be killed at any moment.
"""

import random
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg2
import pyarrow as pa
from deltalake import DeltaTable
from psycopg2.extras import RealDictCursor
from pyarrow import parquet
from tests.integration.pravega_jobs.landing_job import STREAM, new_table

from aiopravega import SegmentId, StreamCut, StreamCutRange
from aiopravega.ledger import Interval
from pravega_jobs.landing import DeltaFolder, Iceberg, Landing, Postgres
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.landing.locations import FolderLocation
from pravega_jobs.landing.partition_by import partitions_of
from pravega_jobs.landing.staged_files import StagedFiles
from pravega_jobs.merging import Merge, Merged, MergeRules
from pravega_jobs.merging.engine.delta import DeltaMerges
from pravega_jobs.merging.engine.iceberg import IcebergMerges
from pravega_jobs.merging.engine.postgres import PostgresMerges
from pravega_jobs.merging.merge import merge_changes

# id, n, big (None: null, ...: not sent), position; n None: a delete
Change = tuple[int, int | None, Any, int]
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("n", pa.int64()),
        ("big", pa.string()),
        ("_change_type", pa.string()),
        ("_sequence", pa.binary()),
        ("_unchanged", pa.list_(pa.field("element", pa.string()))),
        ("_op", pa.string()),
    ]
)


# The partitions of tables of some kinds; updates of `big` move rows.
PARTITIONS = {
    "delta-parts": ("big",),
    "delta-s3-parts": ("big",),
    "iceberg-parts": ("bucket(2, id)", "truncate(6, big)"),
}


def merge_of(
    number: int,
    deletes: str = "hard",
    *,
    end: int | None = None,
    snapshot: bytes | None = None,
    partition_by: Sequence[str] = (),
    **rules: Any,
) -> Merge:
    """The merge of a range, of which each lies after the one before."""
    segment = SegmentId(STREAM, 0, 0)
    start, last = (StreamCut(STREAM, {segment: each}) for each in (number * 10, end or number * 10 + 10))
    parts = partitions_of(partition_by)
    landing = Landing(Interval("merger", STREAM, f"range {number}"), StreamCutRange(start, last), partition_by=parts)
    return Merge(landing, MergeRules.of("id", deletes=deletes, **rules), snapshot)


def columns_of(changes: Sequence[Change], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Changes as Spark stages them."""
    rows = [
        {
            "id": id_,
            "n": n,
            "big": None if big is ... else big,
            "_change_type": "delete" if n is None else "update_postimage",
            "_sequence": position.to_bytes(8, "big"),
            "_unchanged": ["big"] if big is ... else [],
            "_op": "d" if n is None else "u",
        }
        for id_, n, big, position in changes
    ]
    return pa.Table.from_pylist(rows, schema)


def merge(
    table: DeltaFolder | Iceberg | Postgres, merge: Merge, changes: Sequence[Change] | pa.Table, in_order: bool = True
) -> Merged:
    """Merge changes that Spark has staged, for tables of files in two files."""
    rows = changes if isinstance(changes, pa.Table) else columns_of(changes)
    if isinstance(table, Postgres):
        with PostgresMerges(table).staged(LocalRows(rows), merge, shared=True) as copied:
            return PostgresMerges(table).commit(copied, merge, in_order=in_order)
    target = DeltaMerges(table) if isinstance(table, DeltaFolder) else IcebergMerges(table)
    with target.staging(rows.schema, merge, shared=True) as location, TemporaryDirectory() as disk:
        folder = location.path if isinstance(location, FolderLocation) else Path(disk) / "staged"
        folder.mkdir()
        half = rows.num_rows // 2
        for number, part in enumerate((rows.slice(0, half), rows.slice(half))):
            parquet.write_table(part, folder / f"part-{number}.parquet")
        staged = StagedFiles.found_in(folder)
        staged = staged if isinstance(location, FolderLocation) else staged.copied_to(location)
        return target.commit(staged, merge, in_order=in_order)


def merge_here(table: DeltaFolder | Iceberg | Postgres, merge: Merge, changes: pa.Table) -> Merged:
    """Merge changes without Spark, of which the newest come first."""
    rows = changes.take(pa.array(reversed(range(changes.num_rows)), pa.int64()))
    return merge_changes(rows, table, merge.landing, merge.rules)


def rows_of(table: DeltaFolder | Iceberg | Postgres, *names: str) -> dict[int, tuple[Any, ...]]:
    """What any reader finds, by id; a row that is there twice fails."""
    if isinstance(table, DeltaFolder):
        found = DeltaTable(table.path).to_pyarrow_table().to_pylist()
    elif isinstance(table, Postgres):
        with closing(psycopg2.connect(table.dsn, cursor_factory=RealDictCursor)) as connection:
            cursor = connection.cursor()
            cursor.execute(f"select * from {table.table}")
            found = [dict(row) for row in cursor.fetchall()]
    else:
        found = table.load().scan().to_arrow().to_pylist()
    rows = {row["id"]: tuple(row[name] for name in names or ("n", "big")) for row in found}
    assert len(rows) == len(found)
    return rows


class Model:
    """A table as it must be: each row with the position of its last change."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int | None, Any, int]] = {}

    def take(self, changes: Sequence[Change]) -> None:
        for id_, n, big, position in changes:
            old = self.rows.get(id_, (None, None, -1))
            if position > old[2]:
                self.rows[id_] = (n, old[1] if big is ... or n is None else big, position)

    def shown(self) -> dict[int, tuple[Any, ...]]:
        return {id_: (n, big) for id_, (n, big, _) in self.rows.items() if n is not None}


def random_range(number: int, seed: int) -> list[Change]:
    """The last change of some keys in a range; keys of 0 to 59. Only rows that were there before lack values."""
    choose = random.Random(seed * 1000 + number)
    found: list[Change] = []
    for id_ in sorted(choose.sample(range(60), 20)):
        n = None if choose.random() < 0.25 else choose.randrange(1000)
        found.append((id_, n, f"text {choose.randrange(9)}" if choose.random() < 0.8 else None, number * 100 + id_))
    return found


def main(kind: str, folder: str, ranges: int) -> None:
    table = new_table(kind, folder, make=False)
    for number in range(ranges):
        merge(table, merge_of(number, partition_by=PARTITIONS.get(kind, ())), random_range(number, 1))
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
