"""A lock between processes: a file that one of them holds. It ends with its holder, however that ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiopravega.errors import EmulatorError

_POLL_SECONDS = 0.1


def try_lock(path: Path) -> int | None:
    """Take the lock and return its file descriptor (closing it lets go), or None if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(path: Path) -> bool:
    """Return True if a living process holds the lock."""
    if not path.exists():
        return False
    descriptor = try_lock(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


@contextmanager
def locked(path: Path, timeout: float, what: str) -> Iterator[None]:
    """Hold the lock for a block, after waiting for the lock, up to `timeout` seconds.

    Raises:
        EmulatorError: another process held it all the time; `what` names what it is for.
    """
    deadline = time.monotonic() + timeout
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise EmulatorError(
                f"waited {timeout:.0f} s for another process that is {what} (it holds {path}): end it and try again"
            )
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        os.close(descriptor)
