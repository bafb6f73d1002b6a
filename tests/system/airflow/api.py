"""Airflow's REST API, as far as the tests need it."""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import httpx
from tests.faults.process import wait_until

# A component of Airflow may need minutes on a machine that does other work.
PATIENCE: Final = 900.0
_REQUEST_SECONDS: Final = 120.0
_ENDED: Final = frozenset({"success", "failed"})


class Api:
    """The API server at a port; `logs` is named when something does not come true."""

    def __init__(self, port: int, logs: str) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._http = httpx.Client(base_url=self.address, timeout=_REQUEST_SECONDS)
        self._logs = logs

    def close(self) -> None:
        self._http.close()

    def request(self, method: str, path: str, **arguments: Any) -> Any:
        """The answer to a request; an error is one."""
        response = self._http.request(method, f"/api/v2/{path}", **arguments)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    def page(self, path: str) -> str:
        """A page that is not of the REST API."""
        return self._http.get(f"/{path}").raise_for_status().text

    def log_in(self, password: str | None = None) -> None:
        """Wait until the server answers, and take a token; with a password as the user `admin`."""
        path = "/auth/token"
        if password is None:
            self.wait(lambda: self._answers(path), "the API server answers")
            answer = self._http.get(path)
        else:
            self.wait(lambda: self._answers("/api/v2/version"), "the API server answers")
            answer = self._http.post(path, json={"username": "admin", "password": password})
        token = answer.raise_for_status().json()["access_token"]
        self._http.headers["Authorization"] = f"Bearer {token}"

    def _answers(self, path: str) -> bool:
        try:
            return self._http.get(path).is_success
        except httpx.TransportError:
            return False

    def wait(self, done: Any, what: str) -> None:
        """Ask again and again, until something holds."""
        wait_until(done, lambda: f"{what}; the logs are in {self._logs}", PATIENCE, every=0.5)

    def heartbeat(self, component: str) -> datetime | None:
        """When a component last wrote to the database that it lives."""
        health = self.request("GET", "monitor/health")[component]
        text = health.get(f"latest_{component}_heartbeat")
        return None if text is None else datetime.fromisoformat(text)

    def unpause(self, *dag_ids: str) -> None:
        """Let the scheduler run DAGs, once their files are parsed."""
        for dag_id in dag_ids:
            self.wait(partial(self._is_known, dag_id), f"the DAG {dag_id} is parsed")
            self.request("PATCH", f"dags/{dag_id}", json={"is_paused": False})

    def start_watchers(self, dag_id: str) -> None:
        """Have a DAG's file parsed again now: then the watchers of a DAG begin that is not paused any more."""
        token = self.request("GET", f"dags/{dag_id}")["file_token"]
        self.request("PUT", f"parseDagFile/{token}")

    def _is_known(self, dag_id: str) -> bool:
        errors = self.request("GET", "importErrors")["import_errors"]
        assert not errors, "\n".join(each["stack_trace"] for each in errors)
        return self._answers(f"/api/v2/dags/{dag_id}")

    def trigger(self, dag_id: str, **fields: Any) -> str:
        """Start a run without a logical date, unless one is given; its id."""
        run = self.request("POST", f"dags/{dag_id}/dagRuns", json={"logical_date": None, **fields})
        return str(run["dag_run_id"])

    def asset_event(self, uri: str) -> None:
        """Say that an asset has changed."""
        [asset] = self.request("GET", "assets", params={"uri_pattern": uri})["assets"]
        self.request("POST", "assets/events", json={"asset_id": asset["id"]})

    def add_connection(self, conn_id: str, conn_type: str, **fields: Any) -> None:
        """Store a connection in Airflow's database; `extra` is a text."""
        self.request("POST", "connections", json={"connection_id": conn_id, "conn_type": conn_type, **fields})

    def all_runs(self, dag_id: str) -> list[dict[str, Any]]:
        """A DAG's runs, oldest first, with `run_type`, `state`, `start_date` and others."""
        return list(self.request("GET", f"dags/{dag_id}/dagRuns", params={"order_by": "id"})["dag_runs"])

    def runs(self, dag_id: str) -> list[str]:
        """The ids of a DAG's runs, oldest first."""
        return [run["dag_run_id"] for run in self.all_runs(dag_id)]

    def only_run(self, dag_id: str) -> str:
        """The id of the run that a DAG has got; it is waited for."""
        self.wait(lambda: self.runs(dag_id), f"{dag_id} has a run")
        [run_id] = self.runs(dag_id)
        return run_id

    def task(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """A task of a run, with `state`, `try_number`, `start_date` and others."""
        return self.request("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}")

    def wait_for_task(self, dag_id: str, run_id: str, task_id: str, state: str) -> None:
        """Wait until a task has a state."""
        what = f"{task_id} of {dag_id}, {run_id}, is {state}"
        self.wait(lambda: self.task(dag_id, run_id, task_id)["state"] == state, what)

    def wait_for_run(self, dag_id: str, run_id: str, state: str = "success") -> None:
        """Wait until a run has ended, in this state."""
        what = f"{dag_id}, {run_id}, has ended"
        self.wait(lambda: self.run_state(dag_id, run_id) in _ENDED, what)
        assert self.run_state(dag_id, run_id) == state, f"{dag_id}, {run_id}; the logs are in {self._logs}"

    def wait_for_any_run(self, dag_id: str, run_ids: Collection[str]) -> str:
        """Wait until the first of some runs has ended; its id."""

        def ended() -> list[str]:
            return [run_id for run_id in run_ids if self.run_state(dag_id, run_id) in _ENDED]

        self.wait(ended, f"one of {run_ids} has ended")
        return ended()[0]

    def run_state(self, dag_id: str, run_id: str) -> str:
        """The state of a run."""
        return str(self.request("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}")["state"])

    def task_starts(self, dag_id: str) -> int:
        """How often a worker has started a task of a DAG; what continues after it was deferred counts again."""
        found = self.request("GET", "eventLogs", params={"dag_id": dag_id, "event": "running", "limit": 1})
        return int(found["total_entries"])

    def delete_run(self, dag_id: str, run_id: str) -> None:
        """Delete a run with its tasks."""
        response = self._http.request("DELETE", f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}")
        assert response.is_success, f"{run_id} is not deleted: {response.status_code} {response.text}"

    def clear(self, dag_id: str, run_id: str, *task_ids: str) -> None:
        """Have tasks of a run done again; without their names, all."""
        fields = {"dag_run_id": run_id, "dry_run": False, "only_failed": False}
        if task_ids:
            fields["task_ids"] = list(task_ids)
        self.request("POST", f"dags/{dag_id}/clearTaskInstances", json=fields)

    def end_task(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Mark a task as failed, as a person does."""
        path = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}"
        self.request("PATCH", path, json={"new_state": "failed"})

    def log(self, dag_id: str, run_id: str, task_id: str) -> str:
        """What all tries of a task have logged, on workers and on the triggerer."""
        path = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/logs"
        tries = range(1, self.task(dag_id, run_id, task_id)["try_number"] + 1)
        answers = [self.request("GET", f"{path}/{number}", params={"full_content": True}) for number in tries]
        return "\n".join(str(line) for answer in answers for line in answer["content"])

    def question(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """The question of a task, once it asks: `subject`, `body`, `options` and others."""
        path = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/-1/hitlDetails"
        waits = ("awaiting_input", "deferred")  # as of Airflow 3.3, and before
        self.wait(lambda: self.task(dag_id, run_id, task_id)["state"] in waits, f"{task_id} of {dag_id} asks")
        found: dict[str, Any] = self.request("GET", path)
        return found

    def answer(self, dag_id: str, run_id: str, task_id: str, choice: str) -> None:
        """Answer the question of a task that waits for it, until the run has ended.

        Airflow fails a try whose answer comes before its scheduler knows that the process which asked has ended.
        """
        path = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/-1/hitlDetails"

        def has_ended() -> bool:
            state = self.task(dag_id, run_id, task_id)["state"]
            if state in ("awaiting_input", "deferred") and not self.request("GET", path)["response_received"]:
                self.request("PATCH", path, json={"chosen_options": [choice], "params_input": {}})
            return self.run_state(dag_id, run_id) in _ENDED

        self.wait(has_ended, f"{task_id} of {dag_id} has done what was chosen")

    def links(self, dag_id: str, run_id: str, task_id: str) -> dict[str, str | None]:
        """The addresses of a task's extra links, by what their buttons say; None: nothing to lead to."""
        path = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/links"
        found: dict[str, str | None] = self.request("GET", path)["extra_links"]
        return found

    def result(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """What a task has returned."""
        path = f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/xcomEntries/return_value"
        return self.request("GET", path, params={"deserialize": False})["value"]

    def results(self, dag_id: str, run_ids: Collection[str], task_id: str) -> list[Any]:
        """What a task has returned in each of some runs."""
        return [self.result(dag_id, run_id, task_id) for run_id in run_ids]
