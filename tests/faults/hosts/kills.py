"""Servers and hosts whose runs are killed, and the drawing of rounds."""

import os
import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pyiceberg.catalog import load_catalog
from tests.faults.hosts.dagster_host import DagsterHost
from tests.faults.hosts.flows import SINKS, TABLES, Flow
from tests.faults.hosts.found import Found
from tests.faults.hosts.host import Host
from tests.faults.hosts.rounds import Lengths, Round
from tests.spark_connect import SparkConnect
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega import PravegaConfig

HOSTS = ("dagster", "airflow")
# The host and the sink of a round.
Way = tuple[str, str]
# Those that need no Spark.
_CHEAP: tuple[Way, ...] = (("dagster", "stream"), ("dagster", "two streams"))
_WAYS: tuple[Way, ...] = tuple(
    (host, sink) for host in HOSTS for sink in SINKS if (host, sink) != ("airflow", "two streams")
)
_KILLS_OF_A_ROUND = (5, 10)
# Rounds with Spark use one that outlives the runs; one round of so many has a JVM for each run, which dies with it.
_OWN_JVM = 5
# One round of so many has tasks that Airflow tries once more.
_TRIED_AGAIN = 3
# The share of all kills that each sink gets in all hosts; what is left is for runs without Spark.
_SHARE = 0.08


class Kills:
    """Servers and hosts, which start when they are needed; all that they write is below `folder`.

    Use it as a context manager.
    """

    def __init__(self, config: PravegaConfig, folder: Path) -> None:
        self._stack = ExitStack()
        self._config, self._folder = config, folder
        self._lengths = Lengths()
        self._hosts: dict[str, Host] = {}
        self._postgres: Postgres | None = None
        self._spark: SparkConnect | None = None
        self._lake = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/iceberg"}

    def __enter__(self) -> Self:
        for name, value in self._lake.items():
            os.environ[f"PYICEBERG_CATALOG__LAKE__{name.upper()}"] = value
        load_catalog("lake", **self._lake).create_namespace("shop")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def round(self, way: Way, kills: int, chance: random.Random) -> tuple[str, Found]:
        """Kill so many runs of one flow; what happened, in words, and what was found."""
        host, sink = way
        flow = self._flow(host, sink, chance)
        made = Round(self._host(host), flow, self._lengths, chance)
        return f"{host}, {flow.words}: {made.play(kills)}", made.found

    def _host(self, name: str) -> Host:
        if name not in self._hosts:
            folder = self._folder / name
            folder.mkdir()
            if name == "dagster":
                self._hosts[name] = self._stack.enter_context(DagsterHost(folder))
            else:
                from tests.faults.hosts.airflow_host import AirflowHost

                self._hosts[name] = self._stack.enter_context(AirflowHost(folder, self._database, self._config))
        return self._hosts[name]

    @property
    def _database(self) -> Postgres:
        """That of tables and of Airflow."""
        if self._postgres is None:
            self._postgres = self._stack.enter_context(Postgres(free_ports(1)[0], self._folder / "postgres.log"))
        return self._postgres

    @property
    def _spark_url(self) -> str:
        """The address of a Spark that outlives the runs."""
        if self._spark is None:
            folder = self._folder / "spark"
            folder.mkdir()
            self._spark = self._stack.enter_context(SparkConnect(folder))
        return self._spark.url

    def _flow(self, host: str, sink: str, chance: random.Random) -> Flow:
        name = f"kills{uuid.uuid4().hex[:10]}"
        folder = self._folder / name
        folder.mkdir()
        flow = Flow(host, sink, name, self._config, folder, self._lake)
        if (host, sink) not in _CHEAP:
            flow.master = self._spark_url if chance.randrange(_OWN_JVM) else "local[1]"
        flow.again = host == "airflow" and not chance.randrange(_TRIED_AGAIN)
        kind = chance.choice(("delta", "iceberg")) if sink == "merge" else sink
        if kind == "postgres":
            flow.table = f"public.{name}"
            flow.dsn = self._database.url("psycopg2").replace("+psycopg2", "")
        elif kind in TABLES:
            flow.table = f"iceberg:lake/shop.{name}" if kind == "iceberg" else f"{kind}:{folder}/table"
        if sink == "merge":
            flow.history = chance.choice(("none", "scd2"))
        return flow


def ways_of(hosts: Sequence[str], sinks: Sequence[str]) -> list[Way]:
    """The pairs of host and sink that there are."""
    return [(host, sink) for host, sink in _WAYS if host in hosts and sink in sinks]


def drawn(kills: int, ways: Sequence[Way], chance: random.Random) -> Iterator[tuple[Way, int]]:
    """Rounds with so many kills in all, in a random order: each sink gets its share, and the cheap ones the others."""
    hosts = len({host for host, _ in ways})
    counts = dict.fromkeys(ways, max(1, round(kills * _SHARE / hosts)))
    cheap = [way for way in ways if way in _CHEAP] or list(ways)
    for number in range(kills - sum(counts.values())):
        counts[cheap[number % len(cheap)]] += 1
    rounds: list[tuple[Way, int]] = []
    for way, count in counts.items():
        missing = count
        while missing > 0:
            rounds.append((way, min(missing, chance.randint(*_KILLS_OF_A_ROUND))))
            missing -= rounds[-1][1]
    yield from chance.sample(rounds, len(rounds))


def one_of(chance: random.Random) -> tuple[Way, int]:
    """Any round."""
    return chance.choice(_WAYS), chance.randint(*_KILLS_OF_A_ROUND)
