"""What Spark's tasks do for a table of PostgreSQL: each copies its rows into a staging table, in one transaction.

A task that is tried again copies its rows again, under another name. The driver gets the names of the tries that count.
"""

import io
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pravega_jobs.landing.postgres_copy import copy_lines
from pravega_jobs.landing.postgres_sql import quoted, transaction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# The column of a staging table that names the try of a task.
STAGED_BY: Final = "pravega_staged_by"
_RESULT: Final = "task string, rows long"


@dataclass(frozen=True, slots=True)
class Copied:
    """The try of a task, and how many rows it has copied."""

    task: str
    rows: int


def copy_rows(frame: "DataFrame", dsn: str, staging: str) -> tuple[Copied, ...]:
    """Copy the rows of a frame into a staging table; returns the tries of tasks that count."""
    names = tuple(frame.columns)

    def work(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        done = copy_batches(batches, dsn, staging, names)
        yield pa.RecordBatch.from_pydict({"task": [done.task], "rows": [done.rows]})

    return tuple(Copied(row.task, row.rows) for row in frame.mapInArrow(work, _RESULT).collect())


def copy_batches(batches: "Iterator[pa.RecordBatch]", dsn: str, staging: str, names: tuple[str, ...]) -> Copied:
    """Copy batches into a staging table in one transaction, as the rows of a new try.

    Raises:
        LandingError: the server cannot be reached or refuses, or a text cannot be stored.
    """
    task, rows = uuid.uuid4().hex, 0
    columns = ", ".join(map(quoted, (*names, STAGED_BY)))
    with transaction(dsn) as cursor:
        for count, lines in copy_lines(batches, task):
            cursor.copy_expert(f"copy {staging} ({columns}) from stdin", io.BytesIO(lines))
            rows += count
    return Copied(task, rows)
