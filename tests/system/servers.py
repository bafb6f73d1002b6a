"""Servers that tests of whole schedulers start as processes."""

import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.process import ProcessTree


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def start_server(
    command: Sequence[str | Path], log: Path, environment: Mapping[str, str], folder: Path | None = None
) -> ProcessTree:
    """Start a process in a session of its own, in a folder; what it says is added to a file."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    return ProcessTree(process, log)
