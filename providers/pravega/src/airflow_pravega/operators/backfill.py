"""The operator that plans a backfill: the data between two cuts, or event times, as intervals for mapped tasks."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import Context, XComArg

from aiopravega import PravegaClient, StreamName, TimeUnit, blocking
from aiopravega.errors import ConfigurationError, TableNotFoundError
from aiopravega.intervals.plans.backfill import BackfillPlan, record_plan
from aiopravega.intervals.plans.planning import plan_parts, plan_times
from aiopravega.intervals.plans.steps import Step
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import EARLIEST, LATEST, optional_number, position_of, time_of
from airflow_pravega.tasks.identity import chain_name, plan_name, records_nothing, write_name
from airflow_pravega.tasks.intervals import TO_RECORD, check_mappable, to_xcom


class PravegaBackfillPlanOperator(PravegaStreamOperator):
    """Divides the data between two cuts, or event times, into intervals, records them, and returns the ones not done.

    Each interval is `{"start": text, "end": text, "consumer": name, "interval": name}`, with the texts `since` and
    `until` if it is one of event times. Map reads over them:
    `PravegaSparkReadOperator.partial(…).expand(stream_cuts=plan.output)`. Each read takes the events of the interval's
    times, and records that the interval is done. A run that is tried or cleared again gets the same intervals with the
    same ranges, without the ones that are done.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        start: `"earliest"` (the head), `"latest"` (the tail), the text of a cut, or a range, which stands for its end.
            (templated)
        end: in the same way. (templated)
        parts: number of intervals. (templated)
        max_bytes: instead of `parts`, the approximate bytes of an interval, event headers included. (templated)
        since: for intervals of event times: the start of the first interval, a time with its zone. (templated)
        until: the end of the last one, which is not included. (templated)
        every: the length of an interval: `15m`, `6h`, `1d`, `1w` or `1mo`. (templated)
        ahead: the most by which an event may be newer than the time that its writer notes next: `timedelta()` if each
            writer writes in the order of event times. By default it is not known: each range starts at the head.
        clip: take the events that are there, if retention may have removed some.
        unit: the unit of the times of the stream's writers: `ns`, `us`, `ms` or `s`.
        consumer: name of the backfill in the cut ledger; by default made of DAG, task and run. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = (
        "stream",
        "start",
        "end",
        "parts",
        "max_bytes",
        "since",
        "until",
        "every",
        "consumer",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        start: str | Mapping[str, str] | XComArg = EARLIEST,
        end: str | Mapping[str, str] | XComArg = LATEST,
        parts: int | str | None = None,
        max_bytes: int | str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        every: str | None = None,
        ahead: timedelta | None = None,
        clip: bool = False,
        unit: str = TimeUnit.MS.name.lower(),
        consumer: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.start = start
        self.end = end
        self.parts = parts
        self.max_bytes = max_bytes
        self.since = since
        self.until = until
        self.every = every
        self.ahead = ahead
        self.clip = clip
        self.unit = unit
        self.consumer = consumer

    def work(self, client: blocking.PravegaClient, stream: StreamName, context: Context) -> list[dict[str, str]]:
        """Plan, and record the plan."""
        return client.run(self._plan(client.asynchronous, stream, context))

    async def _plan(self, client: PravegaClient, stream: StreamName, context: Context) -> list[dict[str, str]]:
        consumer = await self._consumer(client, stream, context)
        of_times = any((self.since, self.until, self.every))
        plan = await (self._plan_times if of_times else self._plan_parts)(client, stream, consumer)
        way = "plan a shorter time or a longer every" if of_times else "give fewer parts or a larger max_bytes"
        check_mappable(context, len(plan.waiting), way)
        if records_nothing(context):
            self.log.warning("%s is not recorded: a test of a task records nothing. %s", consumer, TO_RECORD)
            return [{**each.range.to_json(), **_texts(each.times)} for each in plan.waiting]
        ledger = client.cut_ledger(stream.scope)
        await ledger.create()
        records = await record_plan(ledger, plan, by=consumer)
        waiting = [record for record in records if not record.is_done]
        self.log.info("%s: %d of %d intervals are to be processed", consumer, len(waiting), len(records))
        return [to_xcom(each) for each in waiting]

    async def _consumer(self, client: PravegaClient, stream: StreamName, context: Context) -> str:
        """The name of the backfill. A partition key can come again: the run is part of the name.

        Older releases left the run out: a plan with that name is this run's if it was recorded after the run was due.
        """
        if self.consumer is not None:
            return chain_name(context, self.consumer)
        former, own = (chain_name(context, name) for name in (write_name(context), plan_name(context)))
        if former == own:
            return own
        try:
            records = await client.cut_ledger(stream.scope).records(former, stream)
        except TableNotFoundError:
            return own
        return former if any(record.recorded_at >= context["dag_run"].run_after for record in records) else own

    async def _plan_parts(self, client: PravegaClient, stream: StreamName, consumer: str) -> BackfillPlan:
        return await plan_parts(
            client,
            stream,
            consumer,
            start=position_of(self.start, stream),
            end=position_of(self.end, stream),
            parts=optional_number("parts", self.parts),
            max_bytes=optional_number("max_bytes", self.max_bytes),
        )

    async def _plan_times(self, client: PravegaClient, stream: StreamName, consumer: str) -> BackfillPlan:
        if not all((self.since, self.until, self.every)) or self.parts or self.max_bytes:
            raise ConfigurationError("a backfill of event times has since, until and every, and no parts or max_bytes")
        edges = Step.parse(str(self.every)).times(time_of("since", self.since), time_of("until", self.until))
        return await plan_times(
            client, stream, consumer, edges, ahead=self.ahead, clip=self.clip, unit=TimeUnit.parse(self.unit)
        )


def _texts(times: tuple[datetime, datetime] | None) -> dict[str, str]:
    return {} if times is None else {"since": times[0].isoformat(), "until": times[1].isoformat()}
