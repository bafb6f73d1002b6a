"""Runs on tables in stores that are killed: one merge or upkeep for each line of the input, each in a fork."""

import json
import sys
from functools import partial
from typing import Any

from tests.faults.kill_calls import killed_at
from tests.integration.pravega_jobs.landing_job import LAKES
from tests.integration.pravega_jobs.merging_job import Change, columns_of, merge, merge_of
from tests.integration.pravega_jobs.upkeep_job import kept_up

CHANGES: list[Change] = [(1, 11, "x", 11), (2, None, None, 12), (4, 40, "d", 13)]


def main(kind: str) -> None:
    """Run what each line says: JSON with the lake, the work, and the step at which it is killed."""
    for line in sys.stdin:
        where, work, step = json.loads(line)
        lake: Any = LAKES[kind](where)
        table = lake.table()
        run = partial(kept_up, table) if work == "upkeep" else partial(merge, table, merge_of(1), columns_of(CHANGES))
        print(killed_at(run, lake.calls | {"compact_optimize"}, step), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
