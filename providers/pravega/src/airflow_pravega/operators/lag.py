"""The operator that checks how far a consumer is behind its stream."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Context, XComArg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import lag_of
from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import check_known, optional_number
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import check_consumer, deployed_name


class PravegaLagCheckOperator(PravegaStreamOperator):
    """Fails if a consumer is too far behind its stream, or if events were removed before it has processed them.

    Let a DAG of its own check every few minutes, with a notifier in `on_failure_callback`. The failure has no retries,
    which would find the same.

    Returns `{"stream", "consumer", "start", "end", "bytes", "events", "seconds", "waiting"}`: the range that is not
    processed; its bytes, event headers included; its events, None: not counted; the seconds since the consumer has
    finished an interval while events wait, None: not known; and the names of its intervals that are not done.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        consumer: the consumer, as `pravega cuts list` shows it: `dag/task` by default. (templated)
        max_bytes: the most bytes. (templated)
        max_events: the most events, which are read to be counted, up to one more. (templated)
        max_time: the longest time without a finished interval while events wait.
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "consumer", "max_bytes", "max_events", "pravega_conn_id")

    def __init__(
        self,
        *,
        consumer: str,
        max_bytes: int | str | XComArg | None = None,
        max_events: int | str | XComArg | None = None,
        max_time: timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_known(consumer, check_consumer)
        with failing_for_good():
            if max_bytes is None and max_events is None and max_time is None:
                raise ConfigurationError(
                    "this check has no limit, so that it would always pass: give max_bytes, max_events or max_time"
                )
        self.consumer = consumer
        self.max_bytes = max_bytes
        self.max_events = max_events
        self.max_time = max_time

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, Any]:
        """Check the lag.

        Raises:
            AirflowFailException: a limit is exceeded, or events are lost.
            PravegaError: the ledger or the stream cannot be asked.
        """
        del context
        size, events = optional_number("max_bytes", self.max_bytes), optional_number("max_events", self.max_events)
        consumer = deployed_name(self.consumer)
        lag = lag_of(client, stream, consumer, count_to=0 if events is None else events + 1)
        wrong = [lag.loss] if lag.loss is not None else lag.exceeds(size, events, self.max_time)
        found = {
            "stream": str(stream),
            "consumer": consumer,
            **lag.range.to_json(),
            "bytes": lag.size,
            "events": lag.events if lag.counted_to else None,
            "seconds": None if lag.time is None else lag.time.total_seconds(),
            "waiting": [record.interval for record in lag.waiting],
        }
        self.log.info("Lag: %s", found)
        if wrong:
            raise AirflowFailException(f"{consumer!r} on {stream}: {'; '.join(wrong)}")
        return found
