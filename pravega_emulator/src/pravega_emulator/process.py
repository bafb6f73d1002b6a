"""One server as a child process, started through a keeper so that it never outlives this process."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from aiopravega.errors import EmulatorError
from pravega_emulator.keeper import GRACE_SECONDS

_KEEPER = Path(__file__).with_name("keeper.py")
_START_SECONDS = 30.0
# The keeper kills the server after its grace; this much later the keeper itself is stuck.
_STOP_SECONDS = GRACE_SECONDS + 10.0
_LAST_BYTES = 64 * 1024
_LAST_LINES = 25
_PORT_TAKEN = (b"Address already in use", b"BindException")


class ServerProcess:
    """A server's process. `name` is for messages; `log` grows over restarts; `environment` is added to ours."""

    def __init__(
        self, name: str, command: list[str], log: Path, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._folder = folder
        self._environment = dict(environment or {})
        self._keeper: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self._pid: int | None = None

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._pid if self.running else None

    @property
    def running(self) -> bool:
        """True if the server runs."""
        return self._keeper is not None and self._keeper.poll() is None

    def start(self) -> None:
        """Start the process; it is not ready yet when this returns.

        Raises:
            EmulatorError: the command could not be started.
        """
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", str(_KEEPER), str(os.getpid()), str(self.log), *self._command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                env=os.environ | self._environment,
                start_new_session=True,
            )
        answer = self._read_line(self._keeper)
        if not answer.isdigit():
            self._end(signal.SIGUSR1)
            raise EmulatorError(f"cannot start {self.name} with {self._command[0]}: {answer or 'no answer'}")
        self._pid = int(answer)

    @staticmethod
    def _read_line(keeper: subprocess.Popen[bytes]) -> str:
        assert keeper.stdout is not None
        with keeper.stdout as output:
            readable, _, _ = select.select([output], [], [], _START_SECONDS)
            return output.readline().decode().strip() if readable else ""

    def run(self, timeout: float) -> None:
        """Start a process that ends by itself, and wait for its end.

        Raises:
            EmulatorError: it failed, or it took longer than `timeout` seconds.
        """
        self.start()
        assert self._keeper is not None
        try:
            code = self._keeper.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self.failure(f"took more than {timeout:.0f} s") from None
        if code:
            raise self.failure(f"ended with exit code {code}")

    def stop(self) -> None:
        """End the server politely, and by force if it takes more than five seconds. Does nothing if it has ended."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server as `kill -9` does."""
        self._end(signal.SIGUSR1)

    def _end(self, number: signal.Signals) -> None:
        keeper = self._keeper
        if keeper is None:
            return
        if keeper.poll() is None:
            keeper.send_signal(number)
        try:
            keeper.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
        self._keeper = None

    def output(self) -> bytes:
        """The end of what the server has printed since its last start: up to 64 KiB."""
        if not self.log.exists():
            return b""
        with self.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(self._log_start, end - _LAST_BYTES))
            return file.read()

    def lost_a_port(self) -> bool:
        """Return True if the server has logged that another program listens on one of its ports."""
        output = self.output()
        return any(words in output for words in _PORT_TAKEN)

    def failure(self, what: str) -> EmulatorError:
        """An error that says `what` happened, with the last lines of the log and its path."""
        lines = self.output().decode(errors="replace").splitlines()[-_LAST_LINES:]
        shown = "\n".join(f"  {line}" for line in lines) or "  (nothing was logged)"
        return EmulatorError(f"{self.name} {what}. The last lines of {self.log}:\n{shown}")
