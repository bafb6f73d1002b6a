"""The demo's output: one line a step with its time; the output of Airflow, Spark and Dagster goes to a log."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Step:
    """A step that is done: what it was, how many seconds it took, and what came of it."""

    what: str
    seconds: float
    lines: list[str]


class Steps:
    """Prints to the terminal that the process was started with, and sends everything else to a log file."""

    def __init__(self, log: Path) -> None:
        sys.stdout.flush()
        terminal = os.fdopen(os.dup(1), "w", buffering=1)
        self.console = Console(file=terminal, highlight=False)
        self.log = log
        self.done: list[Step] = []
        quiet = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)

    @contextmanager
    def step(self, what: str) -> Iterator[list[str]]:
        """Announce a step, and say how long it took and what came out: the texts that the block puts into the list."""
        number = len(self.done) + 1
        self.console.print(f"[bold]{number:2}. {what}[/bold] …")
        found: list[str] = []
        start = time.monotonic()
        yield found
        done = Step(what, time.monotonic() - start, found)
        self.done.append(done)
        for line in found:
            self.console.print(f"      {line}", soft_wrap=True)
        self.console.print(f"      [green]done in {done.seconds:.1f} s[/green]")

    def table(self, title: str, rows: dict[str, str]) -> None:
        """Print a table of two columns."""
        table = Table(title=title, show_header=False, title_justify="left")
        for name, value in rows.items():
            table.add_row(name, value)
        self.console.print(table)
