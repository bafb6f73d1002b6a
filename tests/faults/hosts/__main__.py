"""Kills whole processes of Dagster and Airflow at random: `make host-kills ARGS='--kills 500'`.

It prints its seed, a line for each round, and a table; its status is 1 if an event was lost or doubled, or a run waited
without saying for whom. With `--store`, the rows go into the table of the documentation after each round, beside those
of other seeds.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from example_dags import small_spark
from tests.faults import report
from tests.faults.hosts.flows import SINKS
from tests.faults.hosts.found import Found, Table, lines
from tests.faults.hosts.kills import HOSTS, Kills, drawn, ways_of

from pravega_emulator import PravegaEmulator


def main() -> int:
    """Run, print, and keep the folder if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--hosts", nargs="+", choices=HOSTS, default=HOSTS)
    parser.add_argument("--sinks", nargs="+", choices=SINKS, default=SINKS)
    parser.add_argument("--store", action="store_true", help="store the rows, for the table in the documentation")
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    small_spark.use()
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    print(f"seed {given.seed}; all is in {folder} until it is well", flush=True)
    chance = random.Random(given.seed)
    table: Table = {}
    with PravegaEmulator() as server, Kills(server.config, folder) as kills:
        for number, (way, count) in enumerate(drawn(given.kills, ways_of(given.hosts, given.sinks), chance), 1):
            words, found = kills.round(way, count, random.Random(chance.random()))
            print(f"round {number}, {words}", flush=True)
            row = f"{', '.join(way)}, seed {given.seed}"
            table.setdefault(row, Found())
            table[row] += found
            if given.store:
                report.store_kills(table)
    print("\n".join(lines(table)))
    if not all(found.is_right for found in table.values()):
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
