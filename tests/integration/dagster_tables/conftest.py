"""A stream, an instance of Dagster and the IO manager of tables: no Spark is started in this process."""

from collections.abc import Callable, Iterator

import dagster as dg
import pytest

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from dagster_pravega import PravegaArrowIOManager, PravegaResource


@pytest.fixture
def stream(client: PravegaClient, scope: str) -> StreamName:
    assert client.create_stream(f"{scope}/rides", ScalingPolicy.fixed(2))
    return StreamName(scope, "rides")


@pytest.fixture
def sink(client: PravegaClient, scope: str) -> StreamName:
    assert client.create_stream(f"{scope}/copies", ScalingPolicy.fixed(2))
    return StreamName(scope, "copies")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def manager(pravega_config: PravegaConfig) -> PravegaArrowIOManager:
    return PravegaArrowIOManager(pravega=PravegaResource(controller_uri=pravega_config.controller_uri))


@pytest.fixture
def contents(client: PravegaClient) -> Callable[[StreamName], list[str]]:
    """What is in a stream, sorted."""

    def contents(stream: StreamName) -> list[str]:
        whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
        return sorted(event.data.decode() for event in client.read(whole, stream))

    return contents
