"""Dagster's real processes, for the tests of a file: a daemon that is left would look for work until all tests end."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.system.dagster.components import Components

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import CutRecord

DEFINITIONS = Path(__file__).with_name("definitions")


@pytest.fixture(scope="module")
def dagster(pravega_config: PravegaConfig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Components]:
    """Code servers, a webserver and a daemon, each as a process."""
    locations = {file.stem: file for file in sorted(DEFINITIONS.glob("*.py"))}
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    with Components(tmp_path_factory.mktemp("dagster"), locations, environment) as components:
        yield components


@pytest.fixture
def client(pravega_config: PravegaConfig) -> Iterator[PravegaClient]:
    with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
def records(client: PravegaClient) -> Callable[[StreamName], list[CutRecord]]:
    """What the cut ledger has of the consumer `copies` of a stream."""

    def records(stream: StreamName) -> list[CutRecord]:
        try:
            return client.cut_ledger(stream.scope).records("copies", stream)
        except TableNotFoundError:
            return []

    return records


@pytest.fixture
def make_streams(client: PravegaClient) -> Callable[..., Callable[..., None]]:
    """Makes streams of two segments in a new scope, which definitions name; a function that writes to the first one."""

    def make(scope: str, first: str, *others: str) -> Callable[..., None]:
        assert client.create_scope(scope)
        for name in (first, *others):
            assert client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(2))

        def write(*events: str) -> None:
            with client.writer(f"{scope}/{first}") as writer:
                writer.write_many([event.encode() for event in events], events)

        return write

    return make


@pytest.fixture
def contents(client: PravegaClient) -> Callable[[str, str], list[str]]:
    """What is in a stream, sorted."""

    def contents(scope: str, stream: str) -> list[str]:
        events = client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), StreamName(scope, stream))
        return sorted(event.data.decode() for event in events)

    return contents
