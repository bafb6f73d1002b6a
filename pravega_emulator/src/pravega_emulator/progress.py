"""Progress of a download: a bar on a terminal, a line now and then elsewhere (logs, CI)."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_LINES = 4  # a line after every quarter: enough to see life in a CI log
_MEGABYTE = 1_000_000

Advance = Callable[[int], None]


@contextmanager
def show_progress(title: str, total: int, stream: TextIO | None = None) -> Iterator[Advance]:
    """Yield a function that takes the number of bytes that arrived; it may be called from any thread."""
    stream = stream or sys.stderr
    if stream.isatty():
        with _bar(title, total, stream) as advance:
            yield advance
    else:
        yield _Lines(title, total, stream)


@contextmanager
def _bar(title: str, total: int, stream: TextIO) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(file=stream)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)


class _Lines:
    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._done = self._printed = 0
        self._lock = threading.Lock()
        self._print()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._done += count
            part = self._done * _LINES // self._total if self._total else _LINES
            if part > self._printed:
                self._printed = part
                self._print()

    def _print(self) -> None:
        done, total = self._done // _MEGABYTE, self._total // _MEGABYTE
        print(f"{self._title}: {done} of {total} MB", file=self._stream, flush=True)
