"""Runs one server, and ends it when the process that wanted it is gone. Started as a script; standard library only.

    python -I keeper.py OWNER_PID LOG_FILE COMMAND...

The keeper starts the command, prints its pid (or `failed: …`) and waits. It ends the server when its owner, which
must be its parent, dies in whatever way (it asks for its parent's pid twice a second: this works on Linux and macOS,
and in threads), on SIGTERM politely, on SIGUSR1 at once (kill -9). On Linux the kernel kills the server, should the
keeper itself be killed. It exits with the server's exit code. It lives in a session of its own, so that Ctrl-C in a
terminal reaches the owner alone.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

POLL_SECONDS = 0.5
GRACE_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1
_MANY_SIGNALS = 1024  # one byte each


def main() -> int:
    """Keep the server until it ends; returns the exit code."""
    owner, log, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    stop_signals: list[int] = []
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_reader, False)
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _: stop_signals.append(number))
    try:
        server = _start(command, log)
    except OSError as error:
        print(f"failed: {error}", flush=True)
        return 1
    with contextlib.suppress(BrokenPipeError):  # the owner has died meanwhile, as the loop will notice
        print(server.pid, flush=True)
    while server.poll() is None:
        if select.select([wake_reader], [], [], POLL_SECONDS)[0]:
            os.read(wake_reader, _MANY_SIGNALS)
        if signal.SIGUSR1 in stop_signals:
            server.kill()
        elif stop_signals or os.getppid() != owner:
            _stop(server)
    return server.returncode if server.returncode >= 0 else 128 - server.returncode


def _start(command: list[str], log: str) -> subprocess.Popen[bytes]:
    with Path(log).open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Unsafe with threads, but the keeper has only one.
            preexec_fn=_die_with_keeper() if sys.platform == "linux" else None,  # noqa: PLW1509 - see above
        )


def _die_with_keeper() -> Callable[[], None]:
    prctl = ctypes.CDLL(None).prctl  # loaded before the fork
    keeper = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)

    return in_child


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    while server.poll() is None:
        if time.monotonic() > deadline:
            server.kill()
            server.wait()
            return
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
