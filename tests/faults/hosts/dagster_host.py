"""Dagster, with its instance on disk: each run is a process of its own, and may be killed with all that it started."""

import json
import os
import subprocess
import sys
from types import TracebackType
from typing import Self

import dagster as dg
from tests.faults.field import name_of
from tests.faults.hosts.flows import Flow
from tests.faults.hosts.found import Ended
from tests.faults.hosts.host import LIMIT_SECONDS, Host
from tests.faults.process import INJECT, ROOT
from tests.faults.steps import VARIABLE

_UNFINISHED = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.NOT_STARTED]


class DagsterHost(Host):
    """Runs by `execute_job`; use it as a context manager."""

    name = "Dagster"

    def __enter__(self) -> Self:
        os.environ["DAGSTER_HOME"] = str(self.folder)
        (self.folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
        self._instance = dg.DagsterInstance.get()
        path = [str(INJECT), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), VARIABLE: str(self.folder)}
        with (self.folder / "runs.txt").open("wb") as log:
            self._runs = subprocess.Popen(
                [sys.executable, "-c", "from tests.faults.hosts.dagster_job import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env=environment,
                text=True,
            )
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runs.kill()
        self._runs.wait()
        self._instance.dispose()

    def _answer(self) -> None:
        assert self._runs.stdout is not None
        assert self._runs.stdout.readline(), (self.folder / "runs.txt").read_text()[-4000:]

    def run(self, flow: Flow, again: str = "") -> Ended:
        """Make a run and wait until it has ended."""
        log, result = self.folder / "log.txt", self.folder / "result.json"
        log.unlink(missing_ok=True)
        result.unlink(missing_ok=True)
        before = self._newest()
        run = {name: getattr(flow, name) for name in ("sink", "stream", "into", "table", "dsn", "master", "history")}
        password = flow.config.password and flow.config.password.get_secret_value()
        run |= {"controller_uri": flow.config.controller_uri, "username": flow.config.username, "password": password}
        run |= {"folder": str(self.folder), "seconds": LIMIT_SECONDS}
        assert self._runs.stdin is not None
        self._runs.stdin.write(json.dumps({**run, "again": again}) + "\n")
        self._runs.stdin.flush()
        self._answer()
        found = json.loads(result.read_text()) if result.exists() else None
        newest = self._newest()
        return Ended(
            run="" if newest == before else newest,
            ok=found is not None and found["ok"],
            killed=self.steps.killed,
            late=found is None and not self.steps.killed,
            error="" if found is None or not found["errors"] else name_of(found["errors"][-1]),
            said=log.read_text(errors="replace"),
        )

    def _newest(self) -> str:
        newest = self._instance.get_runs(limit=1)
        return newest[0].run_id if newest else ""

    def learn(self) -> None:
        """Do what Dagster's monitoring does with a run whose worker is gone."""
        for run in self._instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
            self._instance.report_run_failed(run, "the worker is gone")
