"""`@task.pravega_spark`: a function that gets a range of a stream as a Spark DataFrame, as a task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any, cast

from airflow.providers.common.compat.sdk import DecoratedOperator, TaskDecorator, task_decorator_factory
from airflow.sdk import Context

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from airflow_pravega.asset_events import tell, took, written
from airflow_pravega.decorators.range import RangeFunctionOperator
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import written_once
from airflow_pravega.spark.deferred_range import Begun, DeferrableRangeOperator
from airflow_pravega.spark.range import Processed
from airflow_pravega.spark.writing import OnceWrite
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.tasks.intervals import shown
from pravega_jobs.spark.connect import OperationEnd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _PravegaSparkDecoratedOperator(RangeFunctionOperator, DeferrableRangeOperator):
    """The task of `@task.pravega_spark`; `pravega_spark_task` documents the arguments."""

    template_fields: Sequence[str] = (
        *DecoratedOperator.template_fields,
        "into",
        "write_id",
        "rebuild",
        "commit_ledger",
        "into_options",
        *DeferrableRangeOperator.template_fields,
    )
    custom_operator_name = "@task.pravega_spark"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        into: str | None = None,
        write_id: str | None = None,
        rebuild: int | str = 1,
        commit_ledger: str | None = None,
        into_options: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        if "transform" in kwargs:
            raise ConfigurationError("@task.pravega_spark takes no transform: the function itself transforms the range")
        if into is not None:
            check_stream(into)
            kwargs["multiple_outputs"] = True  # the result has the keys of PravegaSparkWriteOperator's
        super().__init__(python_callable=python_callable, **kwargs)
        if into is None and self.deferrable:
            raise ConfigurationError(
                "@task.pravega_spark has deferrable=True without into: the function itself writes, on a worker. Name "
                "the stream that it writes by into, or leave out deferrable"
            )
        self.into = into
        self.write_id = write_id
        self.rebuild = rebuild
        self.commit_ledger = commit_ledger
        self.into_options = dict(into_options or {})

    def execute(self, context: Context) -> Any:
        """Call the function with the range, and write the DataFrame that it returns.

        Raises:
            AirflowFailException: the stream, the range or an option cannot work; the function returns a DataFrame
                without `into`, or something else with `into`; or the write is done with other rows.
            PravegaError: the cluster cannot be reached.
        """
        arguments = self.bind(context)
        given = arguments.arguments[self.range_name]
        hook = PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            once = self._write(hook, context)

        if once is not None and self.deferrable:
            self.begin_range(context, given, partial(self._begin, arguments, once), sink=once.sink)

        def call(client: PravegaClient, frame: "DataFrame") -> Any:
            made = self._made(arguments, frame)
            if once is None:
                return made
            return once.run(client, lambda: once.writer(made).save(), self.log)

        done = self.process_range(context, given, call, sink=None if once is None else once.sink)
        return self._finished(context, given, once, done)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Continue after a Spark Connect server has written what the function has returned.

        Raises:
            AirflowFailException: the range or an option cannot work, or the write is done with other rows.
            AirflowException: the server has failed, or does not know the operation any more, and the write is not done.
            AirflowTaskTimeout: the task's `execution_timeout` is over; the operation is ended.
            PravegaError: the cluster cannot be reached.
        """
        self.end_session(event)
        arguments = self.bind(context)
        given, hook = arguments.arguments[self.range_name], PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            once = cast("OnceWrite", self._write(hook, context))
        if self.has_to_begin_again(event):
            self.begin_range(context, given, partial(self._begin, arguments, once), sink=once.sink, again=event)

        def check(client: PravegaClient, end: OperationEnd, seconds: float) -> dict[str, Any]:
            return once.ended(client, end, event["carried"], seconds, self.log)

        return self._finished(context, given, once, self.complete_range(context, given, event, check))

    def _begin(
        self,
        arguments: BoundArguments,
        once: OnceWrite,
        client: PravegaClient,
        frame: "DataFrame",
        url: str,
    ) -> Begun:
        """Have a server begin to write what the function returns."""
        return Begun(*once.begin(client, self._made(arguments, frame), url))

    def _made(self, arguments: BoundArguments, frame: "DataFrame") -> Any:
        """The result of the function."""
        arguments.arguments[self.range_name] = frame
        made = self.python_callable(*arguments.args, **arguments.kwargs)
        self._check_returned(made, frame)
        return made

    def _finished(
        self, context: Context, given: Mapping[str, str], once: OnceWrite | None, done: Processed[Any]
    ) -> Any:
        made = () if once is None else (written(done.result, given),)
        if once is not None:
            outputs = (written_once(once.config, done.result, once.columns),)
            self.lineage = replace(self.lineage, outputs=outputs)
        tell(context, *made, took(done.stream, done.cuts, given, bytes=done.size))
        self.log.info("Processed %s %s: %s bytes", done.stream, shown(done.cuts), f"{done.size:,}")
        return self._handle_output(done.result)

    def _write(self, hook: PravegaHook, context: Context) -> OnceWrite | None:
        if self.into is None:
            return None
        return OnceWrite.named(
            hook.get_config(),
            self.into,
            self.write_id or write_name(context),
            rebuild=self.rebuild,
            commit_ledger=self.commit_ledger,
            options=self.into_options,
        )

    def _check_returned(self, made: Any, frame: "DataFrame") -> None:
        # The class of a DataFrame depends on the session: Spark Connect has another one.
        is_frame = isinstance(made, type(frame))
        if is_frame and self.into is None:
            raise ConfigurationError(
                f"{self.python_callable.__name__} returns a DataFrame, but nothing says where to: name a stream by "
                "into=, or write it in the function"
            )
        if self.into is not None and not is_frame:
            raise ConfigurationError(
                f"{self.python_callable.__name__} returns {type(made).__name__}, but for into={self.into!r} it must "
                "return a DataFrame with the column event and, if wanted, routing_key"
            )


def pravega_spark_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Make a task of a function that gets a range as a DataFrame: `@task.pravega_spark(stream="examples/orders")`.

    The first argument of the task is a range, such as a sensor's output. The function gets the DataFrame of the range
    instead, with the columns that `PravegaSparkReadOperator` has, and the other arguments as they are. If it returns a
    DataFrame, this is written once to the stream `into`, and the task has the result of `PravegaSparkWriteOperator`.
    Otherwise the function's result is the task's result, and the function itself writes the DataFrame where it should
    be. At the end, the interval that the range names is recorded as done.

    Spark computes rows when they are needed, and a task may be tried again: then the function is called again. It is
    also called again in the same try if a segment was split at a wrong offset.

    Args:
        python_callable: the function.
        multiple_outputs: make an XCom of each key of a dict that it returns; with `into`, this is always done.
        **kwargs: `stream`, `columns`, `master`, `spark_conn_id`, `spark_conf`, `options` (of the read) and
            `pravega_conn_id`, as `PravegaSparkReadOperator` has them; `into`, a stream, which is made if it is missing;
            `write_id`, `rebuild`, `commit_ledger` and `into_options` (of the write), as `PravegaSparkWriteOperator` has
            them; `deferrable`, with `into`, to wait without a worker while a Spark Connect server works; and the
            arguments of all operators.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=_PravegaSparkDecoratedOperator,
        **kwargs,
    )
