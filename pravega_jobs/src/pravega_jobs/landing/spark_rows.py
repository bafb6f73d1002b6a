"""Rows of a landing that Spark has: its executors write them.

The folder of files must be the same for the driver and all executors. The number of rows that Spark has written is
compared with the files that the driver finds, so that a folder which is not shared is an error, and not a table with
too few rows.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import Copied, StagedFiles
from pravega_jobs.spark.frames import count_of, counted, with_constants

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_RESULT: Final = "task string, rows long"
_TIMESTAMPS: Final = "spark.sql.parquet.outputTimestampType"
_timestamp_lock = threading.Lock()
# By session: how many blocks run, and the setting before the first one.
_timestamp_users: "dict[SparkSession, tuple[int, str | None]]" = {}


def is_spark(value: Any) -> bool:
    """True if a value is a DataFrame of Spark, which is not imported for this."""
    return type(value).__name__ == "DataFrame" and type(value).__module__.partition(".")[0] == "pyspark"


@dataclass(frozen=True, slots=True)
class SparkRows:
    """The rows of a DataFrame."""

    frame: "DataFrame"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.frame.columns

    def types(self) -> dict[str, str]:
        """The columns and their types, as Spark's `simpleString` spells them."""
        return {each.name: each.dataType.simpleString() for each in self.frame.schema.fields}

    def arrow_schema(self) -> "pa.Schema":
        """The columns as Arrow's types."""
        return self.frame.limit(0).toArrow().schema

    def select(self, types: Mapping[str, str]) -> "SparkRows":
        """The rows with the columns of these names, in these types."""
        from pyspark.sql.functions import col

        columns = [col(f"`{name.replace('`', '``')}`").cast(kind).alias(name) for name, kind in types.items()]
        return SparkRows(self.frame.select(columns))

    def write_files(self, landing: Landing, folder: Path, own: Mapping[str, str]) -> StagedFiles:
        """Have the executors write the rows into a new folder.

        Args:
            landing: the landing of the rows.
            folder: the folder of the files; it must not exist yet.
            own: more columns with one text each.

        Raises:
            LandingError: the driver does not find the rows that the executors have written.
        """
        frame, count = counted(with_constants(self.frame, own))
        with known_timestamps(frame.sparkSession):
            frame.write.parquet(f"file://{folder}")
        written, found = count_of(count), StagedFiles.found_in(folder)
        if found.rows != written:
            raise LandingError(
                f"{landing}: Spark has written {written} rows into {folder}, but this process finds {found.rows} "
                "there. Its executors and this process must share this folder. The table was not changed"
            )
        return found

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Have tasks copy the rows into a staging table of PostgreSQL; returns the tries of tasks that count.

        A task that is tried again copies its rows again, under another name.
        """
        names = tuple(self.names)

        def work(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            import pyarrow as pa

            done = copy_batches(batches, dsn, staging, names)
            yield pa.RecordBatch.from_pydict({"task": [done.task], "rows": [done.rows]})

        return tuple(Copied(row.task, row.rows) for row in self.frame.mapInArrow(work, _RESULT).collect())


@contextmanager
def known_timestamps(spark: "SparkSession") -> Iterator[None]:
    """Have Spark write times as microseconds, which the libraries of Delta and Iceberg know. Its default is INT96.

    Spark has a setting of the session, and no option of a write. Threads may land in one session at a time: the first
    of them changes the setting, and the last one restores it.
    """
    with _timestamp_lock:
        count, before = _timestamp_users.get(spark) or (0, spark.conf.get(_TIMESTAMPS))
        spark.conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")
        _timestamp_users[spark] = count + 1, before
    try:
        yield
    finally:
        with _timestamp_lock:
            count, before = _timestamp_users.pop(spark)
            if count > 1:
                _timestamp_users[spark] = count - 1, before
            else:
                spark.conf.set(_TIMESTAMPS, before or "INT96")
