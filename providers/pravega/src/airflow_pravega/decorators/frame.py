"""`@task.pravega`: a function that gets a range of a stream as a frame, without Spark, as a task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import DecoratedOperator, TaskDecorator, task_decorator_factory
from airflow.sdk import Context

from aiopravega.blocking.intervals import TakenRange
from aiopravega.errors import ConfigurationError
from airflow_pravega.decorators.range import RangeFunctionOperator
from airflow_pravega.frames.range import PravegaFrameRangeOperator
from pravega_jobs.frame_kinds import FrameKind

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry


class _PravegaDecoratedOperator(RangeFunctionOperator, PravegaFrameRangeOperator):
    """The task of `@task.pravega`; `pravega_task` documents the arguments."""

    template_fields: Sequence[str] = (*DecoratedOperator.template_fields, *PravegaFrameRangeOperator.template_fields)
    custom_operator_name = "@task.pravega"

    def __init__(self, *, python_callable: Callable[..., Any], **kwargs: Any) -> None:
        if kwargs.get("into") is not None or kwargs.get("table") is not None:
            kwargs["multiple_outputs"] = True  # the result has the facts of the write or the landing
        super().__init__(python_callable=python_callable, **kwargs)
        self.kind = FrameKind.of_parameter(python_callable, self.range_name)

    def execute(self, context: Context) -> Any:
        """Call the function with the range as a frame, and write or land what it returns.

        Raises:
            AirflowFailException: the range, a name or an option cannot work; the function returns a table and nothing
                says where to, or something else with `into` or `table`; or the write is done with other rows.
            PravegaError: the cluster cannot be reached.
        """
        arguments, name = self.bind(context), self.range_name

        @contextmanager
        def work(
            taken: TakenRange, registry: "SchemaRegistry | None", options: Mapping[str, str], largest: int
        ) -> Iterator[Any]:
            arguments.arguments[name] = self.kind.read(taken, registry, options, largest)
            made = self.python_callable(*arguments.args, **arguments.kwargs)
            self._check_returned(made)
            yield made

        return self._handle_output(self.process_range(context, arguments.arguments[name], work))

    def _check_returned(self, made: Any) -> None:
        from pravega_jobs.tables import TABLES, is_table

        called, target = self.python_callable.__name__, self.into or self.table
        if self.into is not None and not isinstance(self.into, str):
            names = list(made) if isinstance(made, Mapping) else type(made).__name__
            if not isinstance(made, Mapping) or {*made} != {*self.into} or not all(map(is_table, made.values())):
                raise ConfigurationError(
                    f"{called} returns {names}, but with into={list(self.into)!r} it must return a mapping that has "
                    f"these keys, and for each {TABLES}"
                )
            return
        if is_table(made) and target is None:
            raise ConfigurationError(
                f"{called} returns {type(made).__name__}, but nothing says where to: name a stream by into=, or a "
                "table by table=, or write it in the function"
            )
        if target is not None and not is_table(made):
            raise ConfigurationError(
                f"{called} returns {type(made).__name__}, but for {target!r} it must return {TABLES}"
            )


def pravega_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Make a task of a function that gets a range as a frame, without Spark: `@task.pravega(into="examples/delays")`.

    The first argument of the task is a range, such as a sensor's output. The function gets its events instead, as its
    parameter's annotation says: `pyarrow.RecordBatchReader`, `pyarrow.Table`, `polars.LazyFrame`, `polars.DataFrame`,
    `pandas.DataFrame` or `duckdb.DuckDBPyRelation`, as a class or as a text, which needs no import when Airflow reads
    the DAG. Readers, lazy frames and relations have a few megabytes of the range in memory at a time.

    What it returns is written once to the stream `into`, or landed once in `table`, or with `key` merged into it once.
    If `into` is a list of streams and tables, it returns a mapping with a frame for each: they are written together;
    the task's result then has the facts of the write. Without these, the function's result is the task's result. At
    the end, the interval of the range is done, or has failed, as with `@task.pravega_range`. A task that is killed
    after its write and is tried again calls the function again, and adds nothing: the function must make the same rows
    of the same events.

    Args:
        python_callable: the function.
        multiple_outputs: make an XCom of each key of a dict that it returns; with `into` or `table`, this is always
            done.
        **kwargs: `columns`, `options`, `into`, `write_id`, `rebuild`, `commit_ledger`, `into_options`, `table`,
            `postgres_conn_id`, `iceberg_conn_id`, `aws_conn_id`, `new_columns`, `partition_by`, `key`, `order_by`,
            `delete_column`, `deletes`, `largest` and `pravega_conn_id`, as
            `airflow_pravega.frames.range.PravegaFrameRangeOperator` has them, and the arguments of all operators.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=_PravegaDecoratedOperator,
        **kwargs,
    )
