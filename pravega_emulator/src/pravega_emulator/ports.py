"""Ports for listeners.

They are taken below the range from which operating systems choose ports of outgoing connections, and emulators of one
user lock theirs against each other: between the choice and the moment when the server listens, some seconds pass, and a
client would not notice that it talks to another emulator. If another program still takes a port, the caller starts
again with others.
"""

import os
import random
import socket

from aiopravega.errors import EmulatorError
from pravega_emulator.jars import cache_folder
from pravega_emulator.locks import try_lock

_FIRST, _LAST = 15_000, 31_999
_TRIES = 1_000


class PortLease:
    """Ports that no other emulator of this user takes until `release`, or until this process ends."""

    def __init__(self) -> None:
        self._locks: list[int] = []

    def take(self, count: int) -> list[int]:
        """Choose `count` different TCP ports on which nothing listens.

        Raises:
            EmulatorError: there are not as many.
        """
        ports: list[int] = []
        for port in random.sample(range(_FIRST, _LAST + 1), _TRIES):
            if len(ports) == count:
                break
            if self.claim(port):
                ports.append(port)
        if len(ports) < count:
            raise EmulatorError(
                f"found only {len(ports)} of {count} free ports between {_FIRST} and {_LAST}: end some servers"
            )
        return ports

    def claim(self, port: int) -> bool:
        """Take this port; False if something listens on it, or another emulator will."""
        lock = try_lock(cache_folder() / "ports" / str(port))
        if lock is None:
            return False
        if not is_free(port):
            os.close(lock)
            return False
        self._locks.append(lock)
        return True

    def release(self) -> None:
        """Let others take these ports. Safe to call again."""
        while self._locks:
            os.close(self._locks.pop())


def is_free(port: int) -> bool:
    """Return True if a server could listen on this port, on every address."""
    with socket.socket() as probe:
        # As Java does: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
