"""The second tier of a benchmark's server: when it has everything."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

# The server moves what is older than a second.
_QUIET_SECONDS: Final = 2.5
# Bytes that its own bookkeeping may write meanwhile.
_LITTLE: Final = 1_000_000


def storage_of(data: Path) -> Path:
    """The second tier of the server whose data is in this folder."""
    return data / "storage"


def settle(data: Path) -> None:
    """Wait until a server has moved everything to its second tier, where it slows no later benchmark.

    It falls behind writers that write for long: then its log, on the heap, grows until it ends the server, and a
    stream that is deleted before it has been moved holds it up further.
    """
    before, now = 0, _LITTLE + 1
    while abs(now - before) > _LITTLE:
        time.sleep(_QUIET_SECONDS)
        before, now = now, _size(storage_of(data))


def _size(folder: Path) -> int:
    """Bytes of all files below; those that vanish meanwhile count nothing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(root, name).stat().st_size
    return total
