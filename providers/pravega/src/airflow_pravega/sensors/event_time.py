"""The sensor that waits until a stream is complete up to an event time, and returns the range of an interval.

Each interval is claimed in the cut ledger: every later run that asks for it gets the same range.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from airflow.sdk import Context, PokeReturnValue

from aiopravega import PravegaClient, PravegaConfig, StreamName, TimeUnit
from aiopravega.errors import ConfigurationError, NotYetError, NoWatermarksError
from aiopravega.intervals import OnTruncated, claim_times, interval_name
from aiopravega.intervals.chain.claims import claim_times_again, claimed_again, former_name
from aiopravega.ledger import Interval
from aiopravega.loop import LoopThread
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.sensors.mapped_chains import former_consumer
from airflow_pravega.sensors.waiting import PravegaWaitingSensor
from airflow_pravega.tasks.arguments import check_choice, choice_of, time_of
from airflow_pravega.tasks.claimants import claimant_of, with_parts
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import chain_name, map_index, start_of_partition, write_name
from airflow_pravega.tasks.intervals import to_xcom
from airflow_pravega.triggers.event_time import PravegaEventTimeTrigger

_SINCE: Final = "{{ data_interval_start | default('') }}"
_UNTIL: Final = "{{ data_interval_end | default('') }}"


class PravegaEventTimeSensor(LinkedToConsumer, PravegaWaitingSensor):
    """Waits until all events of an interval of event times are in a stream; returns the range that has them.

    By the stream's watermarks, all events of the times `[since, until)` are in the range, and maybe others: a task that
    reads it keeps the events with `since <= time < until`, as `PravegaSparkReadOperator` does. A stream without a
    watermark is waited for, as the log explains. The range is `{"start":
    text, "end": text, "since": time, "until": time, "consumer": name, "interval": name, "claim": number}`, and is
    recorded in the cut ledger under these names: a read that gets it as `stream_cuts` records that the interval is
    done. `claim` is "1", until `PravegaLateEventsOperator` has the interval run again: then the range is that of the
    newest claim, which also has the late events, and `rebuild="{{ ti.xcom_pull(task_ids='wait', key='claim') }}"` of a
    task that writes or lands makes the next generation of it.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        since: the start, a time with its zone; by default the start of the run's data interval. (templated)
        until: the end, which is not included; by default the end of the run's data interval. (templated)
        partition: instead of both: the length of the interval that the run's partition key begins, as timetables of
            partitions give it (Airflow 3.2 and newer). A key without a zone is in UTC.
        ahead: the most by which an event may be newer than the time that its writer notes next: `timedelta()` if each
            writer writes in the order of event times. By default it is not known: the range starts at the head.
        clip: take the events that are there, if retention may have removed events of the interval.
        unit: the unit of the times of the stream's writers: `ns`, `us`, `ms` or `s`.
        consumer: name in the cut ledger; by default the task's. (templated)
        on_truncated: the rule if a part of the interval's recorded range is gone, because of retention, a truncation,
            or because the stream was deleted and made again: `"fail"`, or `"skip"` that part. (templated)
        deferrable: wait on the triggerer, without a worker slot.
        record: record intervals. If False, an account that may only read is enough.
        pravega_conn_id: id of the connection. (templated)
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    template_fields: Sequence[str] = ("stream", "since", "until", "consumer", "on_truncated", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        since: str | datetime = _SINCE,
        until: str | datetime = _UNTIL,
        partition: timedelta | None = None,
        ahead: timedelta | None = None,
        clip: bool = False,
        unit: str = TimeUnit.MS.name.lower(),
        consumer: str | None = None,
        on_truncated: str = OnTruncated.FAIL.value,
        record: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=stream, **kwargs)
        with failing_for_good():
            if partition is not None and (since, until) != (_SINCE, _UNTIL):
                raise ConfigurationError("partition is given with since or until: the key of the run says both")
            if partition is not None and partition <= timedelta():
                raise ConfigurationError(f"partition is {partition}, but must be longer than nothing")
        self.record = record
        check_choice(OnTruncated, "on_truncated", on_truncated)
        self.since = since
        self.until = until
        self.partition = partition
        self.ahead = ahead
        self.clip = clip
        self.unit = unit
        self.consumer = consumer
        self.on_truncated = on_truncated

    def check(self, context: Context) -> PokeReturnValue:
        config = PravegaHook(self.pravega_conn_id).get_config()
        stream = StreamName.parse(self.stream, config.scope)
        times = self._times(context)
        unit = TimeUnit.parse(self.unit)
        on_truncated = choice_of(OnTruncated, "on_truncated", self.on_truncated)
        consumer = chain_name(context, self.consumer)
        recorded = self.does_record(context, self.record)
        self.link_to_consumer(context, stream, {"consumer": consumer} if recorded else {})
        found = self._claim(config, stream, times, unit, consumer, on_truncated, context if recorded else None)
        try:
            result = LoopThread.shared().run(found)
        except (NotYetError, NoWatermarksError) as error:
            end = times[1].isoformat()
            about = f"{stream}, {end}, {type(error).__name__}"
            self.explain_text(context, about, f"waiting: {stream} is not complete up to {end} yet: {error}")
        else:
            self.explain(context, None)
            return PokeReturnValue(True, result)
        if self.deferrable:
            self.wait_with(PravegaEventTimeTrigger, stream, until=unit.first_number(times[1]))
        return PokeReturnValue(False)

    def _times(self, context: Context) -> tuple[datetime, datetime]:
        if self.partition is None:
            return time_of("since", self.since), time_of("until", self.until)
        start = start_of_partition(context)
        return start, start + self.partition

    async def _claim(
        self,
        config: PravegaConfig,
        stream: StreamName,
        times: tuple[datetime, datetime],
        unit: TimeUnit,
        consumer: str,
        on_truncated: OnTruncated,
        context: Context | None,
    ) -> dict[str, str]:
        """Find the range of an interval; `context` is None if it is not recorded."""
        async with PravegaClient(config) as client:
            if context is None:
                range_ = await client.range_for(stream, times, ahead=self.ahead, clip=self.clip, unit=unit)
                since, until = (time.isoformat() for time in times)
                return {**range_.to_json(), "since": since, "until": until}
            ledger = client.cut_ledger(stream.scope)
            if self.consumer is None and map_index(context) is not None:
                names = {interval_name(*times), former_name(*times)}
                former = [Interval(consumer, stream, name) for name in sorted(names)]
                consumer = await former_consumer(ledger, context, former) or consumer
            by, claimant = write_name(context), claimant_of(context)
            record = await claim_times(
                client,
                stream,
                consumer,
                times,
                ahead=self.ahead,
                clip=self.clip,
                unit=unit,
                by=by,
                on_truncated=on_truncated,
                claimant=claimant,
            )
            first, claim = record, 1
            while await ledger.find(claimed_again(first.identity, claim + 1)) is not None:
                claim += 1
            if claim > 1:
                record = await claim_times_again(
                    client, stream, consumer, times, claim, by=by, on_truncated=on_truncated
                )
            found = to_xcom(await with_parts(ledger, record, claimant, context))
            return {**found, "consumer": first.consumer, "claim": str(claim)}
