"""Streams and their contents, an instance of Dagster, and the IO manager for the plain server."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config
from pyspark.sql import SparkSession
from tests.integration.dagster_pravega.days import write_days

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import CutRecord
from dagster_pravega import PravegaResource, PravegaSparkIOManager


@pytest.fixture(autouse=True)
def running_spark(spark: SparkSession) -> None:
    """The IO manager uses the Spark that is there."""


@pytest.fixture
def make_stream(client: PravegaClient, scope: str) -> Callable[..., StreamName]:
    """Makes streams in the test's scope."""

    def make(name: str = "stream", segments: int = 2) -> StreamName:
        assert client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(segments))
        return StreamName(scope, name)

    return make


@pytest.fixture
def append(client: PravegaClient) -> Callable[[StreamName, Iterable[str]], None]:
    """Writes events to a stream, each its own routing key."""

    def append(stream: StreamName, events: Iterable[str]) -> None:
        texts = list(events)
        with client.writer(stream) as writer:
            writer.write_many([text.encode() for text in texts], texts)

    return append


@pytest.fixture
def timed(client: PravegaClient, scope: str) -> StreamName:
    """A stream of four events a day, complete up to January 4."""
    return write_days(client, scope)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance of Dagster that keeps its events for the test."""
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def manager(pravega_config: PravegaConfig) -> PravegaSparkIOManager:
    """The IO manager for the plain server."""
    return PravegaSparkIOManager(pravega=PravegaResource(controller_uri=pravega_config.controller_uri))


@pytest.fixture
def contents(client: PravegaClient) -> Callable[[StreamName], list[str]]:
    """What is in a stream, sorted."""

    def contents(stream: StreamName) -> list[str]:
        whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
        return sorted(event.data.decode() for event in client.read(whole, stream))

    return contents


@pytest.fixture
def metadata_of() -> Callable[[dg.AssetMaterialization], dict[str, Any]]:
    """The metadata of a materialization, as plain values."""
    return lambda materialization: {name: entry.value for name, entry in materialization.metadata.items()}


@pytest.fixture
def kill_after_write(client: PravegaClient, instance: dg.DagsterInstance) -> Callable[[CutRecord], None]:
    """Leaves what a run leaves that is killed between its write and the record that it is done, and then deleted."""

    def kill_after_write(record: CutRecord) -> None:
        assert record.claimant is not None
        ledger = client.cut_ledger(record.stream.scope)
        ledger.reopen(record.identity, "its run has been killed")
        ledger.expect(record.identity, [part.name for part in record.parts], claimant=record.claimant)
        for part in record.parts:
            assert part.sink is not None
            ledger.declare(record.identity, part.name, part.sink)
        instance.delete_run(record.claimant.run)

    return kill_after_write


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a new table of each kind."""
    if request.param == "delta":
        return f"delta:{tmp_path}/table"
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    for name, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it reads the environment when it is imported
    load_catalog("lake", **properties).create_namespace("shop")
    return "iceberg:lake/shop.orders"
