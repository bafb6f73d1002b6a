"""What the tests of Spark, Airflow and Dagster share: one Spark for a process, a blocking client, a scope of one's own.

The client's own tests have an asynchronous client instead.
"""

import logging
import uuid
import zlib
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession
from tests.integration.counted_requests import Requests, counted_requests
from tests.system.airflow.postgres import Postgres
from tests.system.other_stores import Azurite, OtherStore, SeaweedFS
from tests.system.s3_server import BUCKET, S3Server
from tests.system.servers import free_ports

from aiopravega import PravegaConfig, StreamName, wire
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import CommitRecord, CommitState, PartitionCommit


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
def terminal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """Captures what commands print, without logs: Airflow, once imported, sends those of this process there too."""
    monkeypatch.setattr(logging.root, "handlers", [])
    return capfd


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    """Counts the requests to controllers and segment stores of this process."""
    return counted_requests(monkeypatch)


@pytest.fixture(scope="session")
def postgres_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real PostgreSQL, for libpq."""
    with Postgres(free_ports(1)[0], tmp_path_factory.mktemp("postgres") / "postgres.log") as server:
        yield server.url("psycopg2").replace("+psycopg2", "")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server as a process, with one bucket."""
    with S3Server(free_ports(1)[0], tmp_path_factory.mktemp("s3") / "s3.log") as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new prefix on the S3 server, whose address and keys the environment has."""
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


def _running(kind: type[OtherStore], paths: pytest.TempPathFactory) -> Iterator[OtherStore]:
    if (reason := kind.missing()) is not None:
        pytest.skip(reason)
    with kind(paths.mktemp("store")) as server:
        yield server


def _prefix(server: OtherStore, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return f"{server.address}/{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def seaweedfs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherStore]:
    """SeaweedFS as a process."""
    yield from _running(SeaweedFS, tmp_path_factory)


@pytest.fixture(scope="session")
def azurite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherStore]:
    """Azurite as a process."""
    yield from _running(Azurite, tmp_path_factory)


@pytest.fixture
def seaweedfs(seaweedfs_server: OtherStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new prefix on SeaweedFS, whose address and keys the environment has."""
    return _prefix(seaweedfs_server, monkeypatch)


@pytest.fixture
def azurite(azurite_server: OtherStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new prefix on Azurite, whose address and keys the environment has."""
    return _prefix(azurite_server, monkeypatch)


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


@pytest.fixture
def leave_decided(client: PravegaClient) -> Callable[..., None]:
    """Leaves what a driver leaves that dies after it has decided a write: each event in a transaction of its own."""

    def leave(
        sink: StreamName, *events: bytes, write_id: str | None = None, committed: Collection[int] = (), lost: int = -1
    ) -> None:
        """`committed` are the numbers of events that are visible already; that of `lost` never will be."""
        ledger = client.commit_ledger(sink.scope)
        ledger.create()
        job = ledger.protocol().begin(sink, write_id or str(uuid.uuid4()), uuid.uuid4())
        transactions = [client.open_transaction(sink, lease=60.0) for _ in events]
        for transaction, event in zip(transactions, events, strict=True):
            transaction.write(event)
            transaction.flush()
            transaction.detach()
        ledger.prepare(
            CommitRecord(
                state=CommitState.PREPARED,
                sink=sink,
                incarnation=job.incarnation,
                write_id=job.write_id,
                attempt=job.attempt,
                partitions=tuple(
                    PartitionCommit(
                        partition=number,
                        txn_id=transaction.txn_id,
                        events=1,
                        bytes=len(event) + wire.EVENT_HEADER,
                        checksum=f"{zlib.crc32(event):08x}",
                        hashes=zlib.crc32(event),
                    )
                    for number, (transaction, event) in enumerate(zip(transactions, events, strict=True))
                ),
                prepared_at=datetime.now(UTC),
            )
        )
        for number, transaction in enumerate(transactions):
            if number in committed:
                client.attach_transaction(sink, transaction.txn_id).commit(wait=30)
            elif number == lost:
                client.attach_transaction(sink, transaction.txn_id).abort()

    return leave
