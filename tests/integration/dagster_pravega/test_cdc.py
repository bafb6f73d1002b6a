"""Tables that are kept by Debezium's changes, by a real Spark: arguments arrive, and materializations show the results.

All that merges do to tables is tested with Spark alone, in `pyspark_pravega/test_merge_into`.
"""

import json
from contextlib import closing
from pathlib import Path
from runpy import run_path

import dagster as dg
import pytest
from deltalake import DeltaTable
from psycopg2 import connect
from pyiceberg.catalog import load_catalog
from tests.integration.pyspark_pravega.debezium_events import in_avro, texts
from tests.integration.pyspark_pravega.debezium_events import made as change

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from dagster_pravega import LandingDatabase, StreamCutPartitions, build_cdc_asset, pravega_stream_spec

EXAMPLE = Path(__file__).parents[3] / "example_dags" / "dagster" / "orders_merged.py"
LAKE = dg.AssetKey(["lake", "orders"])


def rows_of(table):
    kind, _, rest = table.partition(":")
    if kind == "delta":
        return DeltaTable(rest).to_pyarrow_table().to_pylist()
    return load_catalog("lake").load_table(rest.partition("/")[2]).scan().to_arrow().to_pylist()


@pytest.fixture
def stream(make_stream):
    return make_stream()


@pytest.fixture
def write(client, stream):
    def write(*changes):
        with client.writer(stream) as writer:
            writer.write_many([data for data, _ in changes], [key for _, key in changes])

    return write


@pytest.fixture
def run(manager, instance, metadata_of):
    """Materializes a table; gives its metadata, or why it failed."""

    def run(spec, asset, **arguments):
        result = dg.materialize(
            [spec, asset],
            selection=[asset.key],
            resources={"pravega_spark": manager},
            instance=instance,
            raise_on_error=False,
            **arguments,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [event] = result.get_asset_materialization_events()
        return metadata_of(event.materialization)

    return run


def merging(spec, table, columns="id int, note string", **arguments):
    return build_cdc_asset(spec, key=LAKE, table=table, key_of_rows="id", columns=columns, **arguments)


def test_runs_merge_what_came_since_the_last_one(run, stream, write, client, kill_after_write, table):
    spec = pravega_stream_spec(str(stream))
    asset = merging(spec, table, since="last")
    write(change("c", 1, id=1, note="large"), change("c", 2, id=2, note="b"))
    first = run(spec, asset)
    assert (first["pravega/merge"], first["pravega/inserted"], first["dagster/row_count"]) == ("merge", 2, 2)
    assert (first["pravega/events"], first["pravega/table"]) == (2, table.removeprefix("delta:"))
    columns = [column.name for column in first["dagster/column_schema"].columns]
    assert columns == ["id", "note", "_sequence"]
    lineage = first["dagster/column_lineage"].deps_by_column
    assert {name: [(each.asset_key, each.column_name) for each in found] for name, found in lineage.items()} == {
        name: [(spec.key, name)] for name in ("id", "note")
    }

    write(change("u", 3, id=1, note="__debezium_unavailable_value"), change("d", 4, id=2, note=None))
    second = run(spec, asset)
    assert [second[f"pravega/{name}"] for name in ("updated", "deleted", "older")] == [1, 1, 0]
    assert second["dagster/row_count"] == 1
    assert [(row["id"], row["note"]) for row in rows_of(table)] == [(1, "large")]
    records = client.cut_ledger(stream.scope).records("dagster/lake/orders", stream)
    assert [record.is_done for record in records] == [True, True]

    kill_after_write(records[-1])
    write(change("c", 5, id=3, note="c"))
    third = run(spec, asset)
    assert (third["pravega/inserted"], third["pravega/events"]) == (1, 1)
    assert {row["id"] for row in rows_of(table)} == {1, 3}


def test_a_table_of_a_database_is_merged_by_the_resource_that_has_it(
    manager, instance, metadata_of, stream, write, scope, postgres_dsn, monkeypatch
):
    monkeypatch.setenv("WAREHOUSE_DSN", postgres_dsn)
    spec = pravega_stream_spec(str(stream))
    asset = merging(spec, scope, database_key="warehouse", since="last")
    resources = {"pravega_spark": manager, "warehouse": LandingDatabase(dsn=dg.EnvVar("WAREHOUSE_DSN"))}
    for changes, names in (
        ([change("c", 1, id=1, note="a"), change("c", 2, id=2, note="b")], {"inserted": 2}),
        ([change("u", 3, id=1, note="x"), change("d", 4, id=2, note=None)], {"updated": 1, "deleted": 1}),
    ):
        write(*changes)
        done = dg.materialize([spec, asset], selection=[asset.key], resources=resources, instance=instance)
        [event] = done.get_asset_materialization_events()
        metadata = metadata_of(event.materialization)
        assert {name: metadata[f"pravega/{name}"] for name in names} == names
    with closing(connect(postgres_dsn)) as connection, connection.cursor() as cursor:
        cursor.execute(f'select id, note from "{scope}"')
        assert cursor.fetchall() == [(1, "x")]
    with pytest.raises(ConfigurationError, match="an address may have a password"):
        merging(spec, f"{postgres_dsn}#{scope}", since="last")


def test_a_partition_is_merged_once_and_never_taken_back(run, stream, write, client, instance, tmp_path):
    table = f"delta:{tmp_path}/table"
    write(change("c", 1, id=1, note="a"))
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    ledger.claim(Interval("merger", stream, "monday"), client.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), stream))
    partitions = StreamCutPartitions(str(stream), consumer="merger")
    instance.add_dynamic_partitions(partitions.name, ["monday"])
    spec = pravega_stream_spec(str(stream))
    asset = merging(spec, table, partitions_def=partitions, deletes="soft")
    assert run(spec, asset, partition_key="monday")["pravega/merge"] == "merge"
    again = run(spec, asset, partition_key="monday")
    assert (again["pravega/merge"], again["pravega/changes"], again["pravega/inserted"]) == ("nothing", 1, 0)
    assert "dagster/row_count" not in again  # deleted rows would be among them
    assert "cannot be removed" in run(spec, asset, partition_key="monday", tags={"pravega/rebuild": "2"})
    assert len(rows_of(table)) == 1
    assert ledger.find(Interval("merger", stream, "monday")).is_done


def test_the_rules_arrive_and_the_materialization_says_what_they_did(run, stream, write, tmp_path):
    table = f"delta:{tmp_path}/table"
    spec = pravega_stream_spec(str(stream))
    rules = {"deletes": "soft", "ghosts": "remove", "new_columns": "add", "unsent": "null"}
    write(*(change("r", 10, snapshot="true", id=id_, note="a") for id_ in (1, 2)))
    assert run(spec, merging(spec, table, since="last", **rules))["pravega/ghosts"] == 0
    write(
        change("r", 20, at=2, snapshot="last", id=1, note="a", n=1),
        change("u", 30, at=3, id=3, note="__debezium_unavailable_value", n=3),
    )
    found = run(spec, merging(spec, table, "id int, note string, n int", since="last", **rules))
    assert [found[f"pravega/{name}"] for name in ("changes", "ghosts", "new_columns")] == [2, 1, ["n"]]
    assert sorted((row["id"], row["note"], row["n"], row["_deleted"]) for row in rows_of(table)) == [
        (1, "a", 1, False),
        (2, "a", None, True),
        (3, None, 3, False),
    ]
    write(change("c", 40, at=4, id=4, note="b"))
    said = run(spec, merging(spec, table, since="last", history="scd2"))
    assert "is merged with key id, soft deletes, history none, and this merge has key id, hard deletes" in said


def test_what_cannot_be_merged_is_refused_at_once(tmp_path):
    spec, table = pravega_stream_spec("shop/orders"), f"delta:{tmp_path}/table"
    for arguments, message in (
        ({"table": "parquet:/data", "since": "last"}, "tables of Delta and Iceberg"),
        ({"table": table}, "has neither partitions_def nor since"),
        ({"table": table, "since": "last", "deletes": "none"}, "deletes is hard, soft"),
        ({"table": table, "since": "last", "partition_by": ["day(at)"]}, "Delta has partitions by columns only"),
        ({"table": table, "since": "last", "history": "scd2", "deletes": "soft"}, "leave out deletes='soft'"),
        (
            {"table": "shop.orders", "database_key": "shop", "since": "last", "history": "scd2"},
            "PostgreSQL keep no history",
        ),
    ):
        with pytest.raises(ConfigurationError, match=message):
            merging(spec, **arguments)
    with pytest.raises(ConfigurationError, match="must name the columns that identify a row"):
        build_cdc_asset(spec, key=LAKE, table=table, key_of_rows=[], since="last")


def test_the_example_keeps_a_table(stream, write, instance, pravega_config, tmp_path, monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.setenv("CHANGES_STREAM", str(stream))
    monkeypatch.setenv("CHANGES_TABLE", f"delta:{tmp_path}/orders")
    write(change("c", 1, id=1, customer=7, price="12.50", placed=1_767_225_600_000_000))
    job = run_path(str(EXAMPLE))["defs"].resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(instance=instance)
    assert [each.passed for each in done.get_asset_check_evaluations()] == [True]
    write(change("u", 2, id=1, customer=8, price="13.50", placed=1_767_225_600_000_000))
    assert job.execute_in_process(instance=instance).success
    [row] = rows_of(f"delta:{tmp_path}/orders")
    assert (row["id"], row["customer"], str(row["price"])) == (1, 8, "13.50")
    assert json.dumps(str(row["placed"])).startswith('"2026-01-01')


def test_changes_in_avro_are_merged_with_the_columns_of_the_registry(run, stream, write, pravega_emulator, tmp_path):
    table = f"delta:{tmp_path}/table"
    spec, uri = pravega_stream_spec(str(stream)), pravega_emulator.schema_registry_uri
    write(*in_avro(uri, stream, [one for one in texts("schema", "full_ident") if one[0]]))
    options = {"decode": "debezium-avro", "schema_registry_uri": uri}
    found = run(spec, merging(spec, table, columns=None, since="last", options=options))
    rows = rows_of(table)
    assert len(rows) == found["pravega/inserted"]
    assert [[*row] for row in rows[:1]] == [["id", "v", "n", "_sequence"]]
