"""Checks of tables that are kept by Debezium's changes: rows and columns that the database does not have."""

import json
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from tests.integration.pravega_jobs.history_job import keep
from tests.integration.pravega_jobs.landing_job import new_lake
from tests.integration.pravega_jobs.merging_job import merge, merge_of
from tests.integration.pyspark_pravega.debezium_events import made, texts

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError
from dagster_pravega import (
    LandingDatabase,
    PravegaResource,
    build_cdc_drift_check,
    build_cdc_ghost_check,
    pravega_stream_spec,
)
from pravega_jobs.landing import DeltaFolder
from pravega_jobs.landing.land import landing_of
from pravega_jobs.merging import MergeRules, merge_changes

COLUMNS = "id int, n bigint, _change_type string, _sequence binary, _source_ts timestamp"


@pytest.fixture
def stream(make_stream):
    return make_stream(segments=1)


@pytest.fixture
def write(client, stream):
    def write(*changes):
        with client.writer(stream) as writer:
            writer.write_many([data for data, _ in changes], [key for _, key in changes])

    return write


@pytest.fixture
def evaluate(stream, instance, pravega_config):
    """Runs a check, and gives its evaluation with its metadata as plain values."""

    def evaluate(build, **arguments):
        spec = pravega_stream_spec(str(stream))
        check = build(spec, stream=str(stream), **arguments)
        resources: dict[str, Any] = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
        if key := arguments.get("database_key"):
            resources[key] = LandingDatabase(dsn=dg.EnvVar("WAREHOUSE_DSN"))
        job = dg.define_asset_job("job", selection=dg.AssetSelection.checks(check))
        found = dg.Definitions(assets=[spec], asset_checks=[check], jobs=[job], resources=resources)
        [done] = found.resolve_job_def("job").execute_in_process(instance=instance).get_asset_check_evaluations()
        return done, {name: entry.value for name, entry in done.metadata.items()}

    return evaluate


@pytest.fixture
def merged(spark, pravega_config, stream, client, table):
    """A table with what is in the stream now."""

    def merged(**rules):
        head, tail = (find(stream.scope, stream.stream) for find in (client.head, client.tail))
        options = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
        options |= {"decode": "debezium-json", "key": "id", "end_stream_cut": tail.to_text()}
        frame = spark.read.format("pravega").schema(COLUMNS).options(**options).load()
        landing = landing_of(StreamCutRange(head, tail), "c", "all")
        merge_changes(frame, table, landing, MergeRules.of("id", **rules))
        return table

    return merged


@pytest.mark.parametrize("rules", [{"deletes": "hard"}, {"deletes": "soft"}, {"history": "scd2"}], ids=str)
def test_ghosts_of_the_changes_and_of_a_table_are_found(evaluate, write, merged, rules):
    write(*(made("r", 10, snapshot="true", id=id_, n=1) for id_ in (1, 2, 3)))
    known = {"key_of_rows": "id", "columns": "id int"}
    done, metadata = evaluate(build_cdc_ghost_check, **known)
    assert (done.passed, done.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "no event that says last" in done.description
    # 3 is in the snapshot, and was not merged yet.
    table = merged(**rules)
    write(*(made("r", 20, at=2, snapshot=said, id=id_, n=1) for id_, said in ((1, "first"), (3, "last"))))
    for checked in ({}, {"table": table}):
        done, metadata = evaluate(build_cdc_ghost_check, **known, **checked)
        assert (done.passed, done.severity) == (False, dg.AssetCheckSeverity.ERROR)
        assert metadata["pravega/ghosts"] == 1
        assert [record.data for record in metadata["pravega/ghost_keys"].records] == [{"id": "2"}]
    write(made("d", 30, at=3, id=2, n=None))
    for checked in ({}, {"table": table}):
        done, metadata = evaluate(build_cdc_ghost_check, **known, **checked)
        assert (done.passed, metadata["pravega/ghosts"]) == (True, 0)


@pytest.mark.parametrize("history", ["none", "scd2"])
def test_columns_that_came_went_or_changed_are_found(evaluate, write, tmp_path, history):
    table = DeltaFolder(f"{tmp_path}/table")
    known = {"table": f"delta:{table.path}"}
    write(made("c", 1, id=1, n=1, big="a"))
    done, _ = evaluate(build_cdc_drift_check, **known)
    assert (done.passed, done.description) == (False, "there is no table yet, so that nothing is compared")
    if history == "none":
        merge(table, merge_of(0, "soft"), [(1, 1, "a", 1)])
    else:
        keep(table, 0, [(1, 1, "a", 1)])
    assert evaluate(build_cdc_drift_check, **known)[0].passed

    write(made("u", 2, at=2, id=1, n=1, big="a", extra=5))
    done, metadata = evaluate(build_cdc_drift_check, **known)
    assert (done.passed, done.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert done.description == "extra: new in the changes"
    write(made("u", 3, at=3, id=1, n=1, extra=5), made("d", 4, at=4, id=2, n=1))
    done, metadata = evaluate(build_cdc_drift_check, **known)
    assert (done.passed, done.severity) == (False, dg.AssetCheckSeverity.ERROR)
    rows = [record.data for record in metadata["pravega/drift"].records]
    assert [(row["name"], row["drift"]) for row in rows] == [
        ("extra", "new in the changes"),
        ("big", "gone from the changes"),
    ]
    assert evaluate(build_cdc_drift_check, ignore=["extra", "big"], **known)[0].passed


def test_a_table_of_a_database_is_checked_by_its_resource(evaluate, write, postgres_dsn, monkeypatch):
    monkeypatch.setenv("WAREHOUSE_DSN", postgres_dsn)
    lake = new_lake("postgres", postgres_dsn)
    table = lake.table()
    where = {"table": table.table, "database_key": "warehouse"}
    write(*(made("r", 10, snapshot="true", id=id_, n=1, big="a") for id_ in (1, 2)))
    merge(table, merge_of(0), [(1, 1, "a", 1), (2, 1, "a", 1)])
    write(made("r", 20, at=2, snapshot="last", id=1, n=1, big="a"))
    done, metadata = evaluate(build_cdc_ghost_check, key_of_rows="id", columns="id int", **where)
    assert (done.passed, metadata["pravega/ghosts"]) == (False, 1)
    assert [record.data for record in metadata["pravega/ghost_keys"].records] == [{"id": "2"}]
    assert evaluate(build_cdc_drift_check, **where)[0].passed
    write(made("u", 30, at=3, id=1, n=1, big="a", extra=5))
    assert evaluate(build_cdc_drift_check, **where)[0].description == "extra: new in the changes"


def test_types_are_compared_if_events_carry_their_schema(evaluate, write, tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    events = [each for each in texts("schema", "customers") if each[0]]
    write(*events)
    after = [json.loads(data)["payload"]["after"] for data, _ in events]
    names = list(next(each for each in after if each is not None))
    columns = {"id": pa.int32(), **{name: pa.string() for name in names if name != "id"}}
    rows = pa.table({name: pa.array([], kind) for name, kind in columns.items()})
    rows = rows.append_column("_change_type", pa.array([], pa.string()))
    merge(table, merge_of(0), rows.append_column("_sequence", pa.array([], pa.binary())))
    done, metadata = evaluate(build_cdc_drift_check, table=f"delta:{table.path}")
    assert done.severity is dg.AssetCheckSeverity.ERROR
    differ = {record.data["name"]: record.data for record in metadata["pravega/drift"].records}
    assert {each["drift"] for each in differ.values()} == {"another type"}
    assert "id" not in differ


def test_what_cannot_be_checked_is_refused_at_once():
    with pytest.raises(ConfigurationError, match="tables of Delta and Iceberg"):
        build_cdc_ghost_check("orders", stream="shop/orders", key_of_rows="id", table="parquet:/data")
    with pytest.raises(ConfigurationError, match="must name the columns"):
        build_cdc_ghost_check("orders", stream="shop/orders", key_of_rows=[])
    with pytest.raises(ConfigurationError, match="tables of Delta and Iceberg"):
        build_cdc_drift_check("orders", stream="shop/orders", table="parquet:/data")
