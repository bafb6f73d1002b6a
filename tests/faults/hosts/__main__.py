"""Kills whole processes of Dagster and Airflow at random: `python -m tests.faults.hosts --kills 500`.

It prints its seed, a line for each round, and a table; its status is 1 if an event was lost or doubled, or a run waited
without saying for whom. With `--store`, the table goes into the documentation.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from example_dags import small_spark
from pyiceberg.catalog import load_catalog
from tests.faults.hosts.dagster_host import DagsterHost
from tests.faults.hosts.flows import SINKS, TABLES, Flow
from tests.faults.hosts.host import Host
from tests.faults.hosts.rounds import Found, Lengths, Round, lines
from tests.spark_connect import SparkConnect
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega import PravegaConfig
from pravega_emulator import PravegaEmulator

HOSTS = ("dagster", "airflow")
_KILLS_OF_A_ROUND = (4, 8)
# Rounds with Spark use the one that runs, but one of so many has a JVM of its own, which dies with the run.
_OWN_JVM = 5
# How many kills of 500 each sink gets; the others go to streams without Spark, which are the cheapest.
_SHARE = 0.08


class Field:
    """Servers and hosts, started when they are needed; all that they write is below `folder`."""

    def __init__(self, stack: ExitStack, config: PravegaConfig, folder: Path) -> None:
        self._stack, self.config, self.folder = stack, config, folder
        self._hosts: dict[str, Host] = {}
        self._postgres: Postgres | None = None
        self._spark: SparkConnect | None = None
        self._lake = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/iceberg"}
        for name, value in self._lake.items():
            os.environ[f"PYICEBERG_CATALOG__LAKE__{name.upper()}"] = value
        load_catalog("lake", **self._lake).create_namespace("shop")

    def host(self, name: str) -> Host:
        """A host that runs."""
        if name not in self._hosts:
            folder = self.folder / name
            folder.mkdir()
            if name == "dagster":
                self._hosts[name] = self._stack.enter_context(DagsterHost(folder))
            else:
                from tests.faults.hosts.airflow_host import AirflowHost

                self._hosts[name] = self._stack.enter_context(AirflowHost(folder, self.postgres, self.config))
        return self._hosts[name]

    @property
    def postgres(self) -> Postgres:
        """The database, of tables and of Airflow."""
        if self._postgres is None:
            self._postgres = self._stack.enter_context(Postgres(free_ports(1)[0], self.folder / "postgres.log"))
        return self._postgres

    @property
    def spark(self) -> str:
        """The address of a Spark that outlives the runs."""
        if self._spark is None:
            folder = self.folder / "spark"
            folder.mkdir()
            self._spark = self._stack.enter_context(SparkConnect(folder))
        return self._spark.url

    def flow(self, host: str, sink: str, chance: random.Random) -> Flow:
        """A new flow."""
        name = f"kills{uuid.uuid4().hex[:10]}"
        folder = self.folder / name
        folder.mkdir()
        flow = Flow(host, sink, name, self.config, folder, self._lake)
        if host == "airflow" or not flow.into:
            flow.master = self.spark if chance.randrange(_OWN_JVM) else "local[1]"
        flow.again = host == "airflow" and not chance.randrange(3)
        kind = chance.choice(("delta", "iceberg")) if sink == "merge" else sink
        if kind == "postgres":
            flow.table = f"public.{name}"
            flow.dsn = self.postgres.url("psycopg2").replace("+psycopg2", "")
        elif kind in TABLES:
            flow.table = f"iceberg:lake/shop.{name}" if kind == "iceberg" else f"{kind}:{folder}/table"
        if sink == "merge":
            flow.history = chance.choice(("none", "scd2"))
        return flow


def wanted(kills: int, hosts: list[str], sinks: list[str], chance: random.Random) -> Iterator[tuple[str, str, int]]:
    """The rounds: host, sink and kills of each, in a random order."""
    left = {(host, sink): 0 for host in hosts for sink in sinks if (host, sink) != ("airflow", "two streams")}
    for host, sink in left:
        left[host, sink] = max(1, round(kills * _SHARE / len(hosts)))
    cheap = [each for each in left if each in (("dagster", "stream"), ("dagster", "two streams"))]
    for host, sink in cheap:
        left[host, sink] += max(0, kills - sum(left.values())) // len(cheap)
    if kills > sum(left.values()):
        left[next(iter(left))] += kills - sum(left.values())
    rounds = []
    for (host, sink), count in left.items():
        missing = count
        while missing > 0:
            some = min(missing, chance.randint(*_KILLS_OF_A_ROUND))
            rounds.append((host, sink, some))
            missing -= some
    yield from chance.sample(rounds, len(rounds))


def kill_at_random(
    field: Field, kills: int, seed: int, hosts: list[str], sinks: list[str]
) -> dict[tuple[str, str], Found]:
    """Play rounds until so many runs were to be killed."""
    chance = random.Random(seed)
    table: dict[tuple[str, str], Found] = {}
    lengths = Lengths()
    for number, (host, sink, some) in enumerate(wanted(kills, hosts, sinks, chance), 1):
        own = random.Random(chance.random())
        found = table.setdefault((host, sink), Found())
        flow = field.flow(host, sink, own)
        said = Round(field.host(host), flow, lengths, found, own).play(some)
        print(f"round {number}, {host}, {flow.words}: {said}", flush=True)
    return table


def main() -> int:
    """Run, print, and keep the folder if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--hosts", nargs="+", choices=HOSTS, default=list(HOSTS))
    parser.add_argument("--sinks", nargs="+", choices=SINKS, default=list(SINKS))
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    small_spark.use()
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    print(f"seed {given.seed}; all is in {folder} until it is well", flush=True)
    with ExitStack() as stack:
        server = stack.enter_context(PravegaEmulator())
        table = kill_at_random(Field(stack, server.config, folder), given.kills, given.seed, given.hosts, given.sinks)
    print("\n".join(lines(table)))
    if not all(found.is_right for found in table.values()):
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
