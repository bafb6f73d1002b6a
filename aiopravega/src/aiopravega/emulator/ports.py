"""Ports for listeners.

They are taken below the range from which operating systems choose ports of outgoing connections: a port that is free
now is then unlikely to be taken before the server binds it. If it happens all the same, the caller starts again with
others.
"""

import random
import socket

from aiopravega.errors import EmulatorError

_FIRST, _LAST = 15_000, 31_999
_TRIES = 1_000


def free_ports(count: int) -> list[int]:
    """Return `count` different TCP ports on which nothing listens.

    Raises:
        EmulatorError: no free port was found.
    """
    ports: list[int] = []
    for port in random.sample(range(_FIRST, _LAST + 1), _TRIES):
        if len(ports) == count:
            break
        if is_free(port):
            ports.append(port)
    if len(ports) < count:
        raise EmulatorError(
            f"found only {len(ports)} of {count} free ports between {_FIRST} and {_LAST}: end some servers"
        )
    return ports


def is_free(port: int) -> bool:
    """Whether a server could listen on this port, on every address."""
    with socket.socket() as probe:
        # As Java does: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
