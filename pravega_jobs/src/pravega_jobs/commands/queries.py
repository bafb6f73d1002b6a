"""Queries of DuckDB over ranges of streams, which it reads as Arrow batches, as often as the query needs them."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pravega_jobs.commands.progress import counted
from pravega_jobs.frames.read import PlannedRead
from pravega_jobs.tables import check_sql_names

if TYPE_CHECKING:
    from rich.progress import Progress


# Rows of a batch of a query's result.
_ROWS: Final = 100_000
# Seconds of a wait. A signal that comes just before a wait does not end it; nor does an interrupt end a query that has
# not begun.
_SOON: Final = 0.1
# Days are days in UTC. A query reads what is given to it, neither files nor the variables of this program, and cannot
# change that.
_LOCKS: Final = (
    "TimeZone = 'UTC'",
    "python_enable_replacements = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


@dataclass
class _Table:
    """A range as DuckDB sees it: each scan reads it from its beginning. `errors` are what ended scans."""

    planned: PlannedRead
    bars: "Progress | None"
    errors: list[Exception] = field(default_factory=list)

    def __arrow_c_schema__(self) -> Any:
        return self.planned.decoding.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        rows = counted(self.planned, self.bars)
        return pa.RecordBatchReader.from_batches(rows.schema, self._watched(rows)).__arrow_c_stream__()

    def _watched(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            yield from rows
        except Exception as error:  # DuckDB makes a text of it
            self.errors.append(error)
            raise


def lock(database: duckdb.DuckDBPyConnection) -> None:
    """Close a database against all but what is registered with it."""
    for setting in _LOCKS:
        database.execute(f"SET {setting}")


@contextmanager
def rows_of(
    query: str, ranges: Mapping[str, PlannedRead], bars: "Progress | None", *, threads: int | None = None
) -> Iterator[pa.RecordBatchReader]:
    """Run a query while a block reads its rows; few megabytes of a range are in memory, and what the query keeps.

    Args:
        query: its text.
        ranges: by the names of the tables in the query.
        bars: where the progress is shown.
        threads: of DuckDB; 1: the same rows come in the same order, and sums of floating-point numbers are the same.

    Raises:
        ConfigurationError: DuckDB refuses the query.
        PravegaError: a range cannot be read.
    """
    tables = {name: _Table(planned, bars) for name, planned in ranges.items()}
    for planned in ranges.values():
        check_sql_names(planned.decoding.schema.names, str(planned.stream))
    with tempfile.TemporaryDirectory(prefix="pravega-sql-") as folder:
        config: dict[str, Any] = {"temp_directory": folder} | ({} if threads is None else {"threads": threads})
        with duckdb.connect(config=config) as database, _Query.begun(database, tables) as run:
            lock(database)
            for name, table in tables.items():
                database.register(name, table)
            found: pa.RecordBatchReader = run.call(lambda: database.sql(query).to_arrow_reader(_ROWS))
            yield pa.RecordBatchReader.from_batches(found.schema, run.batches(found))


@dataclass(frozen=True, slots=True)
class _Query:
    """A query that runs in a thread of its own, since a signal reaches this one only while it waits in Python."""

    thread: ThreadPoolExecutor
    tables: Mapping[str, _Table]

    @classmethod
    @contextmanager
    def begun(cls, database: duckdb.DuckDBPyConnection, tables: Mapping[str, _Table]) -> Iterator["_Query"]:
        """Start the thread for a block; whatever it still does at the end of the block is interrupted."""
        with ThreadPoolExecutor(1, "pravega-sql") as thread:
            thread.submit(int).result()  # it has begun before there is something to interrupt
            try:
                yield cls(thread, tables)
            finally:
                last = thread.submit(int)
                while not last.done():
                    database.interrupt()
                    wait([last], _SOON)

    def call(self, work: Callable[[], Any]) -> Any:
        running = self.thread.submit(work)
        while not running.done():
            wait([running], _SOON)
        try:
            return running.result()
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _reason(error, self.tables) from None

    def batches(self, found: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                yield self.call(found.read_next_batch)
            except StopIteration:
                return


def _reason(error: Exception, tables: Mapping[str, _Table]) -> Exception:
    """The error of a scan, which DuckDB knows as a text only; or what DuckDB says."""
    for table in tables.values():
        for cause in table.errors:
            return cause
    return ConfigurationError(f"DuckDB does not run the query: {error}{_columns(tables)}")


def _columns(tables: Mapping[str, _Table]) -> str:
    texts = [
        f"'{name}' has {', '.join(table.planned.decoding.schema.names)} ({table.planned.decoding.described})"
        for name, table in tables.items()
    ]
    raw = any(table.planned.decoding.plan is None for table in tables.values())
    way = ". Fields of events become columns by decode=json and columns='id long, …', or by a registry" if raw else ""
    return f"\n{'; '.join(texts)}{way}" if texts else ""
