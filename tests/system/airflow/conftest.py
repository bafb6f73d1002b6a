"""Airflow's real components on PostgreSQL, for all tests of this folder."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.system.airflow.components import Components
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from pravega_emulator import PravegaEmulator

DAGS = Path(__file__).with_name("dags")


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """Airflow's database."""
    with Postgres(free_ports(1)[0], tmp_path_factory.mktemp("postgres") / "postgres.log") as started:
        yield started


@pytest.fixture(scope="session")
def airflow(
    pravega_config: PravegaConfig,
    pravega_emulator: PravegaEmulator,
    database: Postgres,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Components]:
    """API server, scheduler, DAG processor and triggerer, each as a process."""
    uri = urlsplit(pravega_config.controller_uri)
    extra = {"schema_registry_uri": pravega_emulator.schema_registry_uri}
    connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port, "extra": extra})
    connections = {
        "pravega_default": connection,
        "spark_default": json.dumps({"conn_type": "spark", "host": "local[2]"}),
    }
    folder = tmp_path_factory.mktemp("airflow")
    with Components(folder, database, DAGS, connections) as components:
        yield components


@pytest.fixture
def client(pravega_config: PravegaConfig) -> Iterator[PravegaClient]:
    with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
def make_stream(client: PravegaClient) -> Callable[[str], Callable[..., None]]:
    """Makes a stream of two segments that a DAG file names, in a new scope; a function that writes events to it."""

    def make(name: str) -> Callable[..., None]:
        stream = StreamName.parse(name)
        assert client.create_scope(stream.scope)
        assert client.create_stream(stream, ScalingPolicy.fixed(2))

        def write(*events: str) -> None:
            with client.writer(stream) as writer:
                writer.write_many([event.encode() for event in events])

        return write

    return make
