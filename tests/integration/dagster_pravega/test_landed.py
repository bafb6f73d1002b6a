"""Assets that are tables, by a real Spark: each interval once, replaced by a new generation, not doubled by a claim."""

import json
from collections import Counter
from pathlib import Path
from runpy import run_path

import dagster as dg
import psycopg2
import pytest
from pyarrow import dataset
from pyspark.sql import functions as sql
from tests.integration.dagster_pravega.days import DAYS, HOURS, OPTIONS, at, interval_of, key

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from dagster_pravega import LandingDatabase, StreamCutPartitions, build_landed_asset, pravega_stream_spec
from pravega_jobs.landing import ParquetFolder, Postgres, holdings, list_errors

EXAMPLE = Path(__file__).parents[3] / "example_dags" / "dagster" / "orders_landed.py"
LAKE = dg.AssetKey(["lake", "orders"])
OWNER = "dagster/lake/orders"
PASSWORD = "canary-of-a-database"


@pytest.fixture
def stream(make_stream, append):
    stream = make_stream()
    append(stream, ["a", "b"])
    return stream


@pytest.fixture
def run(manager, instance, metadata_of):
    """Materializes a table; gives its metadata and data version, or why it failed."""

    def run(spec, asset, *, resources=None, **arguments):
        result = dg.materialize(
            [spec, asset],
            selection=[asset.key],
            resources={"pravega_spark": manager, **(resources or {})},
            instance=instance,
            raise_on_error=False,
            **arguments,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [event] = result.get_asset_materialization_events()
        tags = event.materialization.tags or {}
        return {**metadata_of(event.materialization), "version": tags["dagster/data_version"]}

    return run


def texts(events):
    return events.select(sql.col("event").cast("string").alias("text"))


def in_folder(path):
    """The intervals and rows of a folder of Parquet files."""
    rows = dataset.dataset(path, format="parquet", ignore_prefixes=["."]).to_table().to_pylist()
    return Counter((row["_interval"], row.get("text", row.get("at"))) for row in rows)


def test_runs_land_what_came_since_the_last_one_once(run, stream, append, client, kill_after_write, tmp_path):
    spec = pravega_stream_spec(str(stream))
    table = f"parquet:{tmp_path}/table"
    asset = build_landed_asset(spec, key=LAKE, table=table, transform=texts, since="last", group_name="lake")
    first = run(spec, asset)
    assert (first["pravega/landing"], first["pravega/rows"], first["pravega/events"]) == ("append", 2, 2)
    assert first["dagster/last_updated_timestamp"] == holdings(table)[0].landed_at.timestamp()
    assert (first["pravega/consumer"], first["pravega/generation"]) == (OWNER, 1)
    append(stream, ["c"])
    assert run(spec, asset)["pravega/rows"] == 1
    assert Counter(text for _, text in in_folder(f"{tmp_path}/table").elements()) == Counter("abc")
    assert sorted(each.rows for each in holdings(table)) == [1, 2]
    records = client.cut_ledger(stream.scope).records(OWNER, stream)
    assert [record.is_done for record in records] == [True, True]
    assert {each.interval: each.range for each in holdings(table)} == {each.interval: each.range for each in records}

    kill_after_write(records[-1])
    append(stream, ["d"])
    assert run(spec, asset)["pravega/rows"] == 1
    assert Counter(text for _, text in in_folder(f"{tmp_path}/table").elements()) == Counter("abcd")
    assert all(record.is_done for record in client.cut_ledger(stream.scope).records(OWNER, stream))


def test_events_that_cannot_be_decoded_are_in_the_errors_table(run, stream, append, tmp_path):
    append(stream, ['{"number": 1}'])
    spec = pravega_stream_spec(str(stream), options={"decode": "json", "on_error": "dead"})
    table, errors = f"parquet:{tmp_path}/table", f"parquet:{tmp_path}/errors"
    asset = build_landed_asset(
        spec, key=LAKE, table=table, since="last", columns="number long", errors=errors, most_errors="67%"
    )
    found = run(spec, asset)
    assert (found["pravega/rows"], found["pravega/errors"], found["pravega/events"]) == (1, 2, 3)
    assert [column.name for column in found["dagster/column_schema"].columns] == ["number"]
    [number] = found["dagster/column_lineage"].deps_by_column["number"]
    assert (number.asset_key, number.column_name) == (spec.key, "number")
    assert [(each.state, each.landed) for each in list_errors(table)] == [("counted", 2)]
    append(stream, ["c"])
    assert "1 of 1 rows are errors" in run(spec, asset)
    assert [each.rows for each in holdings(table)] == [1]


def test_the_row_count_is_of_the_table_and_events_are_of_the_run(run, stream, append, table, client, instance):
    spec = pravega_stream_spec(str(stream))
    partitions = StreamCutPartitions(str(stream), consumer="lander")
    asset = build_landed_asset(spec, key=LAKE, table=table, partitions_def=partitions)
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    head, middle = client.head(stream), client.tail(stream)
    append(stream, ["c"])
    for name, cuts in {"1": StreamCutRange(head, middle), "2": StreamCutRange(middle, client.tail(stream))}.items():
        ledger.claim(Interval("lander", stream, name), cuts)
    instance.add_dynamic_partitions(partitions.name, ["1", "2"])

    counts = ("dagster/row_count", "dagster/partition_row_count", "pravega/rows", "pravega/events")
    landed = [run(spec, asset, partition_key=name) for name in ("1", "2", "1")]
    assert [[metadata[count] for count in counts] for metadata in landed] == [[2, 2, 2, 2], [3, 1, 1, 1], [3, 2, 2, 2]]
    times = [metadata["dagster/last_updated_timestamp"] for metadata in landed]
    assert times[0] == times[2] < times[1]


def test_a_partition_is_landed_once_and_replaced_by_a_new_generation(
    run, stream, client, instance, postgres_dsn, scope, capfd, monkeypatch
):
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    cuts = client.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
    ledger.claim(Interval("lander", stream, "monday"), cuts)
    partitions = StreamCutPartitions(str(stream), consumer="lander")
    instance.add_dynamic_partitions(partitions.name, ["monday"])
    spec = pravega_stream_spec(str(stream))
    asset = build_landed_asset(
        spec, key=LAKE, table=scope, database_key="warehouse", transform=texts, partitions_def=partitions
    )
    fields = psycopg2.extensions.parse_dsn(postgres_dsn)
    dsn = psycopg2.extensions.make_dsn(**fields, password=PASSWORD)
    monkeypatch.setenv("WAREHOUSE_DSN", dsn)
    resources = {"warehouse": LandingDatabase(dsn=dg.EnvVar("WAREHOUSE_DSN"))}

    def land(**arguments):
        return run(spec, asset, resources=resources, partition_key="monday", **arguments)

    first = land()
    assert (first["pravega/landing"], first["dagster/partition_row_count"]) == ("append", 2)
    again = land()
    assert (again["pravega/landing"], again["version"]) == ("nothing", first["version"])
    rebuilt = land(run_config={"ops": {"lake__orders": {"config": {"rebuild": 2}}}})
    assert (rebuilt["pravega/landing"], rebuilt["pravega/generation"]) == ("replace", 2)
    assert rebuilt["version"] != first["version"]
    assert land(tags={"pravega/rebuild": "2"})["pravega/landing"] == "nothing"
    assert "An older one does not replace it" in land()
    assert Postgres(postgres_dsn, scope).rows() == {("lander", "monday"): 2}
    assert ledger.find(Interval("lander", stream, "monday")).is_done
    stored = [str(record) for each in instance.get_runs() for record in instance.all_logs(each.run_id)]
    assert stored
    assert not [text for text in [*stored, *capfd.readouterr()] if PASSWORD in text]


def test_a_day_that_is_claimed_again_replaces_its_rows_and_doubles_none(run, timed, client, tmp_path):
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    table = f"parquet:{tmp_path}/table"
    asset = build_landed_asset(spec, key=LAKE, table=table, partitions_def=DAYS)
    day = [at(1, hour) for hour in HOURS]
    assert run(spec, asset, partition_key=key(1))["dagster/partition_row_count"] == len(HOURS)
    late = at(1, 7)
    with client.writer(timed) as writer:
        writer.write(json.dumps({"at": late}).encode())
    assert "as generation 2" in run(spec, asset, partition_key=key(1), tags={"pravega/claim": "2"})
    tags = {"pravega/claim": "2", "pravega/rebuild": "2"}
    assert run(spec, asset, partition_key=key(1), tags=tags)["pravega/landing"] == "replace"
    assert in_folder(f"{tmp_path}/table") == Counter((interval_of(1), time) for time in [*day, late])
    assert ParquetFolder(f"{tmp_path}/table").rows() == {(OWNER, interval_of(1)): len(HOURS) + 1}


def test_what_is_no_interval_is_refused(run, stream, tmp_path):
    spec = pravega_stream_spec(str(stream))
    table = f"parquet:{tmp_path}/table"
    with pytest.raises(ConfigurationError, match="has neither partitions_def nor since"):
        build_landed_asset(spec, key=LAKE, table=table)
    with pytest.raises(ConfigurationError, match="has both partitions_def and since"):
        build_landed_asset(spec, key=LAKE, table=table, since="last", partitions_def=DAYS)
    with pytest.raises(ConfigurationError, match="must be one of last, latest"):
        build_landed_asset(spec, key=LAKE, table=table, since="earliest")
    with pytest.raises(ConfigurationError, match="database_key"):
        build_landed_asset(spec, key=LAKE, table="postgresql://ada:secret@db/lake#orders", since="last")
    with pytest.raises(ConfigurationError, match="partition_by is for tables of Delta and Iceberg"):
        build_landed_asset(spec, key=LAKE, table=table, since="last", partition_by=["day"])
    colours = dg.StaticPartitionsDefinition(["red", "blue"])
    everything = {"pravega/cuts": {"start": "earliest", "end": "latest"}}
    asset = build_landed_asset(spec, key=LAKE, table=table, partitions_def=colours, input_metadata=everything)
    assert "is not an interval of the cut ledger" in run(spec, asset, partition_key="red")


def test_the_example_lands_orders_once(stream, append, instance, pravega_config, tmp_path, monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.setenv("ORDERS_STREAM", str(stream))
    monkeypatch.setenv("ORDERS_TABLE", f"parquet:{tmp_path}/orders")
    append(stream, [json.dumps({"order": number, "run": "first"}) for number in range(3)])
    definitions = run_path(str(EXAMPLE))["defs"]
    job = definitions.resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(instance=instance).success
    assert job.execute_in_process(instance=instance).success
    rows = dataset.dataset(f"{tmp_path}/orders", format="parquet", ignore_prefixes=["."]).to_table().to_pylist()
    assert sorted(row["order"] for row in rows if row["run"] == "first") == [0, 1, 2]
    assert len(rows) == 5  # two events of the stream are not orders
