"""Servers that the processes of one test run share. They end when the run says so, or when its owner is gone."""

import shutil
import subprocess
import sys
from collections.abc import Sequence

from aiopravega.errors import EmulatorError
from pravega_emulator.locks import locked
from pravega_emulator.named import NamedServer
from pravega_emulator.server import PravegaServer

_START_SECONDS = 600.0  # with a cold cache, the jars are fetched first


def shared_server(owner: int, kind: str, arguments: Sequence[str]) -> PravegaServer:
    """The server of this kind of the run whose process is `owner`; the first one who asks starts it.

    Args:
        owner: id of the process that controls the run; the server ends with it.
        kind: distinguishes the servers of one run.
        arguments: options of `pravega-emulator up`.

    Raises:
        EmulatorError: it did not start.
    """
    named = NamedServer(f"{_prefix(owner)}{kind}")
    with locked(named.folder / "start.lock", _START_SECONDS, f"starting the {kind} Pravega of this test run"):
        server = named.running()
        if server is None:
            up = [sys.executable, "-m", "pravega_emulator", "up", "--detach", "--name", named.name]
            answer = subprocess.run(
                [*up, "--owner", str(owner), *arguments],
                capture_output=True,
                text=True,
                timeout=_START_SECONDS,
                check=False,
            )
            server = named.running()
            if server is None:
                raise EmulatorError(answer.stderr.strip().removeprefix("error: ") or f"{named.name} did not start")
    return server


def stop_shared(owner: int) -> None:
    """End all servers of the run whose process is `owner`."""
    for named in NamedServer.matching(f"{_prefix(owner)}*"):
        named.stop()
        shutil.rmtree(named.folder, ignore_errors=True)


def _prefix(owner: int) -> str:
    return f"run-{owner}-"
