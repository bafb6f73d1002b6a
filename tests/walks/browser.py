"""What a tutorial says to do in a browser, asked of the same servers."""

import re
from pathlib import Path
from typing import Any, Protocol

from tests.system.airflow.api import Api
from tests.system.dagster.graphql import GraphQL


class Browser(Protocol):
    """The pages of a host that a reader has started."""

    def first(self) -> None:
        """Do what the page says right after the start."""

    def last(self) -> None:
        """Do what it says after its last command."""


class AirflowPages:
    """The pages of `airflow standalone`, with the DAG `visits`; the password is in the log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._api = Api(8080, str(log))
        self._seen: list[str] = []

    def first(self) -> None:
        found: list[str] = []

        def password() -> bool:
            found.extend(re.findall(r"Password for user 'admin': (\S+)", self._log.read_text(errors="replace")))
            return bool(found)

        self._api.wait(password, "Airflow shows a password")
        self._api.log_in(found[-1])
        self._api.unpause("visits")
        self._next_run()

    def last(self) -> None:
        self._next_run()
        self._api.close()

    def _next_run(self) -> None:
        """Wait for the next run by schedule, which counts a hundred visits."""
        new: list[str] = []

        def has_ended() -> bool:
            runs = self._api.all_runs("visits")
            new[:] = [
                run["dag_run_id"]
                for run in runs
                if run["run_type"] == "scheduled" and run["state"] in ("success", "failed")
            ]
            return len(new) > len(self._seen)

        self._api.wait(has_ended, "a run by schedule has ended")
        [run_id] = set(new) - set(self._seen)
        self._seen.append(run_id)
        assert self._api.run_state("visits", run_id) == "success", run_id
        counted = self._api.result("visits", run_id, "count")
        assert counted == 100, f"{run_id} has counted {counted}"


class DagsterPages:
    """The pages of `dagster dev`, with the asset `readings_counted`; its cuts are in the log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._pages = GraphQL(3000, str(log))

    def first(self) -> None:
        self._pages.wait(self._pages.answers, "the webserver answers")
        self._pages.wait(lambda: self._pages.location_is_loaded("readings.py"), "the definitions are loaded")
        assert self._materialized({})["counted"] == 100
        [start, end] = re.findall(r"(H4sI\S+) (H4sI\S+)", self._log.read_text(errors="replace"))[-1]
        cuts = {"ops": {"readings_counted": {"inputs": {"readings": {"start": start, "end": end}}}}}
        assert [self._materialized(cuts)["counted"] for _ in range(2)] == [100, 100]

    def last(self) -> None:
        self._pages.close()

    def _materialized(self, config: dict[str, Any]) -> dict[str, Any]:
        """The metadata of the asset after a run from the launchpad."""
        run = self._pages.launch("readings.py", "__ASSET_JOB", config, assets=["readings_counted"])
        self._pages.wait_for_run(run)
        metadata: dict[str, Any] = self._pages.materializations("readings_counted")[0]["metadata"]
        return metadata
