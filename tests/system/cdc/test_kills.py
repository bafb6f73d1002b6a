"""Every process is killed with `kill -9` between three cuts: states and merged tables are those of the database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from tests.faults.process import ProcessTree, wait_until
from tests.system.cdc import merge_job
from tests.system.cdc.load import Load
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import TABLES, Table, assert_rows, state

from aiopravega import StreamCutRange
from pyspark_pravega.cdc import holdings

Merge = tuple[Table, str, str, StreamCutRange]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200), pytest.mark.xdist_group("cdc")]


def kill_debezium(shop: Shop, load: Load) -> None:
    shop.debezium.kill()
    load.more(20)
    shop.debezium.start()


def kill_database(shop: Shop, load: Load) -> None:
    failed = load.failed
    shop.database.kill()
    wait_until(lambda: load.failed > failed, lambda: "the load sees that the database is away")
    shop.database.start()


def kill_segment_store(shop: Shop, load: Load) -> None:
    shop.pravega.kill("segmentstore")
    load.more(20)
    shop.pravega.restart("segmentstore")
    shop.pravega.wait_ready()


# Between the cuts; the driver of the merges is killed after each of them.
KILLS: tuple[tuple[Callable[[Shop, Load], None], ...], ...] = (
    (kill_debezium, kill_database),
    (kill_segment_store, kill_debezium),
    (kill_database, kill_debezium, kill_segment_store),
)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The properties of a catalog of Iceberg, which the driver has from its environment."""
    warehouse = tmp_path / "lake"
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{warehouse}"}
    for name, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
    load_catalog("lake", **properties).create_namespace("shop")
    return properties


def rows_of(target: str, table: Table, lake: dict[str, str]) -> list[tuple[Any, ...]]:
    """What any reader finds in a merged table."""
    kind, _, name = target.partition(":")
    if kind == "delta":
        found = DeltaTable(name).to_pyarrow_table(columns=table.names())
    else:
        found = load_catalog("lake", **lake).load_table(name.partition("/")[2]).scan().to_arrow().select(table.names())
    return [tuple(row.values()) for row in found.to_pylist()]


def merge(shop: Shop, folder: Path, merges: list[Merge]) -> list[str]:
    """Merge with a driver that is killed as it begins, and when it has written files; then it runs twice to its end."""

    def files() -> set[Path]:
        return set((folder / "lake").rglob("*.parquet"))  # those that are staged among them

    before = files()
    moments: tuple[Callable[[ProcessTree], Any], ...] = (
        lambda job: "begins" in job.said(),
        lambda _: files() - before,
    )
    for is_now in moments:
        job = merge_job.start(folder, shop.config, merges)
        wait_until(lambda: is_now(job) or has_ended(job), job.said)  # noqa: B023 - called before the loop continues
        assert not has_ended(job), job.said()
        job.kill()
    return [run(shop, folder, merges) for _ in range(2)]


def run(shop: Shop, folder: Path, merges: list[Merge]) -> str:
    """Run a driver to its end; returns what it has merged."""
    job = merge_job.start(folder, shop.config, merges)
    wait_until(lambda: has_ended(job), job.said)
    assert job.process.returncode == 0, job.said()
    return " ".join(line for line in job.log.read_text().splitlines() if line.startswith("merged"))


def has_ended(job: ProcessTree) -> bool:
    return job.process.poll() is not None


def test_the_states_and_the_merged_tables_are_the_databases_at_each_cut(
    shop: Shop, spark: SparkSession, lake: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = {table: shop.client.head(stream) for table, stream in shop.streams.items() if table in TABLES}
    targets = {f"delta:{tmp_path}/lake/{table.name}": table for table in TABLES}
    targets |= {f"iceberg:lake/shop.{table.name}": table for table in TABLES}
    with Load(shop.database, seed=2) as load:
        for number, kills in enumerate(KILLS):
            for kill in kills:
                load.more(20)
                kill(shop, load)
            load.more(20)
            moments = shop.moments(load)
            # From now on Debezium writes down seldom how far it is, as by default: after a kill it repeats events.
            monkeypatch.setitem(shop.debezium.settings, "debezium.source.offset.flush.interval.ms", "60000")
            for table, moment in moments.items():
                assert_rows(state(spark, shop.config, table, moment.cut), table, moment.rows)
            merges = [
                (table, target, f"range {number}", StreamCutRange(starts[table], moments[table].cut))
                for target, table in targets.items()
            ]
            first, again = merge(shop, tmp_path, merges)
            print(number, first, again)
            assert "merge" in first
            assert again.count("nothing") == len(merges)
            for target, table in targets.items():
                assert_rows(rows_of(target, table, lake), table, moments[table].rows)
            starts = {table: moment.cut for table, moment in moments.items()}
    for target in targets:
        if target.startswith("delta:"):
            held = sorted(each.interval for each in holdings(target))
            assert held == [f"range {number}" for number in range(len(KILLS))]
    assert any(finder.repeated for finder in shop.finders.values())
    print({table.name: (each.events, each.repeated) for table, each in shop.finders.items()}, shop.debezium.ended)
