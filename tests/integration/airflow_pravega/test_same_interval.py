"""The same month of flights by Airflow, by Dagster and by plain Spark: the same rows, and all of its flights."""

import importlib
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg
import pytest

from aiopravega import ScalingPolicy, StreamName
from dagster_pravega import PravegaResource, PravegaSparkIOManager
from pravega_jobs.spark.file_digest import digest_of_files

ROOT = Path(__file__).parents[3]
FEBRUARY = datetime(2013, 2, 1, tzinfo=UTC)
JANUARY = datetime(2013, 1, 1, tzinfo=UTC).isoformat(), FEBRUARY.isoformat()


@pytest.fixture
def examples(scope, monkeypatch, tmp_path):
    """Modules of the examples by their names, for a stream in this test's scope."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("FLIGHTS_STREAM", f"{scope}/flights")
    monkeypatch.setenv("FLIGHTS_FOLDER", str(tmp_path / "dagster"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.startswith("example_dags.") and name.endswith("flights_months"):
            del sys.modules[name]


@pytest.mark.timeout(1500)
def test_airflow_dagster_and_spark_make_the_same_of_an_interval(
    client, scope, run, spark, examples, pravega_config, tmp_path
):
    source = examples("example_dags.source")
    stream = StreamName(scope, "flights")
    client.create_stream(f"{scope}/flights", ScalingPolicy.fixed(4), timestamp_aggregation_timeout=source.PATIENCE)
    for day in (date(2013, 1, 30), date(2013, 1, 31)):  # the first mark has to be of a time in January
        [written] = source.replay(client, stream, day, day)
        next(iter(client.watermarks(f"{scope}/flights", since=written.noted, follow=True)))

    month = examples("example_dags.airflow.flights_months").flights_month
    by_airflow = run(month, FEBRUARY, conf={"flights": str(stream), "output": str(tmp_path)}).result("read")

    by_dagster = examples("example_dags.dagster.flights_months")
    result = dg.materialize(
        [by_dagster.flights_stream, by_dagster.flights_of_month],
        selection=[by_dagster.flights_of_month],
        resources={
            "pravega_spark": PravegaSparkIOManager(
                pravega=PravegaResource(controller_uri=pravega_config.controller_uri)
            )
        },
        partition_key="2013-01-01",
    )
    [materialization] = result.asset_materializations_for_node("flights_of_month")

    by_spark = examples("example_dags.spark.flights_month").flights_between(
        spark, str(stream), *JANUARY, controller=pravega_config.controller_uri
    )
    by_spark.write.parquet(str(tmp_path / "spark"))

    digests = {
        digest_of_files(spark, str(tmp_path / folder)) for folder in ("2013-01-01", "dagster/2013-01-01", "spark")
    }
    assert digests == {by_airflow["digest"]}
    flights = source._year()
    departed = flights.departed[flights.day.isin(["2013-01-30", "2013-01-31"])]
    assert by_airflow["rows"] == (departed < FEBRUARY).sum() < len(departed)
    assert materialization.metadata["pravega/events"].value == by_airflow["rows"]
    for consumer in ("flights_month/wait", "dagster/flights_of_month"):
        [record] = client.cut_ledger(scope).records(consumer, stream)
        assert record.is_done
