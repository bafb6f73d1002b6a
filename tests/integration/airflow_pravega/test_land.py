"""Ranges of a real stream in tables, by real runs of Airflow: landed once, again, and as a new generation."""

import json
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from airflow.sdk import DAG
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config
from pyspark.sql import functions as sql
from tests.integration.airflow_pravega.conftest import PASSWORD

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval, IntervalState
from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.landing import holdings, list_errors, read_errors

pytestmark = pytest.mark.usefixtures("spark")
FIRST, SECOND = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture(params=["parquet", "delta", "iceberg", "postgres"])
def table(request, tmp_path, scope, monkeypatch):
    """The arguments that name a new table of each kind, and the text by which the test asks it."""
    if request.param == "postgres":
        dsn = request.getfixturevalue("warehouse")
        return {"table": scope, "postgres_conn_id": "warehouse"}, f"{dsn}#{scope}"
    if request.param == "iceberg":
        properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
        for name, value in properties.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it reads the environment when it is imported
        load_catalog("lake", **properties).create_namespace("shop")
        return {"table": "iceberg:lake/shop.orders"}, "iceberg:lake/shop.orders"
    return {"table": f"{request.param}:{tmp_path}/table"}, f"{request.param}:{tmp_path}/table"


def doubled(events):
    return events.select((sql.col("event").cast("string").cast("long") * 2).alias("number"))


def landing(scope, stream, transform=doubled, **arguments) -> DAG:
    with DAG(f"dag-{scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="lander")
        PravegaLandOperator(
            task_id="land", stream=str(stream), stream_cuts=wait.output, transform=transform, **arguments
        )
    return dag


def test_intervals_are_landed_once_and_replaced_by_a_new_generation(run, client, scope, stream, write, table, capfd):
    arguments, text = table
    job = partial(run, landing(scope, stream, rebuild="{{ (dag_run.conf or {}).get('rebuild', 1) }}", **arguments))
    write(*(b"%d" % number for number in range(10)))
    first = job(FIRST)
    found = first.result("land")
    cuts = first.result("wait")
    assert (found["action"], found["rows"], found["generation"]) == ("append", 10, 1)
    assert (found["table"], found["cuts"]) == (arguments["table"], {"start": cuts["start"], "end": cuts["end"]})
    assert client.cut_ledger(stream.scope).find(Interval("lander", stream, cuts["interval"])).is_done

    write(*(b"%d" % number for number in range(10, 15)))
    assert job(SECOND).result("land")["rows"] == 5
    assert (job(FIRST).result("land")["action"], job(FIRST, {"rebuild": 2}).result("land")["action"]) == (
        "nothing",
        "replace",
    )
    old = job(FIRST)
    assert (old.state("land"), old.tries("land")) == ("failed", 1)
    held = {each.interval: (each.generation, each.rows) for each in holdings(text)}
    # Another task of the consumer could have a run of the same date: the task is part of the name.
    names = [f"{date.isoformat()} of dag-{scope}/wait" for date in (FIRST, SECOND)]
    assert held == dict(zip(names, [(2, 10), (1, 5)], strict=True))
    # An interval that was done stays so, whatever a run of an older generation wanted.
    records = client.cut_ledger(stream.scope).records("lander", stream)
    assert [record.state for record in records] == [IntervalState.DONE] * 2
    said = "".join(capfd.readouterr())
    assert "An older one does not replace it" in said
    assert PASSWORD not in said


def test_events_that_cannot_be_decoded_are_in_an_errors_table(run, scope, stream, write, tmp_path):
    write(b'{"number": 1}', b"not json")
    table, errors = f"parquet:{tmp_path}/table", f"parquet:{tmp_path}/errors"
    given = {"columns": "number long", "options": {"decode": "json", "on_error": "dead"}, "most_errors": "50%"}
    found = run(landing(scope, stream, None, table=table, errors=errors, **given), FIRST).result("land")
    assert (found["action"], found["rows"], found["errors"]) == ("append", 1, 1)
    [one] = list_errors(table)
    assert [row["event"] for batch in read_errors(one) for row in batch.to_pylist()] == [b"not json"]


def test_the_example_lands_orders(run, stream, write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "example_dags" / "airflow"))
    example = import_module("orders_landed")
    write(*(json.dumps({"order": number, "run": "by hand"}).encode() for number in range(3)))
    conf = {"orders": str(stream), "table": f"parquet:{tmp_path}/orders"}
    assert run(example.orders_landed, FIRST, conf).result("land")["rows"] == 3
    assert run(example.orders_landed, FIRST, conf).result("land")["action"] == "nothing"


def test_a_range_without_interval_and_a_missing_connection_are_refused(
    run_task, client, scope, stream, write, tmp_path, capfd
):
    write(b"1")
    cuts = {
        "start": client.head(stream).to_text(),
        "end": client.tail(stream).to_text(),
    }
    land = partial(PravegaLandOperator, stream=str(stream), table=f"parquet:{tmp_path}/table")
    done = run_task(partial(land, stream_cuts=cuts))
    assert (done.state(), done.tries()) == ("failed", 1)
    assert "needs the names of a consumer and an interval" in "".join(capfd.readouterr())

    ledger = client.cut_ledger(scope)
    ledger.create()
    named = {**cuts, "consumer": "lander", "interval": "monday"}
    ledger.claim(Interval("lander", stream, "monday"), StreamCutRange.from_json(cuts))
    missing = partial(land, stream_cuts=named, table="orders", postgres_conn_id="nowhere")
    done = run_task(missing)
    assert (done.state(), done.tries()) == ("failed", 1)
    failed = ledger.find(Interval("lander", stream, "monday"))
    assert failed.state is IntervalState.FAILED
    assert "make the connection, or name another one" in failed.reason
