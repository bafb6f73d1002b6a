"""`@task.pravega_range`: a function that gets a range of a stream as its events, as a task."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import (
    DecoratedOperator,
    TaskDecorator,
    context_merge,
    determine_kwargs,
    task_decorator_factory,
)
from airflow.sdk import Context

from airflow_pravega.asset_events import tell, took
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Lineage, range_read
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.tasks.failures import ProcessesInterval
from airflow_pravega.tasks.ranges import task_range
from pravega_jobs.frame_kinds import range_parameter


class RangeFunctionOperator(DecoratedOperator, ProcessesInterval):
    """The task of a function whose first argument is a range."""

    def __init__(self, *, python_callable: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(python_callable=python_callable, **kwargs)
        self.range_name = range_parameter(python_callable)

    @property
    def given_ranges(self) -> Sequence[Any]:
        """See `ProcessesInterval`: the first argument of the function."""
        return [*list(self.op_args)[:1], self.op_kwargs.get(self.range_name)]

    def bind(self, context: Context) -> inspect.BoundArguments:
        """The function's arguments in this run."""
        context_merge(context, self.op_kwargs)
        kwargs = determine_kwargs(self.python_callable, self.op_args, context)
        return inspect.signature(self.python_callable).bind(*self.op_args, **kwargs)


class _PravegaRangeDecoratedOperator(ReportsLineage, LinkedToConsumer, RangeFunctionOperator):
    """The task of `@task.pravega_range`; `pravega_range_task` documents the arguments."""

    template_fields: Sequence[str] = (*DecoratedOperator.template_fields, "pravega_conn_id")
    custom_operator_name = "@task.pravega_range"

    def __init__(self, *, pravega_conn_id: str = PravegaHook.default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> Any:
        """Call the function with the range.

        Raises:
            AirflowFailException: the range cannot work, or is not this run's any more.
            PravegaError: the cluster cannot be reached.
        """

        def watch(killed: Callable[[], None] | None) -> None:
            self._when_killed = killed

        arguments = self.bind(context)
        given = arguments.arguments[self.range_name]
        with task_range(PravegaHook(self.pravega_conn_id), given, context, watch=watch) as taken:
            self.link_to_consumer(context, taken.stream, given)
            self.lineage = Lineage((range_read(taken.client.config, taken.stream, taken.range, given),))
            arguments.arguments[self.range_name] = taken
            made = self.python_callable(*arguments.args, **arguments.kwargs)
            tell(context, took(taken.stream, taken.range, given))
        return self._handle_output(made)


def pravega_range_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Make a task of a function that gets a range of a stream, such as a sensor's output: `@task.pravega_range`.

    The first argument of the task is the range. The function gets an object with `events()`, which gives the events
    with few of them in memory at a time, `start`, `end`, `range`, `stream`, `consumer`, `interval`, `times` (of a range
    of event times, which also has events of other times) and `client`, and its other arguments as they are. The
    function's result is the task's result.

    When the function returns, the interval that the range names is done; of several such tasks on one range, when all
    have returned. If it raises and the task is not tried again, the interval has failed. Otherwise the interval stays
    open, and the next try gets the same range. A function that skips its task (`AirflowSkipException`) has decided that
    there is nothing to do: its part is done.

    Args:
        python_callable: the function.
        multiple_outputs: make an XCom of each key of a dict that it returns.
        **kwargs: `pravega_conn_id`, and the arguments of all operators.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=_PravegaRangeDecoratedOperator,
        **kwargs,
    )
