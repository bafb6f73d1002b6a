"""The operator that finds ranges that any scheduler has taken before, by the cut ledger, for mapped tasks."""

from collections.abc import Sequence
from typing import Any, Final

from airflow.sdk import Context, XComArg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, TableNotFoundError
from aiopravega.ledger import CutRecord, IntervalState
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.intervals import check_mappable, to_xcom

# The most names in an error.
_SHOWN: Final = 10
_NOT_PROCESSED: Final = (IntervalState.OPEN, IntervalState.FAILED)


class PravegaRecordedRangesOperator(PravegaStreamOperator):
    """Returns ranges that a consumer took before, also by sensors of Dagster, to be processed by mapped tasks.

    Each is `{"start": text, "end": text, "consumer": name, "interval": name}`, as a sensor gives it: map reads over
    them, `PravegaSparkReadOperator.partial(…).expand(stream_cuts=ranges.output)`. A read records that the interval is
    done. The operator takes no new range, and does not check whether another task is processing a range.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        consumer: the consumer that took the ranges, as `pravega cuts list` shows it. (templated)
        intervals: names of the intervals, done or not. By default, all intervals of the consumer that are open or
            failed. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "consumer", "intervals", "pravega_conn_id")

    def __init__(self, *, consumer: str, intervals: Sequence[str] | str | XComArg | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.consumer = consumer
        self.intervals = intervals

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> list[dict[str, str]]:
        """Find the ranges, in the order of the stream.

        Raises:
            ConfigurationError: the consumer took no range of the stream, or none with one of the names, or the range
                is skipped or given back.
            PravegaError: the cluster cannot be reached.
        """
        try:
            records = client.cut_ledger(stream.scope).records(self.consumer, stream)
        except TableNotFoundError:
            records = []
        if not records:
            raise ConfigurationError(
                f"consumer {self.consumer!r} took no range of {stream}: `pravega cuts list {stream}` shows who did"
            )
        chosen = self._chosen(records)
        check_mappable(context, len(chosen), "name some of them by intervals=")
        self.log.info("%s of %s: %d of %d recorded ranges", self.consumer, stream, len(chosen), len(records))
        return [to_xcom(each) for each in chosen]

    def _chosen(self, records: Sequence[CutRecord]) -> list[CutRecord]:
        if self.intervals is None:
            return [each for each in records if each.state in _NOT_PROCESSED]
        if isinstance(self.intervals, XComArg):
            raise ConfigurationError("intervals was not resolved: name it in an operator of the DAG")
        names = [self.intervals] if isinstance(self.intervals, str) else list(self.intervals)
        unknown = sorted(set(names) - {each.interval for each in records})
        if unknown:
            known = ", ".join(each.interval for each in records[-_SHOWN:])
            raise ConfigurationError(
                f"consumer {self.consumer!r} has no interval {', '.join(unknown)}: the last ones are {known}"
            )
        chosen = [each for each in records if each.interval in names]
        for each in chosen:
            if each.state in (IntervalState.SKIPPED, IntervalState.GIVEN_BACK):
                raise ConfigurationError(
                    f"interval {each.interval} of {self.consumer!r} is {each.state.value} ({each.reason}). A skipped "
                    "one can be reopened (`pravega cuts reopen`); a range that was given back belongs to another one"
                )
        return chosen
