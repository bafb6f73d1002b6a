"""A program that merges one range into a table of PostgreSQL for each line of its input, killed at a step."""

import json
import sys
from functools import partial

from tests.faults.kill_calls import killed_at
from tests.integration.pravega_jobs.landing_job import PostgresLake
from tests.integration.pravega_jobs.merging_job import Change, merge, merge_of

BEFORE: list[Change] = [(1, 10, "a", 1), (2, 20, "b", 2), (3, 30, "c", 3)]
CHANGES: list[Change] = [(1, 11, "x", 11), (2, None, None, 12), (4, 40, "d", 13)]


def main() -> None:
    for line in sys.stdin:
        where, deletes, step = json.loads(line)
        lake = PostgresLake(where)
        work = partial(merge, lake.table(), merge_of(1, deletes), CHANGES)
        print(killed_at(work, lake.calls, step), flush=True)


if __name__ == "__main__":
    main()
