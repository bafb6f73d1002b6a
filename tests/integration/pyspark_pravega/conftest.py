"""One Spark for all tests of this process, a blocking client, and names that no other test uses."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient

Read = Callable[..., DataFrame]
Fill = Callable[..., list[bytes]]


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


@pytest.fixture
def read(spark, pravega_config) -> Read:
    """A DataFrame of a stream, with options."""

    def read(stream: StreamName, **options: object) -> DataFrame:
        named = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
        texts = {name: str(value) for name, value in options.items()}
        frame: DataFrame = spark.read.format("pravega").options(**named | texts).load()
        return frame

    return read


@pytest.fixture
def fill(client) -> Fill:
    """Writes events `name-0 …`, each with a key of its own, and returns them."""

    def fill(stream: StreamName, count: int, name: str = "event") -> list[bytes]:
        events = [f"{name}-{number}".encode() for number in range(count)]
        with client.writer(stream.scope, stream.stream) as writer:
            writer.write_many(events, [str(number) for number in range(count)])
        return events

    return fill
