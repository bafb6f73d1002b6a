"""Tables of Delta and Iceberg as a judge sees them who knows no table of ours, and upkeeps that are killed.

Run as a program, it keeps a table up once for each line of its input, each time in a fork that is killed at a step.
"""

import json
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable
from tests.faults.kill_calls import killed_at
from tests.integration.pravega_jobs.landing_job import LAKES

from pravega_jobs.landing import DeltaFolder, Iceberg
from pravega_jobs.upkeep import Upkept, keep_up

NOW = timedelta()
# What changes files, waits for a lock, or commits.
CALLS = {"rename", "unlink", "mkdir", "rmdir", "flock", "compact_optimize", "commit"}


def kept_up(table: DeltaFolder | Iceberg, keep: timedelta = NOW, **settings: Any) -> Upkept:
    """Keep a table up without a regard for other readers."""
    return keep_up(table, keep=keep, **settings)


def files_of(table: DeltaFolder | Iceberg) -> set[str]:
    """The files that the table has now."""
    if isinstance(table, DeltaFolder):
        return {each.removeprefix("file://") for each in DeltaTable(table.path).file_uris()}
    return {each.removeprefix("file://") for each in table.load().inspect.files()["file_path"].to_pylist()}


def judged(table: DeltaFolder | Iceberg) -> list[tuple[Any, ...]]:
    """All rows of the table's files, as DuckDB reads them."""
    found = duckdb.sql(f"select * from read_parquet({sorted(files_of(table))}, union_by_name = true) order by all")
    assert found is not None
    return [tuple(sorted(zip(found.columns, map(str, row), strict=True))) for row in found.fetchall()]


def stored(table: DeltaFolder | Iceberg) -> set[str]:
    """The files of rows on the disk, but for those that are staged."""
    folder = Path(table.path if isinstance(table, DeltaFolder) else table.load().location().removeprefix("file://"))
    found = {each for each in folder.rglob("*.parquet") if not {"_landing", "_delta_log"} & set(each.parts)}
    return {str(each) for each in found if not any(part.startswith(".") for part in each.relative_to(folder).parts)}


def main(kind: str) -> None:
    """Keep a table up for each line of the input: JSON with its lake and the step at which the run is killed."""
    for line in sys.stdin:
        where, step = json.loads(line)
        table = LAKES[kind](where).table()
        print(killed_at(partial(kept_up, table, target_file_bytes=100_000), CALLS, step), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
