"""A real Pravega that keeps its data: ZooKeeper, BookKeeper, segment store and controller as processes of their own.

For tests of failures: each process can be killed and started again, and nothing that was acknowledged is lost.
"""

import json
import secrets
import shutil
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from aiopravega.errors import EmulatorError
from pravega_emulator.durable_settings import (
    Ports,
    bookie_settings,
    controller_settings,
    segment_store_settings,
    zookeeper_settings,
)
from pravega_emulator.lifecycle import Emulator, PortTakenError, Workplace
from pravega_emulator.probe import bookie_problem, old_bookie_problem, pravega_problem, zookeeper_problem
from pravega_emulator.process import ServerProcess
from pravega_emulator.registry import registry_problem, registry_process, registry_uri
from pravega_emulator.security import Security
from pravega_emulator.server import Account, PravegaServer

_JVM = ["-XX:+UseSerialGC"]  # on few cores, collecting in parallel costs more than it brings
_CACHE_MEGABYTES = 256
_CONNECTION_MEGABYTES = 256
_POLL_SECONDS = 0.1
_STATE = ("ports.json", "initialized")
_STATE_FOLDERS = ("zookeeper", "bookie", "storage")
# A process that cannot start ends within seconds, each time.
_MOST_STARTS = 5
_SECONDS = 60.0


class Supervisor:
    """Starts processes again that ended, unless one of them ends again and again.

    The processes are in the order in which they are to start; `restart` starts one by its name.
    """

    def __init__(self, processes: Sequence[ServerProcess], restart: Callable[[str], None]) -> None:
        self._processes = processes
        self._restart = restart
        self._starts: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_MOST_STARTS))

    def look_after(self) -> list[str]:
        """Start again what has ended; returns the names.

        Raises:
            EmulatorError: a process has ended for the sixth time within a minute.
        """
        ended = [process for process in self._processes if not process.running]
        for process in ended:
            starts, now = self._starts[process.name], time.monotonic()
            if len(starts) == _MOST_STARTS and now - starts[0] < _SECONDS:
                raise process.failure(f"was started again {_MOST_STARTS} times within a minute, and ended again")
            starts.append(now)
            self._restart(process.name)
        return [process.name for process in ended]


class DurablePravega(Emulator):
    """Pravega as a cluster of one machine: about 0.8 GB of memory, ready after some ten seconds.

    Args:
        schema_registry: also start the Schema Registry.
        tls: encrypt the connections of controller and segment store.
        auth: ask for credentials; `config` has the credentials of the account `admin`.
        accounts: further accounts, as for `PravegaEmulator`.
        data: a folder for everything. A later start with the same folder finds all data, at the same addresses.
        token_seconds: how long a delegation token is valid, with `auth`.
        settings: further settings, such as `{"controller.watermarking.frequency.seconds": "2"}`; those that begin with
            `controller.` are the controller's, others the segment store's.
        timeout: seconds that the servers may take to be ready.
    """

    def __init__(
        self,
        *,
        schema_registry: bool = False,
        tls: bool = False,
        auth: bool = False,
        accounts: Sequence[Account] = (),
        data: str | Path | None = None,
        token_seconds: int = 600,
        settings: Mapping[str, str] | None = None,
        timeout: float = 300.0,
    ) -> None:
        super().__init__(data, timeout)
        self._schema_registry = schema_registry
        self._tls, self._auth, self._accounts = tls, auth, tuple(accounts)
        self._token_seconds = token_seconds
        self._settings = dict(settings or {})
        self._places: Ports | None = None
        self._supervisor = Supervisor(self._processes, self.restart)

    def kill(self, name: str | None = None) -> None:
        """End one process as `kill -9` does (see `restart` for the names), or all of them."""
        if name is None:
            super().kill()
        else:
            self._named(name).kill()

    def restart(self, name: str) -> None:
        """Start a process again that was killed; `wait_ready` says when the cluster works again.

        A bookie starts when ZooKeeper has forgotten the one before it, some seconds after that was killed.

        Args:
            name: `zookeeper`, `bookie`, `segmentstore`, `controller` or `schema-registry`.
        """
        process = self._named(name)
        process.stop()
        if name == "bookie" and self._places is not None:
            self._await_forgotten_bookie(self._places)
        process.start()

    def wait_ready(self) -> None:
        """Wait until the cluster works; all its processes must run.

        Raises:
            EmulatorError: a process ended, or the time was up; the message has the last lines of the log.
        """
        try:
            self._await_ready(self._named("controller"), lambda: pravega_problem(self.config))
        except PortTakenError:
            raise EmulatorError(
                f"another program has taken the port of a process that was restarted: see {self.logs}"
            ) from None

    def revive(self) -> list[str]:
        """Start all processes again that have ended, for whatever reason; returns their names.

        Raises:
            EmulatorError: a process ends again and again.
        """
        return self._supervisor.look_after()

    def _named(self, name: str) -> ServerProcess:
        for process in self._processes:
            if process.name == name:
                return process
        names = ", ".join(process.name for process in self._processes) or "none, start it first"
        raise EmulatorError(f"there is no process {name!r}; there are: {names}")

    def _launch(self, workplace: Workplace) -> PravegaServer:
        ports, fresh = self._ports_of(workplace.folder)
        self._places = ports
        try:
            return self._launch_on(ports, workplace)
        except PortTakenError:
            if not fresh:
                raise
            for name in _STATE:
                (workplace.folder / name).unlink(missing_ok=True)
            for name in _STATE_FOLDERS:
                shutil.rmtree(workplace.folder / name, ignore_errors=True)
            raise

    def _await_forgotten_bookie(self, ports: Ports) -> None:
        deadline = time.monotonic() + self._timeout
        while (answer := old_bookie_problem(ports.zookeeper, ports.bookie)) is not None:
            if time.monotonic() > deadline:
                raise EmulatorError(f"the bookie cannot start after {self._timeout:.0f} s: {answer}")
            time.sleep(_POLL_SECONDS)

    def _ports_of(self, folder: Path) -> tuple[Ports, bool]:
        """The ports of a data folder, and whether they were chosen just now."""
        file = folder / "ports.json"
        if not file.exists():
            ports = Ports(*self._ports.take(len(fields(Ports))))
            file.write_text(json.dumps(asdict(ports)), encoding="utf-8")
            return ports, True
        ports = Ports(**json.loads(file.read_text(encoding="utf-8")))
        taken = [port for port in ports.all() if not self._ports.claim(port)]
        if taken:
            raise EmulatorError(
                f"the data in {folder} are bound to ports {taken}, on which another program listens: end it first"
            )
        return ports, False

    def _launch_on(self, ports: Ports, workplace: Workplace) -> PravegaServer:
        folder = workplace.folder
        security = Security.make(folder / "security", tls=self._tls, auth=self._auth, accounts=self._accounts)
        server = PravegaServer(
            security.controller_uri(ports.controller),
            workplace.logs,
            registry_uri(security, ports.schema_registry) if self._schema_registry else None,
            security.ca_file,
            security.accounts,
        )
        bookie = self._start_log(ports, workplace)
        signing_key = secrets.token_hex()
        store_file = workplace.write_settings(
            "segmentstore.properties",
            segment_store_settings(ports, folder, security, signing_key, _CACHE_MEGABYTES) | self._of(controller=False),
        )
        controller_file = workplace.write_settings(
            "controller.properties",
            controller_settings(ports, security, signing_key, self._token_seconds) | self._of(controller=True),
        )
        self._run(
            workplace.process(
                "segmentstore",
                ["io.pravega.segmentstore.server.host.ServiceStarter"],
                heap_megabytes=512,
                direct_megabytes=_CACHE_MEGABYTES + _CONNECTION_MEGABYTES,
                options=[*_JVM, f"-Dpravega.configurationFile={store_file}"],
                environment=security.client_environment(),
            )
        )
        controller = self._run(
            workplace.process(
                "controller",
                ["io.pravega.controller.server.Main"],
                heap_megabytes=384,
                direct_megabytes=128,
                options=[*_JVM, f"-Dconf.file={controller_file}"],
                # Its own client, which makes watermarks, is one like others.
                environment=security.client_environment(),
            )
        )
        self._await_ready(bookie, lambda: bookie_problem(ports.zookeeper, ports.bookie))
        self._await_ready(controller, lambda: pravega_problem(server.config))
        if uri := server.schema_registry_uri:
            registry = self._run(registry_process(workplace, security, server.controller_uri, ports.schema_registry))
            self._await_ready(registry, lambda: registry_problem(uri, security))
        return server

    def _of(self, *, controller: bool) -> dict[str, str]:
        return {key: value for key, value in self._settings.items() if key.startswith("controller.") is controller}

    def _start_log(self, ports: Ports, workplace: Workplace) -> ServerProcess:
        """Start ZooKeeper and the bookie, which together are the write-ahead log; returns the bookie."""
        folder = workplace.folder
        zookeeper_file = workplace.write_settings("zoo.cfg", zookeeper_settings(ports, folder))
        bookie_file = str(workplace.write_settings("bookie.conf", bookie_settings(ports, folder)))
        initialized = folder / "initialized"
        zookeeper = self._run(
            workplace.process(
                "zookeeper",
                ["org.apache.zookeeper.server.ZooKeeperServerMain", str(zookeeper_file)],
                heap_megabytes=128,
                options=[*_JVM, "-Dzookeeper.admin.enableServer=false"],
            )
        )
        self._await_ready(zookeeper, lambda: zookeeper_problem(ports.zookeeper))
        if not initialized.exists():
            shell = ["org.apache.bookkeeper.bookie.BookieShell", "-conf", bookie_file, "initnewcluster"]
            workplace.process("bookie-init", shell, heap_megabytes=128, options=_JVM).run(self._timeout)
            initialized.touch()
        self._await_forgotten_bookie(ports)
        return self._run(
            workplace.process(
                "bookie",
                ["org.apache.bookkeeper.server.Main", "--conf", bookie_file],
                heap_megabytes=192,
                direct_megabytes=256,
                options=_JVM,
            )
        )
