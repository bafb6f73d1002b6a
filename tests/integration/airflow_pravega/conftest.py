"""A real Airflow with a database of its own, and the connection to the real Pravega."""

import json
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.models.hitl import HITLDetail
from airflow.sdk import DAG, BaseOperator
from airflow.utils.db import initdb
from psycopg2.extensions import parse_dsn
from tests.faults.process import wait_until
from tests.faults.proxy import Proxy
from tests.integration.airflow_pravega.answering import has_answered, has_asked, questions_for_triggers
from tests.integration.airflow_pravega.dag_bags import store

from aiopravega import PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.ledger import Interval
from aiopravega.schema import RegistryConfig
from pravega_emulator import PravegaEmulator

PASSWORD = "canary-of-a-database"
DAGS = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])


def as_connection(config: PravegaConfig, **extra: Any) -> str:
    """An Airflow connection to the server of `config`, as it can stand in the environment."""
    uri = urlsplit(config.controller_uri)
    fields = {"conn_type": "pravega", "host": uri.hostname, "port": uri.port, "login": config.username}
    if config.password is not None:
        fields["password"] = config.password.get_secret_value()
    return json.dumps(fields | {"extra": {"tls": config.tls, "ca_file": config.ca_file, **extra}})


@pytest.fixture
def warehouse(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a database, which the connection `warehouse` names with a password that no log may have."""
    parts = parse_dsn(postgres_dsn)
    fields = {"conn_type": "postgres", "host": parts["host"], "port": int(parts["port"]), "login": parts["user"]}
    fields |= {"schema": parts["dbname"], "password": PASSWORD}
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(fields))
    return postgres_dsn


@pytest.fixture(scope="session", autouse=True)
def airflow_database() -> None:
    """Airflow's tables, made once."""
    DAGS.mkdir(exist_ok=True)
    initdb()
    DagBundlesManager().sync_bundles_to_db()


@pytest.fixture(autouse=True)
def pravega_default(pravega_config: PravegaConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection that all operators use by default."""
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_DEFAULT", as_connection(pravega_config))


@pytest.fixture(scope="session")
def connection_json() -> Callable[..., str]:
    """`as_connection`, which tests in other modules cannot import."""
    return as_connection


@pytest.fixture
def registry(
    pravega_config: PravegaConfig, pravega_emulator: PravegaEmulator, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SchemaRegistry]:
    """The Schema Registry, which the connection names."""
    uri = pravega_emulator.schema_registry_uri
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_DEFAULT", as_connection(pravega_config, schema_registry_uri=uri))
    with SchemaRegistry(RegistryConfig(uri=uri)) as opened:
        yield opened


@pytest.fixture
def schema_file(tmp_path: Path) -> Callable[[Any], str]:
    """Stores a schema of Avro in a file of its own; the path."""

    def schema_file(schema: Any) -> str:
        path = tmp_path / f"{uuid.uuid4().hex}.avsc"
        path.write_text(json.dumps(schema))
        return str(path)

    return schema_file


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The id of a connection to a port where nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        limits = {"connect_timeout": 1, "retry_timeout": 1}
        fields = {"conn_type": "pravega", "host": "127.0.0.1", "port": port, "extra": limits}
        monkeypatch.setenv("AIRFLOW_CONN_NOBODY", json.dumps(fields))
        yield "nobody"


class Away:
    """A cluster that is away until `ends`: a proxy before the controller, which resets all connections until then."""

    def __init__(self, proxy: Proxy, connection: str) -> None:
        self._proxy = proxy
        self.connection = connection

    @property
    def refused(self) -> int:
        """How many connections were reset."""
        return self._proxy.refused

    def ends(self) -> None:
        self._proxy.refuse(False)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch, pravega_config: PravegaConfig) -> Iterator[Away]:
    """A cluster that is away, and the id of a connection to it that gives up soon."""
    host, port = pravega_config.controller_uri.removeprefix("tcp://").split(":")
    assert host in {"localhost", "127.0.0.1"}
    with Proxy(int(port)) as proxy:
        proxy.refuse(True)
        limits = {"connect_timeout": 2, "retry_timeout": 1}
        fields = {"conn_type": "pravega", "host": "127.0.0.1", "port": proxy.port, "extra": limits}
        monkeypatch.setenv("AIRFLOW_CONN_AWAY", json.dumps(fields))
        yield Away(proxy, "away")


@pytest.fixture
def stream(client: PravegaClient, scope: str) -> StreamName:
    """A stream of two segments in it."""
    assert client.create_stream(f"{scope}/stream", ScalingPolicy.fixed(2))
    return StreamName(scope, "stream")


class Run:
    """The result of a DAG run: states, results and tries of its tasks. Airflow forgets a run that is repeated."""

    def __init__(self, dag_run: Any) -> None:
        tasks = dag_run.get_task_instances()
        self._states = {task.task_id: str(task.state) for task in tasks}
        self._results = {task.task_id: task.xcom_pull(task.task_id, map_indexes=task.map_index) for task in tasks}
        self._tries = {task.task_id: int(task.try_number) for task in tasks}

    def state(self, task_id: str = "task") -> str:
        return self._states[task_id]

    def result(self, task_id: str = "task") -> Any:
        assert self.state(task_id) == "success"
        return self._results[task_id]

    def tries(self, task_id: str = "task") -> int:
        return self._tries[task_id]


def run_dag(dag: DAG, logical_date: datetime | None = None, conf: dict[str, Any] | None = None) -> Run:
    """Run a DAG in this process; the same logical date is the same run, cleared."""
    store(dag, DAGS)
    return Run(dag.test(run_conf=conf, logical_date=logical_date or datetime.now(UTC)))


@pytest.fixture
def run() -> Callable[[DAG], Run]:
    """`run_dag`, which tests in other modules cannot import."""
    return run_dag


@pytest.fixture
def run_task() -> Callable[..., Run]:
    """Runs one operator, given as a function from its common arguments to it, in a DAG of its own.

    The task is tried twice, so that the tries show whether a failure was permanent.
    """
    dag_id = f"dag-{uuid.uuid4().hex}"

    def runner(
        make: Callable[..., BaseOperator], logical_date: datetime | None = None, conf: dict[str, Any] | None = None
    ) -> Run:
        with DAG(dag_id, schedule=None) as dag:
            make(task_id="task", retries=1, retry_delay=0)
        return run_dag(dag, logical_date, conf)

    return runner


@pytest.fixture
def meanwhile() -> Callable[..., Any]:
    """Runs a function in a thread while the block runs; an error in it fails the test."""

    @contextmanager
    def running(work: Callable[[], None]) -> Iterator[None]:
        errors: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
                errors.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        try:
            yield
        finally:
            thread.join(timeout=300)
        if errors:
            raise errors[0]

    return running


@pytest.fixture
def answered(meanwhile: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Answers the one question that a DAG asks while the block runs; its list gets the question, as Airflow has it.

    `then` is called before the answer; None as the choice: nobody answers, and the time is over.
    """

    @contextmanager
    def answered(
        dag_id: str, choice: str | None, then: Callable[[], None] = lambda: None
    ) -> Iterator[list[HITLDetail]]:
        asked: list[HITLDetail] = []

        def answer() -> None:
            wait_until(lambda: has_asked(dag_id, asked), lambda: f"{dag_id} asks", 300, every=0.2)
            try:
                then()
            finally:  # a run that nobody answers would not end
                wait_until(lambda: has_answered(dag_id, choice), lambda: f"{dag_id} is answered", 300, every=0.5)

        with questions_for_triggers(monkeypatch), meanwhile(answer):
            yield asked

    return answered


@pytest.fixture
def write(client: PravegaClient, stream: StreamName) -> Callable[..., None]:
    """Writes events to the stream."""

    def write(*events: bytes) -> None:
        with client.writer(stream) as writer:
            writer.write_many(events)

    return write


@pytest.fixture
def read(client: PravegaClient) -> Callable[[dict[str, str]], list[bytes]]:
    """Reads the events of a range that a sensor has returned."""

    def read(result: dict[str, str]) -> list[bytes]:
        return sorted(event.data for event in client.read(StreamCutRange.from_json(result)))

    return read


@pytest.fixture
def finish(client: PravegaClient, stream: StreamName) -> Callable[[dict[str, str]], None]:
    """Records that the range of a sensor has been processed, as a read does."""

    def finish(result: dict[str, str]) -> None:
        client.cut_ledger(stream.scope).finish(Interval(result["consumer"], stream, result["interval"]))

    return finish


@pytest.fixture
def spark_submit_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a `spark-submit` on the path whose first call is a script; `{real}` is the real one, `{folder}` a folder."""

    def install(script: str) -> Path:
        folder, real = (
            tmp_path / "bin",
            next(
                path for each in os.environ["PATH"].split(os.pathsep) if (path := Path(each, "spark-submit")).exists()
            ),
        )
        folder.mkdir()
        first = script.format(real=real, folder=folder)
        text = f'#!/bin/sh\nif [ ! -e {folder}/called ]; then\ntouch {folder}/called\n{first}\nfi\nexec {real} "$@"\n'
        (folder / "spark-submit").write_text(text)
        (folder / "spark-submit").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder

    return install
