"""One range of a stream that a Spark Connect server processes while the task waits without a worker."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from airflow.sdk import Context

from aiopravega.blocking import PravegaClient
from aiopravega.errors import SplitProofError
from aiopravega.ledger import Sink
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.spark.deferring import DeferrableSparkOperator
from airflow_pravega.spark.range import PravegaSparkRangeOperator, Processed
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.intervals import declare, finish
from pravega_jobs.retries import error_in
from pravega_jobs.spark.connect import Operation, OperationEnd
from pravega_jobs.spark.options import UNSPLIT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Begun:
    """An operation that was begun, plain JSON for its end, and the names of its observations."""

    operation: Operation
    carried: Mapping[str, Any]
    observations: Sequence[str] = field(default=())


class DeferrableRangeOperator(DeferrableSparkOperator, PravegaSparkRangeOperator):
    """A Spark operator that reads one range, and whose work is one operation of Spark."""

    def begin_range(
        self,
        context: Context,
        given: Mapping[str, str],
        begin: "Callable[[PravegaClient, DataFrame, str], Begun]",
        *,
        sink: Sink | None = None,
        again: Mapping[str, Any] | None = None,
    ) -> NoReturn:
        """Have a Spark Connect server process a range, and leave the worker: `complete_range` continues.

        Args:
            context: the task's context.
            given: the range, with the names and times that it may have.
            begin: gets a connected client, the range as a DataFrame, and the server.
            sink: the target of the write, which a take-over of the range can ask.
            again: the event of a first operation, which has found a segment split at a wrong offset.

        Raises:
            AirflowFailException: the stream, the range or an option cannot work, or there is no such server.
            PravegaError: the cluster cannot be reached.
        """
        hook, first = PravegaHook(self.pravega_conn_id), None if again is None else again["carried"]
        more = {} if first is None else UNSPLIT
        with self.failures_recorded(hook, given, context), failing_for_good():
            url, named = self.server(hook), self.read_options(given, None)
            with self.fixed_range(hook, context, given, first) as found:
                declare(found.client, found.stream, given, sink, context)
                with self.session(hook, context) as spark:
                    begun = begin(found.client, self.load(spark, found, {**named, **more}), url)
                    columns = [list(each) for each in self.lineage.inputs[0].columns]
                    own = {**found.fixed(), "input_columns": columns, "is_unsplit": first is not None}
                    self.give_back(
                        begun.operation, {**begun.carried, **own}, observations=begun.observations, first=first
                    )

    def has_to_begin_again(self, event: Mapping[str, Any]) -> bool:
        """True if the operation has found a segment split at a wrong offset: the range is read again, unsplit."""
        message = event.get("end", {}).get("message", "")
        if event["carried"]["is_unsplit"] or not isinstance(error_in(RuntimeError(message)), SplitProofError):
            return False
        self.log.warning("A segment was split where no event starts, so the range is read again unsplit")
        return True

    def complete_range(
        self,
        context: Context,
        given: Mapping[str, str],
        event: Mapping[str, Any],
        work: Callable[[PravegaClient, OperationEnd, float], R],
    ) -> Processed[R]:
        """Continue after the operation has ended, and record that the interval of the range is done, or has failed.

        Args:
            context: the task's context.
            given: the range.
            event: the trigger's event.
            work: gets a connected client, the end of the operation, and the seconds that it took.

        Raises:
            AirflowFailException: the operation has failed with an error that no retry can help.
            AirflowException: it has failed.
            PravegaError: the cluster cannot be reached.
        """
        hook, carried = PravegaHook(self.pravega_conn_id), event["carried"]
        with (
            self.failures_recorded(hook, given, context),
            failing_for_good(),
            self.fixed_range(hook, context, given, carried) as found,
        ):
            self.describe_input(columns=tuple((name, kind) for name, kind in carried["input_columns"]))
            end, seconds = self.ended(event)
            result = work(found.client, end, seconds)
            finish(found.client, found.stream, given, found.cuts, context)
        return Processed(found.stream, found.cuts, found.size, seconds, result)
