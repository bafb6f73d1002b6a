"""The CPU of a process and of all below it, from Linux's /proc."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
# The fields of /proc/<pid>/stat after the name: user and system time, and those of children that have ended.
_TIMES: Final = slice(11, 15)


def family(pid: int) -> Iterator[int]:
    """A process and those below it."""
    found = [pid]
    for process in found:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                found += [int(child) for child in children.read_text().split()]
    yield from found


def cpu_seconds(pid: int) -> float:
    """CPU seconds so far of a process and those below it; those that ended are counted by their parents."""
    ticks = 0
    for process in family(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[_TIMES])
    return ticks / _TICKS


def largest_memory(pid: int, words: str) -> int:
    """The most resident bytes so far of a process below `pid` whose command line has `words`; 0: there is none."""
    largest = 0
    for process in family(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            folder = Path(f"/proc/{process}")
            if words in (folder / "cmdline").read_text(errors="replace").replace("\0", " "):
                lines = (folder / "status").read_text().splitlines()
                largest = max(largest, *(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")))
    return largest
