"""The example of Pipes: its job reads new flights and writes delays once, by a Spark of its own or elsewhere."""

import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
from tests.system.spark_cluster import SparkCluster

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

pytestmark = [pytest.mark.xdist_group("dagster_pravega"), pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_dags" / "dagster" / "flights_elsewhere.py"
CARRIERS = ("AA", "UA", "B6")


def flights(day: int) -> list[bytes]:
    """Five flights of each carrier."""
    values = [
        {
            "departure": f"2013-01-{day:02}T05:{number:02}:00",
            "carrier": carrier,
            "flight": number,
            "origin": "EWR",
            "dest": "IAH",
            "dep_delay": float(number),
        }
        for carrier in CARRIERS
        for number in range(5)
    ]
    return [json.dumps(value).encode() for value in values]


@pytest.fixture
def client(pravega_config):
    with PravegaClient(pravega_config) as connected:
        yield connected


@pytest.fixture
def scope(client, pravega_config, monkeypatch):
    """A scope of the test's own, which the example reads from the environment."""
    name = f"elsewhere-{uuid4().hex}"
    client.create_scope(name)
    for stream in ("flights", "carriers"):
        client.create_stream(f"{name}/{stream}", ScalingPolicy.fixed(2))
        monkeypatch.setenv(f"{stream.upper()}_STREAM", f"{name}/{stream}")
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    return name


@pytest.fixture
def materialize(scope, monkeypatch):
    """Materializes the example's asset; returns what it says of itself."""
    spec = spec_from_file_location("flights_elsewhere_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert f"{scope}/flights" == module.FLIGHTS
    with dg.DagsterInstance.ephemeral() as instance:

        def materialize() -> dict[str, object]:
            result = dg.materialize(
                [module.flights_stream, module.delays_of_carriers],
                selection=[module.delays_of_carriers],
                resources=dict(module.defs.resources),
                instance=instance,
            )
            [found] = result.asset_materializations_for_node("delays_of_carriers")
            return {name: entry.value for name, entry in found.metadata.items()}

        yield materialize


@pytest.fixture(params=["here", *(pytest.param(each, marks=pytest.mark.slow) for each in ("cluster", "connect"))])
def spark_of_the_job(request, tmp_path, monkeypatch):
    """Where the job's Spark runs, for PySpark hands these words to spark-submit, and the days of the flights.

    A run is a Spark of its own. That a second run takes only what is new is shown on the cluster and on a Spark Connect
    server, and for all assets in `tests/integration`.
    """
    if request.param == "connect":
        server = request.getfixturevalue("spark_connect_url")
        monkeypatch.setenv("SPARK_REMOTE", server)
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master none pyspark-shell")  # a Spark of its own cannot start
        yield (1, 2), lambda: None
        return
    if request.param == "here":
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[2] pyspark-shell")
        yield (1,), lambda: None
        return
    with SparkCluster(tmp_path) as cluster:
        worker = cluster.start_worker()
        words = f"--master {cluster.url} --conf spark.executor.memory=512m pyspark-shell"
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words)

        def check() -> None:
            applications = [path.name for path in (tmp_path / "worker-1").glob("app-*")]
            assert applications, f"nothing ran on the worker: {worker.said()}"

        yield (1, 2), check


def test_each_run_reads_the_new_flights_and_writes_their_delays_once(client, scope, materialize, spark_of_the_job):
    stream = StreamName(scope, "flights")
    days, check_spark = spark_of_the_job
    for day in days:
        with client.writer(stream) as writer:
            writer.write_many(flights(day))
        said = materialize()
        assert said["carriers and days"] == len(CARRIERS)
        assert said["pravega/events"] == len(CARRIERS)

    records = client.cut_ledger(scope).records("dagster/delays_of_carriers", stream)
    assert [record.is_done for record in records] == [True for _ in days]
    assert records[-1].range.end == client.tail(stream)
    written = client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), StreamName(scope, "carriers"))
    rows = [json.loads(event.data) for event in written]
    expected = [(carrier, f"2013-01-{day:02}") for carrier in CARRIERS for day in days]
    assert sorted((row["carrier"], row["day"]) for row in rows) == sorted(expected)
    assert {(row["flights"], row["delay_minutes"]) for row in rows} == {(5, 10.0)}
    check_spark()
