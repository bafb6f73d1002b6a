"""Airflow's components as processes, each in a session of its own: started, waited for, killed, started again."""

import base64
import os
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.faults.process import ROOT, ProcessTree
from tests.system.airflow.api import Api
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports, start_server

API_SERVER: Final = "api-server"
# Each writes to the database that it lives.
BEATING: Final = ("scheduler", "dag-processor", "triggerer")
_AIRFLOW: Final = Path(sys.executable).with_name("airflow")


class Components:
    """The components on one database; use it as a context manager.

    Args:
        folder: Airflow's home, with the log of each component beside those of the tasks.
        database: a running server with an empty database.
        dags: the folder of the DAG files.
        connections: by their ids, as the environment has them.

    Attributes:
        environment: of each component, with its settings.
    """

    def __init__(self, folder: Path, database: Postgres, dags: Path, connections: dict[str, str]) -> None:
        self.home = folder
        self.logs = folder / "logs"
        self.logs.mkdir()
        port, of_triggerer, of_worker = free_ports(3)
        self.api = Api(port, str(self.logs))
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "PATH": f"{_AIRFLOW.parent}{os.pathsep}{os.environ['PATH']}",  # where spark-submit is
            "AIRFLOW_HOME": str(folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.url("psycopg2"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": database.url("asyncpg"),
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": secrets.token_hex(16),
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.logs),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(of_triggerer),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(of_worker),
            # A machine that does other work needs minutes for what takes seconds.
            "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "180",
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",  # the files do not change
            # A task that finds no API server, because it was killed, or a slow one, waits for it.
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            "AIRFLOW__WORKERS__EXECUTION_API_RETRIES": "120",
            "AIRFLOW__WORKERS__EXECUTION_API_RETRY_WAIT_MAX": "5",
            # What a killed component has left is found soon.
            "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "15",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "120",
        }
        self.environment |= {f"AIRFLOW_CONN_{name.upper()}": value for name, value in connections.items()}
        self._running: dict[str, ProcessTree] = {}

    def run(self, *words: str) -> str:
        """Run `airflow` with these words; what it says, standard error included, is in `airflow.log`, too."""
        ended = subprocess.run(
            [_AIRFLOW, *words], check=False, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said = ended.stdout.decode(errors="replace")
        with (self.logs / "airflow.log").open("a") as log:
            log.write(said)
        assert ended.returncode == 0, f"airflow {' '.join(words)}: {said[-2000:]}; the logs are in {self.logs}"
        return said

    def start(self, *names: str) -> None:
        """Start components, and wait until they are ready."""
        since = datetime.now(UTC)
        for name in names:
            self._running[name] = start_server([_AIRFLOW, name], self.logs / f"{name}.log", self.environment)
        if API_SERVER in names:
            self.api.log_in()
        for name in set(names) & set(BEATING):
            self.api.wait(lambda name=name: self._beats(name, since), f"{name} is ready")

    def _beats(self, name: str, since: datetime) -> bool:
        component = self._running[name]
        assert component.process.poll() is None, f"{name} has ended: {component.said()}; the logs are in {self.logs}"
        heartbeat = self.api.heartbeat(name.replace("-", "_"))
        return heartbeat is not None and heartbeat > since

    def tree(self, name: str) -> ProcessTree:
        """The processes of a component that runs."""
        return self._running[name]

    def kill(self, name: str) -> None:
        """Kill a component and all its processes with `kill -9`, as when its machine dies."""
        self._running.pop(name).kill()

    def __enter__(self) -> Self:
        try:
            self.run("db", "migrate")
            self.start(API_SERVER, *BEATING)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill what runs; the database ends after it, so nothing has to be put in order."""
        self.api.close()
        for name in list(self._running):
            self.kill(name)
