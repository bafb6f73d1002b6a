"""Files of landings, merges and upkeeps that ended before their commit, on file systems: their locks say who lives.

A run holds the lock of its staged folder until its commit is decided, also after the folder was moved to the table's
files under the same name. In an object store there are no such locks.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pravega_jobs.landing.staged_files import remove_abandoned

_STAGED: Final = "staged-"


@dataclass(frozen=True, slots=True)
class Running:
    """The staged folders of runs that live, by name, and the time from which on their files may be, in seconds."""

    names: frozenset[str]
    since: float


def running(works: Iterable[Path]) -> Running:
    """The runs that live now, by the locks in some folders.

    Args:
        works: the folders in which rows are staged.
    """
    found = {lock.stem: time for work in works for lock, time in _locks(work) if time is not None}
    return Running(frozenset(found), min(found.values(), default=float("inf")))


def remove_staged(work: Path, *, dry_run: bool) -> tuple[int, int]:
    """Remove staged folders whose run has ended; returns the number of their files, and their bytes."""
    dead = [lock.with_suffix("") for lock, time in _locks(work) if time is None]
    sizes = [about.st_size for folder in dead for _, about in files_in(folder)]
    if not dry_run:
        remove_abandoned(work)
    return len(sizes), sum(sizes)


def staged_name(folder: str) -> str | None:
    """The name of the staged folder that was moved to the table's files as `folder`; None: it is none of ours."""
    word, dash, rest = folder.partition("-")
    return rest if dash and word in ("landing", "merge") and rest.startswith(_STAGED) else None


def files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files in a folder and in its folders, with their sizes and times. Others may remove some meanwhile."""
    for within, _, names in os.walk(folder):
        for name in names:
            file = Path(within, name)
            with suppress(FileNotFoundError):
                yield file, file.stat()


def remove_empty(folder: Path) -> None:
    """Remove a folder and the folders in it, as far as they have no files."""
    for within, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(within).rmdir()


def _locks(work: Path) -> Iterator[tuple[Path, float | None]]:
    """The locks in a folder, and when each was made; None: it is free."""
    for lock in work.glob(f"{_STAGED}*.lock"):
        try:
            with lock.open("rb") as file:
                made = lock.stat().st_mtime
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    yield lock, made
                else:
                    yield lock, None
        except FileNotFoundError:
            continue  # its run has ended just now
