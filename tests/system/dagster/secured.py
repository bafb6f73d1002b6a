"""Assets on a cluster with TLS and accounts. Every password is in the environment of this process, and named only."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
from pyspark.sql import DataFrame

from aiopravega import StreamName
from dagster_pravega import (
    HandedRange,
    PravegaArrowIOManager,
    PravegaResource,
    PravegaSparkIOManager,
    SchemaRegistryResource,
    StreamCutPartitions,
    build_stream_cut_sensor,
    hand_over,
    pravega_stream_spec,
    spark_session,
)

SCOPE = "dagster-secured"
RIDES = StreamName(SCOPE, "rides")
OWNER, CA_FILE = os.environ["OWNER"], os.environ["PRAVEGA_CA_FILE"]
# A run waits here until the test has removed the file.
GATE = Path(os.environ["DAGSTER_HOME"]) / "gate"
JOB = Path(__file__).parents[2] / "integration" / "dagster_tables" / "pipes_job.py"
_POLL_SECONDS = 0.1
AGAIN = dg.RetryPolicy(max_retries=3, delay=1)


def account(name: str, variable: str) -> PravegaResource:
    """The cluster, as the account whose password is in a variable; the address is in the environment, too."""
    return PravegaResource(username=name, password=dg.EnvVar(variable), ca_file=CA_FILE)


rides = pravega_stream_spec(str(RIDES), key="rides")
encoded = pravega_stream_spec(f"{SCOPE}/typed-by-spark", key="encoded")
ranges = StreamCutPartitions(str(RIDES), consumer="louder")
of_wrong = StreamCutPartitions(str(RIDES), consumer="wrong")


def taken_by(manager: str) -> dict[str, dg.AssetIn]:
    return {"rides": dg.AssetIn("rides", input_manager_key=manager)}


def into(stream: str, **options: str) -> dict[str, Any]:
    return {"pravega/stream": f"{SCOPE}/{stream}", "pravega/options": options}


@dg.asset(partitions_def=ranges, ins=taken_by("spark"), io_manager_key="spark", metadata=into("louder"))
def louder(context: dg.AssetExecutionContext, rides: DataFrame, pravega: PravegaResource) -> DataFrame:
    # What people do when something does not work.
    print(repr(pravega), str(pravega), pravega.get_config())
    context.log.info("%r %s", pravega, pravega.get_config())
    rides.explain(extended=True)
    assert not rides.isEmpty()
    while GATE.exists():
        GATE.with_name("waiting").touch()
        threading.Event().wait(_POLL_SECONDS)
    return rides.selectExpr("upper(cast(event as string)) as event")


@dg.asset(io_manager_key="arrow", metadata=into("typed", encode="auto"))
def typed() -> pa.Table:
    return pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@dg.asset(
    io_manager_key="spark", metadata=into("typed-by-spark", encode="avro", schema_registry_group="typed-by-spark")
)
def typed_by_spark() -> DataFrame:
    return spark_session().range(1, 4)


@dg.asset(
    ins={"typed": dg.AssetIn(input_manager_key="arrow"), "encoded": dg.AssetIn(input_manager_key="arrow")},
    deps=[typed_by_spark],
)
def total(typed: pa.Table, encoded: pa.Table) -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(metadata={"total": sum(pa.concat_tables([typed, encoded])["id"].to_pylist())})


@dg.asset(ins=taken_by("arrow"))
def elsewhere(
    context: dg.AssetExecutionContext, rides: HandedRange, pravega: PravegaResource, jobs: dg.PipesSubprocessClient
) -> dg.MaterializeResult[None]:
    work = hand_over(context, pravega, rides)
    return work.done(
        jobs.run(context=context, command=[sys.executable, str(JOB), "count"], extras=work.extras, env=work.secrets)
    )


@dg.asset
def read_only(reader: PravegaResource) -> dg.MaterializeResult[None]:
    events = list(reader.client.read(reader.range(str(RIDES))))
    return dg.MaterializeResult(metadata={"events": len(events)})


@dg.asset
def from_launchpad(launched: PravegaResource) -> dg.MaterializeResult[None]:
    with launched.client.writer(f"{SCOPE}/written") as writer:
        writer.write(b"by the client")
    return dg.MaterializeResult(metadata={"bytes": launched.fix_range(f"{SCOPE}/written").size})


@dg.asset(ins=taken_by("arrow"), retry_policy=AGAIN, io_manager_key="arrow_reader", metadata=into("louder"))
def may_not_write(rides: pa.Table) -> pa.Table:
    return rides.select(["event"])


@dg.asset(ins=taken_by("arrow_wrong"), retry_policy=AGAIN)
def wrong_password(rides: pa.Table) -> None:
    del rides


@dg.asset
def wrong_client(wrong: PravegaResource) -> None:
    wrong.head(str(RIDES))


def sensor(name: str, partitions: StreamCutPartitions, resource_key: str) -> dg.SensorDefinition:
    return build_stream_cut_sensor(
        name, partitions_def=partitions, target=[louder], resource_key=resource_key, minimum_interval_seconds=1
    )


owner, reader, wrong = account(OWNER, "OWNER_PASSWORD"), account("reader", "READER_PASSWORD"), account(OWNER, "WRONG")
registry = SchemaRegistryResource(username=OWNER, password=dg.EnvVar("OWNER_PASSWORD"), ca_file=CA_FILE)
defs = dg.Definitions(
    assets=[
        *(rides, encoded, louder, typed, typed_by_spark, total, elsewhere),
        *(read_only, from_launchpad, may_not_write, wrong_password, wrong_client),
    ],
    sensors=[sensor("ranges", ranges, "pravega"), sensor("wrong_ranges", of_wrong, "wrong")],
    jobs=[dg.define_asset_job("from_launchpad_job", [from_launchpad])],
    resources={
        "pravega": owner,
        "reader": reader,
        "wrong": wrong,
        "launched": PravegaResource.configure_at_launch(),
        "spark": PravegaSparkIOManager(pravega=owner, master="local[1]"),
        "arrow": PravegaArrowIOManager(pravega=owner, schema_registry=registry),
        "arrow_reader": PravegaArrowIOManager(pravega=reader),
        "arrow_wrong": PravegaArrowIOManager(pravega=wrong),
        "jobs": dg.PipesSubprocessClient(),
    },
    executor=dg.multiprocess_executor.configured({"max_concurrent": 1}),
)
