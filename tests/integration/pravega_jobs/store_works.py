"""Works on tables in stores, with what a table has before and after each, as Polars reads it.

Run as a program, it does a work for each line of its input, each time in a fork that waits to be watched.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from tests.integration.pravega_jobs.landing_job import LAKES, landing, rows
from tests.integration.pravega_jobs.merging_job import Change, columns_of, merge, merge_of
from tests.integration.pravega_jobs.store_job import CHANGES
from tests.integration.pravega_jobs.upkeep_job import kept_up

from pravega_jobs.landing import DeltaFolder

_FIRST: list[Change] = [(1, 10, "a", 1), (2, 20, "b", 2), (3, 30, None, 3)]
Found = list[tuple[Any, ...]]
Ask = Callable[[str, str, Sequence[str]], Found]


def land(name: str, value: int, generation: int = 1) -> Callable[[Any, Any], Any]:
    return lambda lake, table: lake.land(table, landing(name, generation=generation), value)


def merged(number: int, changes: list[Change]) -> Callable[[Any, Any], Any]:
    return lambda _, table: merge(table, merge_of(number), columns_of(changes))


@dataclass(frozen=True)
class Work:
    """A work, what comes before it, and the rows without it and with it.

    Args:
        first: works that make the table.
        run: the work.
        before: the rows without it.
        after: the rows with it.
        columns: the columns of the rows.
        held: the holdings that the table has afterwards.
    """

    first: tuple[Callable[[Any, Any], Any], ...]
    run: Callable[[Any, Any], Any]
    before: Found
    after: Found
    columns: tuple[str, str] = ("_interval", "id")
    held: int = 2

    def prepare(self, lake: Any) -> Any:
        """The table as it is before the work."""
        table = lake.table()
        for each in self.first:
            each(lake, table)
        return table

    def read_by(self, ask: Ask, table: Any) -> Found:
        """The rows as a reader finds them that is asked with a function of DuckDB, an address and columns."""
        if isinstance(table, DeltaFolder):
            function, address = "delta_scan", None if table.stored.table() is None else table.path
        else:
            loaded = table.table()
            function, address = "iceberg_scan", None if loaded is None else loaded.metadata_location
        return [] if address is None else ask(function, address, self.columns)

    def judged(self, table: Any) -> Found:
        """The rows as Polars reads them; none, if there is no table."""
        if isinstance(table, DeltaFolder):
            found = None if table.stored.table() is None else pl.scan_delta(table.path)
        else:
            loaded = table.table()
            found = None if loaded is None else pl.scan_iceberg(loaded)
        if found is None or not set(self.columns) <= set(found.collect_schema().names()):
            return []
        return sorted((each[0], each[1] or 0) for each in found.select(self.columns).collect().rows())


_THREE = sorted([row for day in range(3) for row in rows(f"day {day}", day)])
WORKS: dict[str, Work] = {
    "first": Work((), land("monday", 2), [], rows("monday", 2), held=1),
    "append": Work(
        (land("sunday", 9),), land("monday", 2), rows("sunday", 9), sorted(rows("monday", 2) + rows("sunday", 9))
    ),
    "replace": Work(
        (land("sunday", 9), land("monday", 1)),
        land("monday", 2, 2),
        sorted(rows("monday", 1) + rows("sunday", 9)),
        sorted(rows("monday", 2) + rows("sunday", 9)),
    ),
    "merge": Work(
        (merged(0, _FIRST),), merged(1, CHANGES), [(1, 10), (2, 20), (3, 30)], [(1, 11), (3, 30), (4, 40)], ("id", "n")
    ),
    "upkeep": Work(
        tuple(land(f"day {day}", day) for day in range(3)), lambda _, table: kept_up(table), _THREE, _THREE, held=3
    ),
}


def main(kind: str) -> None:
    """Do what each line says: JSON with the lake and the work. The fork's id is printed, and it waits for a line."""
    for line in sys.stdin:
        where, name = json.loads(line)
        lake: Any = LAKES[kind](where)
        child = os.fork()
        if child == 0:
            _run(WORKS[name], lake)
        print(child, flush=True)
        status = os.waitpid(child, 0)[1]
        print("killed" if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)


def _run(work: Work, lake: Any) -> None:
    try:
        sys.stdin.readline()
        work.run(lake, lake.table())
    except BaseException:  # noqa: BLE001  the fork must end here, whatever it was
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
