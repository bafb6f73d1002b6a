"""Dagster's processes, each in a session of its own: started, waited for, killed, started again."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dagster import DagsterInstance
from tests.faults.process import ROOT, ProcessTree
from tests.system.dagster.graphql import GraphQL
from tests.system.servers import free_ports, start_server

WEBSERVER: Final = "webserver"
DAEMON: Final = "daemon"
_PROGRAMS: Final = Path(sys.executable).parent
_HOST: Final = "127.0.0.1"
_INSTANCE: Final = """\
telemetry:
  enabled: false
# What a killed process has left is found soon.
run_monitoring:
  enabled: true
  poll_interval_seconds: 5
"""
_CONCURRENCY: Final = """\
concurrency:
  runs:
    max_concurrent_runs: 2
"""


class Components:
    """The processes of one instance; use it as a context manager.

    Args:
        folder: where the instance and the log of each process are.
        locations: the files of the code locations, by their names.
        environment: more variables of all processes.
        of_locations: more variables of the code servers, which the others do not have, such as passwords.
        concurrency: the section of the instance's configuration about runs side by side.
    """

    def __init__(
        self,
        folder: Path,
        locations: Mapping[str, Path],
        environment: Mapping[str, str],
        of_locations: Mapping[str, str] | None = None,
        *,
        concurrency: str = _CONCURRENCY,
    ) -> None:
        self.logs, self.home = folder / "logs", folder / "home"
        home = self.home
        self.logs.mkdir()
        home.mkdir()
        (home / "dagster.yaml").write_text(_INSTANCE + concurrency)
        # Processes that find no database make one, each of them at the same time.
        DagsterInstance.from_config(str(home)).dispose()
        port, *ports = free_ports(1 + len(locations))
        self.graphql = GraphQL(port, str(self.logs))
        workspace = folder / "workspace.yaml"
        entries = [
            f"  - grpc_server: {{host: {_HOST}, port: {of}, location_name: {name}}}\n"
            for name, of in zip(locations, ports, strict=True)
        ]
        workspace.write_text("load_from:\n" + "".join(entries))
        served: dict[str, list[str | Path]] = {
            name: [
                *(_PROGRAMS / "dagster", "api", "grpc", "--python-file", file),
                *("--host", _HOST, "--port", str(of), "--location-name", name),
            ]
            for (name, file), of in zip(locations.items(), ports, strict=True)
        }
        self._commands: dict[str, list[str | Path]] = {
            **served,
            WEBSERVER: [_PROGRAMS / "dagster-webserver", "-w", workspace, "-h", _HOST, "-p", str(port)],
            DAEMON: [_PROGRAMS / "dagster-daemon", "run", "-w", workspace],
        }
        self._locations = list(locations)
        self._environment = os.environ | {
            # The packages of another checkout may be before those that are installed.
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "DAGSTER_HOME": str(home),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            # A machine that does other work needs minutes for what takes seconds.
            "DAGSTER_GRPC_TIMEOUT_SECONDS": "500",
            **environment,
        }
        self._of_locations = dict(of_locations or {})
        self._running: dict[str, ProcessTree] = {}

    def start(self, *names: str) -> None:
        """Start processes, and wait until they are ready."""
        since = time.time()
        for name in names:
            more = self._of_locations if name in self._locations else {}
            environment = self._environment | more
            self._running[name] = start_server(self._commands[name], self.logs / f"{name}.log", environment)
        for name in names:
            if name == WEBSERVER:
                self.graphql.wait(lambda: self._lives(WEBSERVER) and self.graphql.answers(), "the webserver answers")
        if WEBSERVER in self._running:
            for name in set(self._locations) & self._running.keys():
                self.graphql.wait(
                    lambda name=name: self._lives(name) and self.graphql.location_is_loaded(name), f"{name} is loaded"
                )
        if DAEMON in names:
            self.graphql.wait(lambda: self._lives(DAEMON) and self._beats(since), "the daemon is ready")

    def _beats(self, since: float) -> bool:
        beats = self.graphql.heartbeats().values()
        return all(beat is not None and beat > since for beat in beats)

    def _lives(self, name: str) -> bool:
        component = self._running[name]
        assert component.process.poll() is None, f"{name} has ended: {component.said()}; the logs are in {self.logs}"
        return True

    def kill(self, name: str) -> None:
        """Kill a process and all that it started with `kill -9`, as when its machine dies; runs are in code servers."""
        self._running.pop(name).kill()

    def tree(self, name: str) -> ProcessTree:
        """A process, and all that it started."""
        return self._running[name]

    def pids(self, name: str) -> list[int]:
        """The ids of a process and of all that it started; those of runs are a code server's."""
        return list(self.tree(name).pids())

    def said(self, name: str) -> str:
        """All that a process, and those of the same name before it, have logged."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def __enter__(self) -> Self:
        try:
            self.start(*self._locations, WEBSERVER, DAEMON)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill what runs; the instance ends with it, so nothing has to be put in order."""
        self.graphql.close()
        for name in list(self._running):
            self.kill(name)
