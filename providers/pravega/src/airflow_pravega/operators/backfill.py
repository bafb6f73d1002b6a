"""The operator that plans a backfill: what lies between two cuts, as intervals for mapped tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context, XComArg

from aiopravega import UNBOUNDED, PravegaClient, PravegaConfig, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.backfill import record_plan
from aiopravega.intervals.planning import plan_parts
from aiopravega.loop import LoopThread
from airflow_pravega.failures import failing_for_good
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.identity import consumer_name, interval_name
from airflow_pravega.waiting import EARLIEST, LATEST, cut_at


class PravegaBackfillPlanOperator(BaseOperator):
    """Divides what lies between two cuts into intervals, records them, and returns those that are not done.

    Each is `{"start": text, "end": text, "consumer": name, "interval": name}`: what `PravegaSparkReadOperator` takes as
    `stream_cuts`, which then records that the interval is done. Map the reads over them:
    `PravegaSparkReadOperator.partial(…).expand(stream_cuts=plan.output)`. A run that is tried or cleared again gets the
    same intervals with the same ranges, without those that are done.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        start: `"earliest"` (the head), `"latest"` (the tail), the text of a cut, or a range, whose end is meant.
            (templated)
        end: the same. (templated)
        parts: how many intervals. (templated)
        max_bytes: or about how large, in bytes, event headers included. (templated)
        consumer: name of the backfill in the cut ledger; by default made of DAG, task and run. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = ("stream", "start", "end", "parts", "max_bytes", "consumer", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        start: str | Mapping[str, str] | XComArg = EARLIEST,
        end: str | Mapping[str, str] | XComArg = LATEST,
        parts: int | str | None = None,
        max_bytes: int | str | None = None,
        consumer: str | None = None,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stream = stream
        self.start = start
        self.end = end
        self.parts = parts
        self.max_bytes = max_bytes
        self.consumer = consumer
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> list[dict[str, str]]:
        """Plan, and record the plan.

        Raises:
            AirflowFailException: the stream, a cut or a number cannot work.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            consumer = self.consumer or f"airflow/{consumer_name(context)}/{interval_name(context)}"
            return LoopThread.shared().run(self._plan(PravegaHook(self.pravega_conn_id).get_config(), consumer))

    async def _plan(self, config: PravegaConfig, consumer: str) -> list[dict[str, str]]:
        stream = StreamName.parse(self.stream, config.scope)
        async with PravegaClient(config) as client:
            ledger = client.cut_ledger(stream.scope)
            await client.head(stream.scope, stream.stream)  # no ledger is made for a stream that is not there
            await ledger.create()
            # A plan that is recorded keeps its ends, so that head and tail of another day are not asked for again.
            begun = bool(await ledger.records(consumer, stream))
            start, end = [
                UNBOUNDED if begun and position in (EARLIEST, LATEST) else await cut_at(client, stream, position)
                for position in (self.start, self.end)
            ]
            plan = await plan_parts(
                client,
                stream,
                consumer,
                start=start,
                end=end,
                parts=_number("parts", self.parts),
                max_bytes=_number("max_bytes", self.max_bytes),
            )
            records = await record_plan(ledger, plan, by=consumer)
        waiting = [record for record in records if not record.is_done]
        self.log.info("%s: %d of %d intervals are to be processed", consumer, len(waiting), len(records))
        return [{**each.range.to_json(), "consumer": consumer, "interval": each.interval} for each in waiting]


def _number(name: str, value: object) -> int | None:
    """A templated number that may be left out."""
    if value is None or value == "":
        return None
    try:
        return int(str(value))
    except ValueError:
        raise ConfigurationError(f"{name} is {value!r}, but must be a whole number") from None
