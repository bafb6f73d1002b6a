"""One Spark for all tests of this process, a blocking client, and names that no other test uses."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this machine's process: two tasks at a time, each of which may fail once."""
    session = (
        SparkSession.builder.master("local[2,2]")
        .appName("tests of pyspark-pravega")
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
    name = f"spark-{uuid.uuid4().hex}"
    assert client.create_scope(name)
    return name


@pytest.fixture
def make_stream(client: PravegaClient, scope: str) -> Callable[..., StreamName]:
    """Makes streams in the test's scope."""

    def make(segments: int = 1, name: str = "stream") -> StreamName:
        assert client.create_stream(scope, name, ScalingPolicy.fixed(segments))
        return StreamName(scope, name)

    return make
