"""Bars on a terminal for rows that are read; elsewhere nothing is shown."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from pravega_jobs.frames.read import PlannedRead

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress() -> Iterator["Progress | None"]:
    """Show bars on standard error while a block runs, if it is a terminal; they vanish at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(),
    )
    # What is printed stays on its own way, which may be a pipe.
    with Progress(
        *columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bars:
        yield bars


def counted(planned: PlannedRead, bars: "Progress | None") -> pa.RecordBatchReader:
    """The rows of a read, which move a bar of their own. How many rows there are is known at the end only."""
    rows = planned.scan.batches()
    if bars is None:
        return rows
    bar = bars.add_task(f"{planned.stream}, {planned.size:,} bytes", total=None)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            yield batch
            bars.advance(bar, batch.num_rows)
        done = bars.tasks[bar].completed
        bars.update(bar, total=done)

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


def until_rows(rows: pa.RecordBatchReader, bars: "Progress | None") -> pa.RecordBatchReader:
    """The same rows; the bars vanish before the first of them, for rows that go to the terminal as well."""
    if bars is None or not sys.stdout.isatty():
        return rows

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            bars.stop()
            yield batch

    return pa.RecordBatchReader.from_batches(rows.schema, batches())
