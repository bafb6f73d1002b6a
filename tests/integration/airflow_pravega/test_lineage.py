"""What OpenLineage's own listener and file transport make of a run of real operators."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection
from tests.faults.process import ROOT

from aiopravega import StreamCutRange
from airflow_pravega.lineage import Lineage, TableData
from airflow_pravega.lineage.facets import folder_names, operator_lineage
from airflow_pravega.lineage.tables import rows_taken, table_data

JOB = Path(__file__).with_name("lineage_job.py")
TASKS = ("make", "write", "wait", "read", "load", "copy", "function", "announce", "delete")
PASSWORD = "s3cret-of-lineage"
HEADER = 8


@pytest.fixture
def events(pravega_config, connection_json, scope, tmp_path) -> dict[str, Any]:
    """The COMPLETE event of each task."""
    log = tmp_path / "events.json"
    connection = json.loads(connection_json(pravega_config))
    connection |= {"login": "ada", "password": PASSWORD}
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/airflow.db",
        "AIRFLOW_CONN_PRAVEGA_DEFAULT": json.dumps(connection),
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(log), "append": True}),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "tests",
    }
    ended = subprocess.run(
        [sys.executable, str(JOB), scope, str(tmp_path)], check=False, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    text = log.read_text()
    assert PASSWORD not in text
    found = [json.loads(line) for line in text.splitlines()]
    return {event["job"]["name"].removeprefix("lineage."): event for event in found if event["eventType"] == "COMPLETE"}


def postgres_connection(port=None):
    return Connection(
        conn_id="db", conn_type="postgres", host="db", port=port, schema="shop", login="ada", password=PASSWORD
    )


def iceberg_connection():
    host = f"https://ada:{PASSWORD}@catalog:8181/iceberg"
    return Connection(conn_id="lake", conn_type="iceberg", host=host, login="ada", password=PASSWORD)


def only(datasets: list[dict[str, Any]]) -> dict[str, Any]:
    [dataset] = datasets
    return dataset


@pytest.mark.usefixtures("spark")
def test_each_operator_reports_what_it_has_read_and_written(events, pravega_config, scope, tmp_path):
    namespace = f"pravega://{pravega_config.controller_target}"
    numbers = (namespace, f"{scope}/numbers")
    size = 2 * (HEADER + len('{"a":1}'))
    assert events.keys() >= set(TASKS)

    def named(dataset):
        return dataset["namespace"], dataset["name"]

    made = only(events["make"]["outputs"])
    assert (named(made), made["facets"]["lifecycleStateChange"]["lifecycleStateChange"]) == (numbers, "CREATE")
    deleted = only(events["delete"]["outputs"])
    assert deleted["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"
    assert (events["wait"]["inputs"], events["wait"]["outputs"]) == ([], [])

    written = only(events["write"]["outputs"])
    assert named(written) == numbers
    assert written["outputFacets"]["outputStatistics"].items() >= {"rowCount": 2, "size": size}.items()
    written_range = written["facets"]["pravega_range"]
    assert str(StreamCutRange.from_json(written_range).stream) == f"{scope}/numbers"

    for task in ("read", "load", "function"):
        source = only(events[task]["inputs"])
        assert named(source) == numbers
        assert source["inputFacets"]["inputStatistics"]["size"] == size
        assert (
            source["facets"]["pravega_range"].items()
            >= {"consumer": "lineage/wait", "end": written_range["end"]}.items()
        )
    assert only(events["read"]["inputs"])["inputFacets"]["inputStatistics"]["rowCount"] == 2
    loaded = only(events["load"]["inputs"])
    assert loaded["inputFacets"]["inputStatistics"]["rowCount"] == 2
    assert {"name": "a", "type": "bigint"}.items() <= loaded["facets"]["schema"]["fields"][0].items()

    files = only(events["load"]["outputs"])
    assert named(files) == ("file", str(tmp_path / "files"))
    assert files["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert named(only(events["copy"]["inputs"])) == named(files)
    for task in ("copy", "function"):
        copied = only(events[task]["outputs"])
        assert named(copied) == (namespace, f"{scope}/{task}")
        assert copied["outputFacets"]["outputStatistics"]["rowCount"] == 2
        assert "pravega_range" in copied["facets"]
    assert named(only(events["announce"]["outputs"])) == numbers  # an asset, by the default connection


@pytest.mark.parametrize(
    ("table", "connection", "names"),
    [
        ("orders", postgres_connection(), ("postgres://db:5432", "shop.public.orders")),
        ("lake.orders", postgres_connection(port=5433), ("postgres://db:5433", "shop.lake.orders")),
        ("lake.orders", iceberg_connection(), ("https://catalog:8181/iceberg", "lake.orders")),
    ],
)
def test_tables_of_connections_are_named_without_credentials(table, connection, names):
    assert table_data(table, connection) == TableData(*names)


def test_a_table_whose_catalog_is_configured_elsewhere_is_left_out():
    assert table_data("iceberg:local/lake.orders", None) is None
    lineage = rows_taken(Lineage(), None, (("a", "int"),), changed=False)
    assert (lineage.outputs, lineage.unchanged) == ((), frozenset())


def test_columns_of_changed_rows_are_of_nobody():
    table, columns = table_data("delta:/lake/orders", None), (("a", "int"), ("_consumer", "string"))
    assert rows_taken(Lineage(), table, columns, changed=True).unchanged == frozenset()
    assert table is not None
    lineage = rows_taken(Lineage((table,)), table, columns, changed=False)
    assert lineage.unchanged == {"a"}
    [field] = operator_lineage(lineage).outputs[0].facets["columnLineage"].fields["a"].inputFields
    assert (field.namespace, field.name, field.field) == ("file", "/lake/orders", "a")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/data/flights", ("file", "/data/flights")),
        ("file:///data/flights", ("file", "/data/flights")),
        ("s3a://bucket/data/flights", ("s3a://bucket", "data/flights")),
        ("s3a://key:secret@bucket/data", ("s3a://bucket", "data")),
        (
            "abfss://container@account.example/data",
            ("abfss://container@account.example", "data"),
        ),
        ("abfss://user:secret@account/data", ("abfss://account", "data")),
        ("hdfs://name:8020/data", ("hdfs://name:8020", "data")),
    ],
)
def test_files_are_named_without_credentials(path, names):
    assert folder_names(path) == names


def test_nothing_of_openlineage_is_imported_until_it_asks():
    # The operator of Airflow's provider of Spark, from which the one for spark-submit derives, imports it by itself.
    program = (
        "import sys, pkgutil, importlib, airflow_pravega\n"
        "from contextlib import suppress\n"
        "from airflow.providers.common.compat.sdk import AirflowOptionalProviderFeatureException as Lacks\n"
        "lazy = ('airflow_pravega.lineage.facets', 'airflow_pravega.page', 'airflow_pravega.operators.spark_submit')\n"
        "for module in pkgutil.walk_packages(airflow_pravega.__path__, 'airflow_pravega.'):\n"
        "    if not module.name.startswith(lazy):\n"
        "        with suppress(Lacks):\n"
        "            importlib.import_module(module.name)\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'openlineage'))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == "[]"
