"""Servers with a name, which other processes find: each has a folder in the cache, and a lock that its process holds.

A server lives if its lock is held, whatever the files say: the server is never confused with another program that has
got its process id meanwhile.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiopravega.errors import EmulatorError
from pravega_emulator.jars import cache_folder
from pravega_emulator.locks import is_locked, try_lock
from pravega_emulator.server import PravegaServer

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_POLL_SECONDS = 0.1
_START_SECONDS = 300.0
# The server gets seconds to end; the rest is a machine that is busy, and a folder of gigabytes to remove.
_STOP_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class NamedServer:
    """The folder of one server at a time, known by its name."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise EmulatorError(f"{self.name!r} is not a name for a server: use letters, digits, '.', '-' and '_'")

    @classmethod
    def matching(cls, pattern: str = "*") -> list["NamedServer"]:
        """Those whose names match the pattern of a shell, running or not, sorted by name."""
        return [cls(folder.name) for folder in sorted(_folder().glob(pattern))]

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return _folder() / self.name

    @property
    def log(self) -> Path:
        """The output of the process that owns a detached server."""
        return self.folder / "up.log"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the name for this process.

        Raises:
            EmulatorError: a server with this name runs.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = try_lock(self._lock)
        if descriptor is None:
            raise EmulatorError(
                f"an emulator named {self.name!r} runs already: end it with "
                f"'pravega-emulator down --name {self.name}', or give this one another --name"
            )
        self._state.unlink(missing_ok=True)  # of a process that was killed
        try:
            yield
        finally:
            self._state.unlink(missing_ok=True)
            os.close(descriptor)

    def publish(self, server: PravegaServer) -> None:
        """Let others find this process's server; the name must be claimed."""
        draft = self.folder / "state.draft"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps({"pid": os.getpid(), "server": server.to_json()}), encoding="utf-8")
        draft.replace(self._state)

    def running(self) -> PravegaServer | None:
        """The server, if one with this name runs and is ready."""
        state = self._read()
        return PravegaServer.from_json(state["server"]) if state else None

    def start_detached(self, arguments: Sequence[str]) -> PravegaServer:
        """Start `pravega-emulator up` with these arguments, in a session of its own, and wait until it is ready.

        Raises:
            EmulatorError: it did not start; the message is its own.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pravega_emulator", "up", "--name", self.name, *arguments]
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + _START_SECONDS
        while (server := self.running()) is None:
            if process.poll() is not None:
                raise EmulatorError(self.log.read_text(errors="replace").strip().removeprefix("error: "))
            if time.monotonic() > deadline:
                process.terminate()
                raise EmulatorError(f"the emulator was not ready after {_START_SECONDS:.0f} s: see {self.log}")
            time.sleep(_POLL_SECONDS)
        return server

    def stop(self) -> bool:
        """End the server with this name and wait until it has gone; False if none runs.

        Raises:
            EmulatorError: it is still there after five minutes.
        """
        state = self._read()
        if state is None:
            return False
        pid = int(state["pid"])
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while is_locked(self._lock):
            if time.monotonic() > deadline:
                raise EmulatorError(
                    f"the emulator {self.name!r} (process {pid}) does not end: end it with kill -9 {pid}"
                )
            time.sleep(_POLL_SECONDS)
        return True

    def _read(self) -> dict[str, str] | None:
        if not is_locked(self._lock):
            return None
        try:
            state: dict[str, str] = json.loads(self._state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return state

    @property
    def _lock(self) -> Path:
        return self.folder / "lock"

    @property
    def _state(self) -> Path:
        return self.folder / "state.json"


def _folder() -> Path:
    return cache_folder() / "servers"
