"""What the tests of Spark, Airflow and Dagster share: one Spark for a process, a blocking client, a scope of one's own.

The client's own tests have an asynchronous client instead.
"""

import logging
import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from aiopravega import PravegaConfig
from aiopravega.blocking import PravegaClient


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark in this process: two tasks at a time, each of which may fail once."""
    # Its last words come when the streams that Airflow's logging writes to are closed.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    session = (
        SparkSession.builder.master("local[2,2]")
        .appName("tests")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
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
    name = f"test-{uuid.uuid4().hex}"
    assert client.create_scope(name)
    return name
