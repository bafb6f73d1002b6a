"""Operators that ask a range by SQL, with DuckDB in the process of the task."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Context, XComArg

from aiopravega.blocking.intervals import TakenRange
from aiopravega.errors import ConfigurationError
from airflow_pravega.frames.range import PravegaFrameRangeOperator
from pravega_jobs.frame_kinds import need, need_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from aiopravega.blocking.registry import SchemaRegistry

_EVENTS: Final = "events"
_MOST_ROWS: Final = 100


class _SqlOperator(PravegaFrameRangeOperator):
    """An operator that asks one range; the query names it `events`."""

    template_fields: Sequence[str] = ("sql", "stream_cuts", *PravegaFrameRangeOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {"sql": "sql"}
    template_ext: Sequence[str] = (".sql",)

    def __init__(self, *, sql: str, stream_cuts: Mapping[str, str] | XComArg, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(self.into, str | None):
            raise ConfigurationError(
                f"into is {self.into!r}, but a query has one result: name one stream, or divide it by @task.pravega"
            )
        self.sql = sql
        self.stream_cuts = stream_cuts

    @contextmanager
    def ask(
        self, taken: TakenRange, registry: "SchemaRegistry | None", options: Mapping[str, str]
    ) -> "Iterator[pa.RecordBatchReader]":
        """The query's rows while a block reads them; the query reaches no file and no network.

        Raises:
            ConfigurationError: DuckDB is not installed or refuses the query, or the text is not one query over events.
            PravegaError: the range cannot be read.
        """
        need_arrow()
        need("sql", "duckdb")
        from pravega_jobs.commands.queries import rows_of
        from pravega_jobs.commands.statements import Query, parse
        from pravega_jobs.frames.read import plan_read

        asked = parse(self.sql)
        if not isinstance(asked, Query) or set(asked.streams) - {_EVENTS}:
            raise ConfigurationError(
                f"sql must be a query (SELECT) over {_EVENTS}, which names the range of stream_cuts, and over nothing "
                "else: use a task of your own for others"
            )
        ranges = {_EVENTS: plan_read(taken, None, registry, options)}
        # One thread: a further try makes the same sums of floating-point numbers, and the same order.
        with rows_of(self.sql, ranges, None, threads=1) as rows:
            yield rows


class PravegaSqlOperator(_SqlOperator):
    """Asks a range by SQL without Spark, and writes, lands or merges the result exactly once.

    The query names the range `events`, and has the functions of DuckDB. DuckDB has a few megabytes of the range in
    memory, and what the query keeps. At the end the interval that the range names is recorded as done.

    Returns the facts of the write (as `PravegaSparkWriteOperator`), of the landing (as `PravegaLandOperator`) or of the
    merge (as `PravegaCdcMergeOperator`).
    Without `into` and `table`, it returns the rows as a list of dicts, at most 100; texts stand for values that JSON
    does not have.

    It also takes the arguments of all tasks with frames: `columns`, `options`, `into`, `write_id`, `rebuild`,
    `commit_ledger`, `into_options`, `table`, `postgres_conn_id`, `iceberg_conn_id`, `aws_conn_id`, `new_columns`,
    `partition_by`, `key`, `order_by`, `delete_column`, `deletes` and `pravega_conn_id`, as
    `airflow_pravega.frames.range.PravegaFrameRangeOperator` has them.

    Args:
        sql: the query, or the name of a file `.sql` beside the DAG. (templated)
        stream_cuts: the range, such as a sensor's output. (templated)
    """

    def execute(self, context: Context) -> Any:
        """Ask the range.

        Raises:
            AirflowFailException: the range, the query, a name or an option cannot work; there are too many rows; or
                the write is done with other rows.
            PravegaError: the cluster cannot be reached.
        """

        @contextmanager
        def work(
            taken: TakenRange, registry: "SchemaRegistry | None", options: Mapping[str, str], _largest: int
        ) -> Iterator[Any]:
            with self.ask(taken, registry, options) as found:
                yield found if self.into or self.table else _rows(found)

        return self.process_range(context, self.stream_cuts, work)


class PravegaSqlCheckOperator(_SqlOperator):
    """Checks a range by SQL without Spark: the task fails unless the query gives one row whose values are all true.

    As with the `SQLCheckOperator` of Airflow, null, false, 0 and an empty text are not true. The query names the range
    `events`. Events do not change, so that a failed check is not tried again. If the range names an interval, this
    task's part of it is done when the check passes, and has failed when it does not.

    Returns the row.

    It also takes `columns`, `options` and `pravega_conn_id`, as `PravegaSqlOperator` does.

    Args:
        sql: the query, or the name of a file `.sql` beside the DAG. (templated)
        stream_cuts: the range, such as a sensor's output. (templated)

    Raises:
        ConfigurationError: `into` or `table` is given.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.into is not None or self.table is not None:
            raise ConfigurationError("a check writes nothing: leave out into and table, or use PravegaSqlOperator")

    def execute(self, context: Context) -> Any:
        """Ask the range.

        Raises:
            AirflowFailException: the check does not pass, or the range, the query or an option cannot work.
            PravegaError: the cluster cannot be reached.
        """

        @contextmanager
        def work(
            taken: TakenRange, registry: "SchemaRegistry | None", options: Mapping[str, str], _largest: int
        ) -> Iterator[Any]:
            with self.ask(taken, registry, options) as found:
                rows = _rows(found)
            if len(rows) != 1:
                raise ConfigurationError(f"the query of a check must give one row, and gives {len(rows)}")
            [row] = rows
            failed = [name for name, value in row.items() if not value]
            if failed:
                raise AirflowFailException(
                    f"the check of {taken.stream} does not pass: {', '.join(failed)} of {row}. The query: {self.sql}"
                )
            self.log.info("The check of %s passes: %s", taken.stream, row)
            yield row

        return self.process_range(context, self.stream_cuts, work)


def _rows(found: "pa.RecordBatchReader") -> list[dict[str, Any]]:
    """The rows of a result, as JSON has them.

    Raises:
        ConfigurationError: they are too many for an XCom.
    """
    rows: list[dict[str, Any]] = []
    for batch in found:
        rows += batch.slice(0, _MOST_ROWS + 1).to_pylist()
        if len(rows) > _MOST_ROWS:
            raise ConfigurationError(
                f"the query gives more than {_MOST_ROWS} rows, too many for an XCom: give into or table, or a LIMIT"
            )
    made: list[dict[str, Any]] = json.loads(json.dumps(rows, default=str))
    return made
