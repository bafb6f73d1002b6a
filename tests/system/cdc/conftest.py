"""A shop on each database, and a Spark."""

import logging
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.system.cdc import needed
from tests.system.cdc.load import Database
from tests.system.cdc.mariadb import MariaDB
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.shop import Shop

DATABASES: dict[str, type[Database]] = {"postgresql": PostgreSQL, "mariadb": MariaDB}


@pytest.fixture(scope="package", params=list(DATABASES))
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop for all tests."""
    why = needed.missing(request.param)
    if why is not None:
        pytest.skip(why)
    with Shop(tmp_path_factory.mktemp(request.param), DATABASES[request.param]) as running:
        yield running


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark in this process."""
    logging.getLogger("py4j").setLevel(logging.WARNING)
    session = (
        SparkSession.builder.master("local[2,2]")
        .appName("cdc")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    yield session
    session.stop()
