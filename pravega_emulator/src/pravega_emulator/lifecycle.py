"""The life of every kind of emulator: start, wait until it is ready, stop. Subclasses name the processes."""

import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from aiopravega.config import PravegaConfig
from aiopravega.errors import EmulatorError
from pravega_emulator.fetch import ensure_jars
from pravega_emulator.java import find_java, java_command
from pravega_emulator.locks import is_locked, try_lock
from pravega_emulator.ports import PortLease
from pravega_emulator.process import ServerProcess
from pravega_emulator.server import PravegaServer

_START_ATTEMPTS = 3
_POLL_SECONDS = 0.1
LOCK: Final = "lock"
_PREFIX: Final = "pravega-emulator-"
# Younger ones may belong to an emulator that is about to lock its folder, or have a log that somebody still reads.
_OLD_SECONDS: Final = 3600.0


def new_folder() -> Path:
    """A new temporary folder; old ones that no living process holds are removed first."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            age = time.time() - folder.stat().st_mtime
            if age > _OLD_SECONDS and not is_locked(folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another user's, or removed meanwhile
            continue
    return Path(tempfile.mkdtemp(prefix=_PREFIX))


class PortTakenError(Exception):
    """Another process took a port between its choice and its use; with other ports the start succeeds."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """The Java runtime of servers, the folder of the jars, and the folder of their files."""

    java: str
    jars: Path
    folder: Path

    @property
    def logs(self) -> Path:
        """The folder of the log files."""
        return self.folder / "logs"

    @property
    def temporary(self) -> Path:
        """The folder of files that are worth nothing after the servers have ended."""
        return self.folder / "tmp"

    def prepare(self) -> None:
        """Make the folders that the servers expect."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        for folder in (self.logs, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)

    def write_settings(self, name: str, settings: Mapping[str, str]) -> Path:
        """Write a Java properties file that only the user can read: it may hold passwords."""
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        return path

    def process(
        self,
        name: str,
        main: Sequence[str],
        *,
        heap_megabytes: int,
        direct_megabytes: int = 0,
        full_jit: bool = False,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> ServerProcess:
        """A process, not started yet, that logs to `logs/NAME.log`; `main` is a Java class and its arguments."""
        command = java_command(
            self.java,
            self.jars,
            self.temporary,
            main,
            heap_megabytes=heap_megabytes,
            direct_megabytes=direct_megabytes,
            full_jit=full_jit,
            options=options,
        )
        return ServerProcess(name, command, self.logs / f"{name}.log", self.folder, environment)


class Emulator(ABC):
    """Real servers on this machine, as child processes that end with this one, however it ends.

    Use it as a context manager, or call `start` and `stop`.
    """

    _keeps_data = True  # a server whose data end with it needs no time to put them away

    def __init__(self, data: str | Path | None, timeout: float) -> None:
        self._data = Path(data).absolute() if data is not None else None
        self._timeout = timeout
        self._folder: Path | None = None
        self._lock: int | None = None
        self._ports = PortLease()
        self._processes: list[ServerProcess] = []
        self._server: PravegaServer | None = None

    @abstractmethod
    def _launch(self, workplace: Workplace) -> PravegaServer:
        """Start the processes and return when they can be used.

        Raises:
            PortTakenError: start again, with other ports.
            EmulatorError: they did not start.
        """

    def start(self) -> Self:
        """Fetch the jars if needed, start the servers and wait until they can be used.

        Raises:
            ChecksumError: a jar is not what it should be.
            EmulatorError: no usable Java, the jars could not be fetched, or a server did not start; the message then
                ends with the last lines of its log.
        """
        if self._processes:
            raise EmulatorError("the emulator runs already: stop it first")
        java, jars = find_java(), ensure_jars()
        self._folder = self._data or new_folder()
        self._lock_folder(self._folder)
        workplace = Workplace(java, jars, self._folder)
        workplace.prepare()
        for _ in range(_START_ATTEMPTS):
            try:
                self._server = self._launch(workplace)
            except PortTakenError:
                self._stop_processes()
            except BaseException:
                # The folder stays: the error names the log in it.
                self._stop_processes()
                self._unlock_folder()
                raise
            else:
                return self
        self._unlock_folder()
        raise EmulatorError(f"the servers found their ports taken {_START_ATTEMPTS} times: see {workplace.logs}")

    def _lock_folder(self, folder: Path) -> None:
        self._lock = try_lock(folder / LOCK)
        if self._lock is None:
            raise EmulatorError(f"another emulator uses the folder {folder}: end it, or choose another folder")

    def _run(self, process: ServerProcess) -> ServerProcess:
        self._processes.append(process)
        process.start()
        return process

    def _await_ready(self, process: ServerProcess, problem: Callable[[], str | None]) -> None:
        """Ask `problem` until it says None; the others of this emulator must keep running meanwhile."""
        deadline = time.monotonic() + self._timeout
        while (answer := problem()) is not None:
            for other in self._processes:
                if other.lost_a_port():
                    raise PortTakenError
                if not other.running:
                    raise other.failure("ended while it started")
            if time.monotonic() > deadline:
                raise process.failure(f"was not ready after {self._timeout:.0f} s ({answer})")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the servers and remove their files, except those in the `data` folder. Safe to call again."""
        self._stop_processes()
        self._unlock_folder()
        if self._folder and not self._data:
            shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """End the servers as `kill -9` does; the logs stay until `stop`."""
        for process in self._processes:
            process.kill()

    @property
    def running(self) -> bool:
        """True if all servers run."""
        return bool(self._processes) and all(process.running for process in self._processes)

    def check_running(self) -> None:
        """Raise `EmulatorError`, with the last lines of its log, if a server has ended by itself."""
        for process in self._processes:
            if not process.running:
                raise process.failure("ended by itself")

    def _stop_processes(self) -> None:
        self._server = None
        # The last one started needs those before it.
        while self._processes:
            process = self._processes.pop()
            if self._keeps_data:
                process.stop()
            else:
                process.kill()
        self._ports.release()

    def _unlock_folder(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def server(self) -> PravegaServer:
        """Addresses, accounts and files of the running server, as a plain value.

        Raises:
            EmulatorError: the emulator does not run.
        """
        if self._server is None:
            raise EmulatorError("the emulator does not run: use it in a with statement, or call start() first")
        return self._server

    @property
    def controller_uri(self) -> str:
        """`tcp://host:port` or `tls://host:port` of the controller."""
        return self.server.controller_uri

    @property
    def schema_registry_uri(self) -> str | None:
        """`http://host:port` of the Schema Registry, if it was asked for."""
        return self.server.schema_registry_uri

    @property
    def logs(self) -> Path:
        """The folder of the log files."""
        return self.server.logs

    @property
    def config(self) -> PravegaConfig:
        """The configuration of a client that may do everything."""
        return self.server.config

    def config_for(self, username: str) -> PravegaConfig:
        """The configuration of a client that uses this account.

        Raises:
            EmulatorError: the server has no such account.
        """
        return self.server.config_for(username)

    def environment(self, username: str | None = None) -> dict[str, str]:
        """The environment variables from which `PravegaConfig()` reaches this server.

        Args:
            username: the account to use; by default the one that may do everything.

        Raises:
            EmulatorError: the server has no such account.
        """
        return self.server.environment(username)
