"""The code of Airflow and Dagster on pages makes the operators, checks and sensors that the pages say.

A page about one task shows some lines of a DAG. Here they are made, in a DAG of their own; operators run in
tests/integration/airflow_pravega and tests/system/airflow.
"""

import inspect
import json
import pkgutil
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from typing import Any

import dagster as dg
import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, BaseOperator, task
from airflow.timetables.interval import CronDataIntervalTimetable
from example_dags.flights import delays_per_carrier_and_day, typed_flights
from tests.pages.blocks import block_with

import airflow_pravega.operators
import airflow_pravega.sensors
import dagster_pravega
from aiopravega import PravegaClient, StreamName
from aiopravega.blocking.registry import SchemaRegistry as BlockingRegistry
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import register_schema
from pravega_jobs.frames import range_of, scan_duckdb, scan_polars
from pravega_jobs.sandbox.loading import replay_loaded

# In the process of the other pages.
pytestmark = pytest.mark.xdist_group("pyspark_pravega")

EVENTS = [b'{"id": %d}' % number for number in range(10)]
AVRO = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def operators() -> dict[str, Any]:
    """All operators and sensors of the provider, by name."""
    modules = [
        import_module(module.name)
        for package in (airflow_pravega.operators, airflow_pravega.sensors)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, BaseOperator)
    }


def test_airflow_frames(open_page, client, scope, fill):
    flights = [{"carrier": carrier, "delay": delay} for carrier, delay in (("AA", 5.0), ("UA", 1.0), ("AA", 7.5))]
    fill("flights", *(json.dumps(flight).encode() for flight in flights))
    names = open_page("airflow-frames").run().names

    events = scan_polars(range_of(client, f"{scope}/flights"), decode="json", columns="carrier string, delay double")
    assert names["worst_delays"].function(events).collect().rows() == [("AA", 7.5), ("UA", 1.0)]
    assert (names["sums"].into, names["check"].options) == (f"{scope}/delays", {"decode": "json"})
    table = scan_duckdb(range_of(client, f"{scope}/flights"), decode="json", columns="carrier string, delay double")
    asked = [table.query("events", names[name].sql) for name in ("check", "sums")]
    checked, sums = (found.fetchall() for found in asked if found is not None)
    assert checked == [(True, True)]
    assert sums == [("AA", 6.3), ("UA", 1.0)]


def test_replay_before_you_deploy(open_page, fill, terminal, scope, tmp_path, pravega_emulator_secure):
    flights = [{"carrier": carrier, "delay": delay} for carrier, delay in (("AA", 5.0), ("UA", 1.0), ("AA", 7.5))]
    fill("flights", *(json.dumps(flight).encode() for flight in flights))
    fill("delays")
    page = open_page("replay-before-you-deploy")
    block = partial(block_with, page.name)
    job, changed = block("write_arrow("), block("def worst_long_delays(")
    tested, in_emulator = block("def test_last_monday_gives"), block("def test_last_monday_in")
    typed, dag, check = block("--page replay.html"), block("PravegaReplayOperator("), block("build_replay_check(")

    page.give(__name__="jobs").run(job.number, changed.number)
    assert terminal.readouterr().out.splitlines() == [
        f"different: jobs:worst_long_delays on 'delays' of {scope}/flights, compared with {scope}/delays",
        "  2026-01-05: 2 rows then, 1 now: 0 added, 1 removed, 0 changed",
        "removed, the first of 1:",
        '  {"carrier": "UA", "delay": 1}',
    ]
    names = page.run(tested.number, in_emulator.number).names
    names["test_last_monday_gives_the_same_rows"]()
    # As the fixture does with another emulator than the one that has the intervals.
    names["test_last_monday_in_the_emulator"](partial(replay_loaded, pravega_emulator_secure.config))
    (tmp_path / "jobs.py").write_text(job.code.partition("\nwith (")[0])
    page.run(typed.number)
    assert terminal.readouterr().out.startswith("same: jobs:worst_delays")
    assert "<h1>Replay of jobs:worst_delays" in (tmp_path / "replay.html").read_text()
    page.run(dag.number, check.number)
    assert names["dag"].task_ids == ["replay"]
    checks = dg.define_asset_job("checks", selection=dg.AssetSelection.checks(names["same_as_last_monday"]))
    resources = {"pravega": dagster_pravega.PravegaResource()}
    found = dg.Definitions(
        assets=[dg.AssetSpec(["examples", "delays"])],
        asset_checks=[names["same_as_last_monday"]],
        jobs=[checks],
        resources=resources,
    )
    [done] = found.resolve_job_def("checks").execute_in_process().get_asset_check_evaluations()
    assert done.passed


async def connected(uri: str) -> SchemaRegistry:
    return await SchemaRegistry(RegistryConfig(uri=uri)).__aenter__()


@pytest.fixture
def in_dag():
    """Runs a block of a page in a DAG of its own, whose first task is a sensor `wait`; the ids of the block's tasks."""

    def in_dag(page, number: int, **names: Any) -> set[str]:
        made = []

        def recorded(*arguments: Any, **options: Any) -> DAG:
            made.append(DAG(*arguments, **options))
            return made[-1]

        named = operators()
        with recorded(f"page_{number}", schedule=None):
            wait = named["PravegaStreamCutSensor"](task_id="given_wait", stream="examples/flights", deferrable=True)
            given = {"wait": wait, "DAG": recorded, "task": task, "datetime": datetime, "timedelta": timedelta}
            page.names = {**named, **given, "UTC": UTC, **names}
            page.run(number)
        # A block that imports DAG for itself has names of its operators.
        made += [value.dag for value in page.names.values() if isinstance(value, BaseOperator)]
        return {one for dag in made for one in dag.task_ids} - {"given_wait"}

    return in_dag


AIRFLOW = (
    "airflow",
    "airflow-waiting",
    "airflow-start-runs",
    "airflow-spark",
    "airflow-tables",
    "airflow-operate",
    "airflow-decisions",
)


@pytest.mark.parametrize("name", AIRFLOW)
def test_airflow(open_page, in_dag, name):
    page = open_page(name)
    given = {
        "CronDataIntervalTimetable": CronDataIntervalTimetable,
        "typed_flights": typed_flights,
        "typed": typed_flights,
        "work": typed_flights,
        "delays_per_carrier_and_day": delays_per_carrier_and_day,
    }
    for number in list(page.left):
        # A function of one block has the name of an argument of another.
        assert in_dag(page, number, **given, delays=delays_per_carrier_and_day), number


def test_backfill(open_page, in_dag, fill, capsys):
    fill("flights", *EVENTS)
    page = open_page("backfill")
    assert page.command("pravega backfill plan examples/flights --consumer flights-2013 --parts 8")[1] == 0
    assert "1 of 8" in capsys.readouterr().out
    page.run(1)
    assert not page.names["failures"]
    assert in_dag(page, 2) == {"plan", "read"}
    assert in_dag(page, 3) == {"plan"}


def test_from_kafka(open_page, in_dag, spark, scope, fill):
    fill("orders", *EVENTS)
    page = open_page("from-kafka", **{"shop/orders": f"{scope}/orders"})
    block = partial(block_with, page.name)
    page.run(block("PravegaKafkaCopyOperator(").number, block("build_kafka_copy(").number)
    assert page.names["dag"].task_ids == ["copy"]
    assert len(page.names["defs"].resolve_all_asset_keys()) == 1
    assert in_dag(page, block("PravegaKafkaCutOverOperator(").number) == {"cut_over"}
    assert in_dag(page, block("PravegaStreamCutSensor(").number) == {"wait"}
    page.give(spark=spark).run()
    assert page.names["orders"].count() == len(EVENTS)


def test_schema_gates(open_page, scope, pravega_emulator, fill, tmp_path):
    fill("orders")
    (tmp_path / "schemas").mkdir()
    for name in ("schemas/order.avsc", "order.avsc"):
        (tmp_path / name).write_text(json.dumps(AVRO))

    @dg.asset(deps=[dg.AssetKey([scope, "orders"])])
    def writes_orders() -> None: ...

    page = open_page("schema-gates")
    with DAG("gates", schedule=None) as dag:
        page.give(**operators(), write=EmptyOperator(task_id="write")).run(1)
    assert dag.get_task("gate").downstream_task_ids == {"write"}
    page.give(dg=dg, writes_orders=writes_orders).run(2)
    with DAG("data", schedule=None) as dag:
        wait = operators()["PravegaStreamCutSensor"](task_id="wait", stream="examples/orders")
        page.give(wait=wait, build_data_gate=dagster_pravega.build_data_gate).run(3)
    assert dag.get_task("gate").upstream_task_ids == {"wait"}
    with BlockingRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as registry:
        schema = SchemaInfo.of(SchemaFormat.AVRO, "Order", json.dumps(AVRO))
        registry.run(register_schema(registry.asynchronous, StreamName(scope, "orders"), schema))
    page.give(registry=page.wait(connected(pravega_emulator.schema_registry_uri))).run()
    assert page.names["report"].passed


def test_first_page(open_page, in_dag, spark, client, scope, fill, read, tmp_path):
    fill("flights", *EVENTS)
    fill("orders", *EVENTS)
    head, tail = client.head(f"{scope}/orders").to_text(), client.tail(f"{scope}/orders").to_text()
    page = open_page("README", **{'parquet("flights")': f'parquet("{tmp_path}/flights")'})
    assert in_dag(page, 1, delays_per_carrier_and_day=delays_per_carrier_and_day) == {"wait", "read", "write"}
    page.give(**{name: getattr(dagster_pravega, name) for name in dagster_pravega.__all__}, dg=dg).run(2)
    made = page.names["defs"]
    assert dg.materialize([*made.assets], resources=made.resources).success
    page.give(spark=spark, start=head, end=tail).run(3)
    assert sorted(bytes(row.event) for row in read("copies").collect()) == sorted(EVENTS)


def test_readmes(open_page, in_dag, spark, client, fill, tmp_path):
    fill("flights", *EVENTS)
    provider = open_page("README of providers/pravega")
    assert in_dag(provider, 1, delays=delays_per_carrier_and_day) == {"wait", "read", "write"}
    page = open_page("README of dagster_pravega", **{'parquet("flights")': f'parquet("{tmp_path}/flights")'}).run()
    made = page.names["defs"]
    assert dg.materialize([*made.assets], resources=made.resources).success
    assert spark.read.parquet(f"{tmp_path}/flights").count() == len(EVENTS)

    fixture = open_page("README of pravega_emulator").give(PravegaClient=PravegaClient).run()
    fixture.wait(fixture.names["test_an_event_comes_back"](client.config))
