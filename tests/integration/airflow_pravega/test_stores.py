"""Tables in S3 by connections of Airflow alone, in a real run: a role of AWS, and a catalog of Iceberg."""

import json
import os
import sqlite3
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from airflow.sdk import DAG
from pyiceberg.catalog import load_catalog
from tests.system.s3_server import BUCKET

from aiopravega.ledger import Interval
from airflow_pravega.operators.keep_table import PravegaKeepTableOperator
from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.operators.upkeep import PravegaTableUpkeepOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from airflow_pravega.tasks.intervals import find_table
from pravega_jobs.landing import holdings
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.store_access import StoreAccess, accessing

pytest.importorskip("airflow.providers.amazon", reason="environments of older Airflows lack Amazon's provider")
pytestmark = pytest.mark.usefixtures("spark")
SECRET = f"canary-of-{26 * 3}-stores"  # Airflow stores the text of this file, as that of a DAG
JSON: dict[str, Any] = {"options": {"decode": "json"}}
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def catalog(s3_server, tmp_path, scope, monkeypatch):
    """A catalog whose tables are in S3, which the environment knows nothing about; connections know all."""
    for name in s3_server.environment():
        monkeypatch.delenv(name, raising=False)
    at_server = {"endpoint_url": s3_server.url}
    role = {"role_arn": "arn:aws:iam::123456789012:role/lander", "region_name": "us-east-1"}
    aws: dict[str, Any] = {"conn_type": "aws", "login": "AKIA", "password": SECRET}
    aws["extra"] = role | {"service_config": {"s3": at_server, "sts": at_server}}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(aws))
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"s3://{BUCKET}/{scope}/lake"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "iceberg", "extra": properties}))
    known = {
        "s3.endpoint": s3_server.url,
        "s3.access-key-id": "a",
        "s3.secret-access-key": "b",
        "s3.region": "us-east-1",
    }
    made = load_catalog("lake", **properties, **known)
    made.create_namespace("shop")
    return made


def pipeline(scope, stream) -> DAG:
    tables: dict[str, dict[str, Any]] = {
        "delta": {"table": f"delta:s3://{BUCKET}/{scope}/orders", "aws_conn_id": "aws_default"},
        "iceberg": {"table": "shop.orders", "iceberg_conn_id": "lake", "aws_conn_id": "aws_default"},
    }
    with DAG(f"dag-{scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="lander")
        for name, table in tables.items():
            land = PravegaLandOperator(
                task_id=name, stream=str(stream), stream_cuts=wait.output, columns="id long", **JSON, **table
            )
            land >> PravegaTableUpkeepOperator(task_id=f"keep_{name}_up", **table)
        followed = {**tables["iceberg"], "table": "shop.followed", "errors": "shop.followed_errors"}
        PravegaKeepTableOperator(
            task_id="keep", stream=str(stream), consumer="keeper", columns="id long", upkeep_after=1, **JSON, **followed
        )
    return dag


def test_a_role_and_a_catalog_of_connections_land_once_and_show_nothing(
    run, client, scope, stream, write, catalog, s3_server, capfd
):
    write(*(json.dumps({"id": number}).encode() for number in range(10)))
    dag = pipeline(scope, stream)
    first, again = run(dag, FIRST), run(dag, FIRST)
    for name in ("delta", "iceberg"):
        assert (first.result(name)["action"], first.result(name)["rows"]) == ("append", 10)
        assert again.result(name)["action"] == "nothing"
        kept = again.result(f"keep_{name}_up")
        assert (kept["dry_run"], kept["removed_files"]) == (False, 0)

    kept, kept_again = first.result("keep"), again.result("keep")
    assert (kept["action"], kept["rows"], kept["errors"], kept["upkeep_error"]) == ("append", 10, 0, None)
    assert (kept_again["action"], kept_again["upkeep_error"]) == ("nothing", None)

    # Others than this package judge.
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region": "us-east-1"}
    keys |= {"aws_endpoint_url": s3_server.url, "aws_allow_http": "true"}
    address = f"s3://{BUCKET}/{scope}/orders"
    assert sorted(pl.read_delta(address, storage_options=keys)["id"]) == list(range(10))
    for name in ("shop.orders", "shop.followed"):
        assert sorted(catalog.load_table(name).scan().to_arrow()["id"].to_pylist()) == list(range(10))

    # A later run that takes the range over finds the tables by the connections that the ledger names.
    cuts = first.result("wait")
    record = client.cut_ledger(scope).find(Interval("lander", stream, cuts["interval"]))
    targets = {part.sink.target for part in record.parts}
    assert targets == {
        f"connection:aws_default#delta:{address}",
        "connection:aws_default#connection:lake#shop.orders",
    }
    held = [find_table(each).held(landing_of(cuts)) for each in targets]
    assert [each and each.rows for each in held] == [10, 10]
    with accessing(StoreAccess.fixed(keys)):
        assert [each.rows for each in holdings(f"delta:{address}")] == [10]

    database = os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].removeprefix("sqlite:///")
    stored = "".join(sqlite3.connect(database).iterdump())
    assert "aws_default" in stored
    assert SECRET not in stored + "".join(capfd.readouterr())


def test_connections_that_cannot_be_used_are_named(run_task, stream, client, monkeypatch, capfd):
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    cuts = {"start": client.head(stream).to_text(), "end": client.tail(stream).to_text()}
    table: dict[str, Any] = {
        "table": f"delta:s3://{BUCKET}/none",
        "stream": str(stream),
        "stream_cuts": cuts | {"consumer": "a", "interval": "monday"},
    }
    for fields, words in (
        (None, "nowhere"),
        ({"conn_type": "http"}, "its type is 'http', but must be 'aws'"),
        ({"extra": {"verify": False}}, "verify, which tables in object stores do not follow"),
    ):
        if fields is not None:
            given = {"conn_type": "aws", "login": "AKIA", "password": SECRET} | fields
            monkeypatch.setenv("AIRFLOW_CONN_NOWHERE", json.dumps(given))
        done = run_task(lambda **more: PravegaLandOperator(aws_conn_id="nowhere", **table, **more))
        said = "".join(capfd.readouterr())
        assert (done.state(), done.tries(), words in said, SECRET in said) == ("failed", 1, True, False)
