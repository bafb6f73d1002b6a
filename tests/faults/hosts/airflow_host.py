"""Airflow's real components; the process of a task is killed, and Airflow finds that by itself."""

import json
import os
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote, urlsplit

import psycopg2
from tests.faults.hosts.flows import Flow
from tests.faults.hosts.found import Ended
from tests.faults.hosts.host import LIMIT_SECONDS, Host
from tests.faults.process import INJECT
from tests.faults.steps import VARIABLE
from tests.system.airflow.components import Components
from tests.system.airflow.postgres import Postgres

from aiopravega import PravegaConfig

DAGS: Final = Path(__file__).with_name("dags")
_TASKS: Final = ("wait", "work")
_ENDED: Final = frozenset({"success", "failed"})
_POLL_SECONDS: Final = 0.3
_ERROR: Final = re.compile(r"'exc_type': '(\w+)'")


class AirflowHost(Host):
    """Runs that the scheduler starts; use it as a context manager."""

    name = "Airflow"

    def __init__(self, folder: Path, database: Postgres, config: PravegaConfig) -> None:
        super().__init__(folder)
        pravega = urlsplit(config.controller_uri)
        fields = psycopg2.extensions.parse_dsn(database.url("psycopg2").replace("+psycopg2", ""))
        warehouse = {"host": fields["host"], "port": int(fields["port"]), "login": fields["user"]}
        account = {"login": config.username} if config.username else {}
        if config.password is not None:
            account["password"] = config.password.get_secret_value()
        connections = {
            "pravega_default": {"conn_type": "pravega", "host": pravega.hostname, "port": pravega.port, **account},
            "warehouse": {"conn_type": "postgres", "schema": fields["dbname"], **warehouse},
        }
        home = folder / "home"
        home.mkdir()
        self._components = Components(
            home, database, DAGS, {name: json.dumps(fields) for name, fields in connections.items()}
        )
        environment = self._components.environment
        path = [str(INJECT), environment["PYTHONPATH"], *filter(None, [os.environ.get("PYTHONPATH")])]
        environment |= {"PYTHONPATH": os.pathsep.join(path), VARIABLE: str(folder)}
        self._api = self._components.api
        self._dags: set[str] = set()

    def __enter__(self) -> Self:
        self.steps.plan(None)
        self._components.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._components.__exit__(kind, error, trace)

    def run(self, flow: Flow, again: str = "") -> Ended:
        """Trigger a run, or clear the failed tasks of one, and wait until it has ended."""
        made = {"stream": "copy", "merge": "merge", "postgres": "land_in_database"}.get(flow.sink, "land")
        dag = f"{made}_{int(flow.again)}"
        if dag not in self._dags:
            self._api.unpause(dag)
            self._dags.add(dag)
        if again:
            fields = {"dag_run_id": again, "dry_run": False, "only_failed": True}
            self._api.request("POST", f"dags/{dag}/clearTaskInstances", json=fields)
            run = again
        else:
            given = {name: getattr(flow, name) for name in ("stream", "table", "master", "history")}
            given |= {"into": flow.into[0]} if flow.into else {}
            run = self._api.trigger(dag, conf={name: value for name, value in given.items() if value})
        ends = time.monotonic() + LIMIT_SECONDS
        while (state := self._api.run_state(dag, run)) not in _ENDED and time.monotonic() < ends:
            time.sleep(_POLL_SECONDS)
        late = state not in _ENDED
        if late:
            self._api.request("PATCH", f"dags/{dag}/dagRuns/{quote(run)}", json={"state": "failed"})
        said = "" if state == "success" else "\n".join(self._api.log(dag, run, name) for name in _TASKS)
        errors = _ERROR.findall(said)
        killed = self.steps.killed
        return Ended(
            run=run,
            ok=state == "success",
            killed=killed,
            late=late,
            error=errors[-1] if errors else "",
            said=said,
        )

    def learn(self) -> None:
        """Nothing: the supervisor of a task sees that its process has died."""
