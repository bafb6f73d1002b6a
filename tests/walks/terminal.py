"""A terminal of a reader: one bash that keeps its folder and variables, and a Python into which blocks are pasted.

It knows nothing of the repository or of the caller's environment. What it says goes to a file.
"""

import os
import select
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Final, Self

from tests.faults.process import session

# What the machine needs to reach a package index, and where Java is. The caches spare the network, not the reader.
KEPT: Final = (
    "JAVA_HOME",
    "LANG",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
)
KEPT_GROUPS: Final = ("PIP_", "UV_")
# As a pasted block ends: whether it has raised is what an interactive Python leaves in `sys`.
_REPORT: Final = "import os as _o, sys as _s; _ = _o.write({}, b'%d\\n' % bool(_s.__dict__.pop('last_type', None)))\n"
_AGAIN_SECONDS: Final = 30.0
_KILL_SECONDS: Final = 60.0


class StepTimeoutError(Exception):
    """A step did not end in time."""


class Terminal:
    """A bash without a prompt; `home` is its home folder, and `log` gets all that is said."""

    def __init__(self, home: Path, log: Path, path: str, variables: dict[str, str]) -> None:
        kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_GROUPS)}
        self._status, self._write = os.pipe()
        self.log = log
        self._out = log.open("ab")
        self._bash: subprocess.Popen[bytes] = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=home,
            env={**kept, "HOME": str(home), "PATH": path, **variables},
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=subprocess.STDOUT,
            pass_fds=(self._write,),
            start_new_session=True,
        )
        os.close(self._write)
        self._python: IO[str] | None = None
        self._pipe = home / "typed"
        os.mkfifo(self._pipe)
        self._steps = 0
        self._home = home
        # So that what runs on gets Ctrl-C, as in a terminal.
        self._type("set -m")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End bash, and what the reader has left running in this session."""
        for process in session(self._bash.pid):
            os.kill(process, signal.SIGTERM)
        self._bash.wait()
        self._out.close()
        os.close(self._status)

    def run(self, command: str, seconds: float) -> int:
        """Run a command in the foreground; returns its status.

        Raises:
            StepTimeoutError: it did not end in time.
        """
        self._type(f". {self._written(command)} </dev/null; echo $? >&{self._write}")
        return self._ended(seconds)

    def start(self, command: str) -> int:
        """Run a command in the background; returns the id of its group of processes."""
        self._type(f". {self._written(command)} </dev/null & echo $! >&{self._write}")
        return self._ended(60)

    def interrupt(self, group: int, seconds: float) -> None:
        """Type Ctrl-C to what was started, a second time after half a minute, and wait for its end."""
        os.killpg(group, signal.SIGINT)
        again = threading.Timer(_AGAIN_SECONDS, os.killpg, (group, signal.SIGINT))
        again.start()
        try:
            self._type(f"wait {group}; echo 0 >&{self._write}")
            self._ended(seconds)
        finally:
            again.cancel()

    def open_python(self, command: str) -> None:
        """Start a Python that takes pasted blocks."""
        self._type(f"{command} -i -q < {shlex.quote(str(self._pipe))}; echo $? >&{self._write}")
        self._python = self._pipe.open("w", encoding="utf-8")

    def paste(self, block: str, seconds: float) -> int:
        """Paste a block into Python; returns 1 if it has raised."""
        assert self._python is not None
        self._python.write(f"{block.rstrip()}\n\n{_REPORT.format(self._write)}")
        self._python.flush()
        return self._ended(seconds)

    def leave_python(self, seconds: float) -> int:
        """Type Ctrl-D; returns Python's status."""
        if self._python is None:
            return 0
        self._python.close()
        self._python = None
        return self._ended(seconds)

    def said(self, last: int = 2000) -> str:
        """The end of what was said."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-last:]

    def _written(self, command: str) -> str:
        self._steps += 1
        file = self._home / f"step-{self._steps}.sh"
        file.write_text(f"{command}\n", encoding="utf-8")
        return shlex.quote(str(file))

    def _type(self, line: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{line}\n".encode())
        self._bash.stdin.flush()

    def _ended(self, seconds: float) -> int:
        """The status that a step reports; what does not end in time is killed, so that the next step can begin."""
        deadline, late, text = time.monotonic() + seconds, False, b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self._status], [], [], min(1.0, max(0.0, deadline - time.monotonic())))
            if ready:
                text += os.read(self._status, 1)
            elif self._bash.poll() is not None:
                raise StepTimeoutError("the terminal's bash has ended")
            elif time.monotonic() > deadline:
                if late:
                    raise StepTimeoutError("it cannot be killed")
                late, deadline = True, time.monotonic() + _KILL_SECONDS
                for process in session(self._bash.pid):
                    if process != self._bash.pid:
                        os.kill(process, signal.SIGKILL)
        if late:
            raise StepTimeoutError(f"it did not end within {seconds:g} s")
        return int(text)
