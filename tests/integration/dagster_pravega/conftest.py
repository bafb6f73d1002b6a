"""One Spark for all tests of this process, a client, names that no other test uses, and an instance of Dagster."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from dagster_pravega import PravegaResource, PravegaSparkIOManager


@pytest.fixture(scope="session", autouse=True)
def spark() -> Iterator[SparkSession]:
    """Spark in this machine's process, two tasks at a time: the IO manager uses what is there."""
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests of dagster-pravega")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def client(pravega_config: PravegaConfig) -> Iterator[PravegaClient]:
    """A blocking client of the plain server."""
    with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
def scope(client: PravegaClient) -> str:
    """A scope of the test's own."""
    name = f"dagster-{uuid.uuid4().hex}"
    assert client.create_scope(name)
    return name


@pytest.fixture
def make_stream(client: PravegaClient, scope: str) -> Callable[..., StreamName]:
    """Makes streams in the test's scope."""

    def make(name: str = "stream", segments: int = 2) -> StreamName:
        assert client.create_stream(scope, name, ScalingPolicy.fixed(segments))
        return StreamName(scope, name)

    return make


@pytest.fixture
def append(client: PravegaClient) -> Callable[[StreamName, Iterable[str]], None]:
    """Writes events to a stream, each its own routing key."""

    def append(stream: StreamName, events: Iterable[str]) -> None:
        texts = list(events)
        with client.writer(stream.scope, stream.stream) as writer:
            writer.write_many([text.encode() for text in texts], texts)

    return append


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
