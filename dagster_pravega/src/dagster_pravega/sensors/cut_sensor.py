"""The sensor that claims the next range of a stream, and runs it as a partition.

A tick first records the range in the ledger, then adds the partition and requests the run, whose names derive from the
record, and last moves the cursor. If a tick is killed anywhere, the next tick finds the record after the cursor and
repeats the rest: Dagster adds a partition once, and starts one run for a run key.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import dagster as dg

from aiopravega import PravegaClient
from aiopravega.errors import ConfigurationError, StreamSealedError, TableNotFoundError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_range import SINCE, ChainRules, NotNow, take_next
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.chain.take_over import AskSink, Judge, explain_wait
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import BEGINNING, CutLedger, CutRecord, Interval, IntervalState
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions, is_partition
from dagster_pravega.metadata.measures import CONSUMER_KEY, PARTITION_KEY
from dagster_pravega.metadata.spec import STREAM_KEY
from dagster_pravega.partitions.claimants import judge_of
from dagster_pravega.partitions.range_keys import keys_of, known_keys
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.table_keys import table_without_resources
from dagster_pravega.sensors.other_sensors import OtherSensors
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor
from pravega_jobs.debezium.transactions import watch_of
from pravega_jobs.identity.sinks import asking_sinks


def build_stream_cut_sensor(
    name: str,
    *,
    partitions_def: StreamCutPartitions,
    target: Any,
    min_bytes: int | None = None,
    min_events: int = 0,
    max_bytes: int | None = None,
    max_events: int | None = None,
    max_ranges: int = 1,
    transactions: str | None = None,
    quiet_for: timedelta = timedelta(),
    sealed: bool = False,
    combine: str = Combine.ALL.value,
    since: str = "last",
    on_open: str = OnOpen.WAIT.value,
    open_timeout: timedelta = timedelta(hours=6),
    on_truncated: str = OnTruncated.FAIL.value,
    resource_key: str = "pravega",
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that claims the next range of a stream when the conditions hold, adds its partition and requests a run.

    The conditions are the same as for Airflow's `PravegaStreamCutSensor`, without the conditions for a single run. All
    given conditions must hold, or, with `combine="any"`, one of them. Each range starts at the end of the consumer's
    last range, in either scheduler. The interval of a range is done when the IO manager has written the asset, when the
    asset calls `StreamRead.done`, or when its step has succeeded, in its run or in a re-execution. While the last range
    is not done, the reason of a skipped tick says for whom the sensor waits, and what ends the wait.

    One sensor claims the ranges of a consumer. Its target may be several assets; a second sensor fails its ticks, and
    names the first one.

    If the cluster does not answer, a tick is skipped after 20 s at most, with the host and the error as the reason.

    Args:
        name: of the sensor.
        partitions_def: of the assets; it has the stream and the consumer.
        target: the assets, or a job of them, as `dagster.sensor` takes them.
        min_bytes: bytes to wait for, event headers (8 bytes each) included; by default 1, and with `combine="any"` no
            condition. A range is empty only if this is 0.
        min_events: events to wait for. They are read to be counted, once each, up to this number.
        max_bytes: the most bytes of a range, which then ends between events; a single longer event is a range. The
            rest is in the next range.
        max_events: the most events of a range, in the same way; at least one of each segment that has any.
        max_ranges: the most ranges that a tick claims, each with a run of its own. More than 1 needs `max_bytes` or
            `max_events`, and `on_open="skip"`, because the runs work side by side.
        transactions: Debezium's stream of transactions: a range ends where all transactions of the database are whole,
            see `pravega_jobs.debezium.transactions.whole_transactions`.
        quiet_for: wait until nothing was written for so long, as the sensor saw it.
        sealed: wait until the stream is sealed.
        combine: `"all"` or `"any"` of these conditions.
        since: the start of a consumer without ranges: `"last"` is the head, `"latest"` the tail at the first tick.
        on_open: if the last range is not done: `"wait"` for it; `"take_over"`: start where it started, at once if it
            failed; `"skip"`: start where it ended. With `"wait"`, a range whose run has failed and is not retried
            is started again with the next events.
        open_timeout: the time until `"take_over"` takes a range of a run that this Dagster does not know.
        on_truncated: if the events after the last range were removed: `"fail"`, or `"skip"` them, which the cut ledger
            records.
        resource_key: of the `PravegaResource`.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.

    Raises:
        ConfigurationError: an argument cannot work.
    """
    rules = ChainRules(
        _choice("since", since, SINCE),
        _choice("on_open", on_open, {each.value: each for each in OnOpen}),
        open_timeout,
        _choice("on_truncated", on_truncated, {each.value: each for each in OnTruncated}),
    )
    condition = MoveCondition(
        min_bytes=min_bytes,
        quiet_for=quiet_for.total_seconds(),
        sealed=sealed,
        min_events=min_events,
        max_bytes=max_bytes,
        max_events=max_events,
        transactions=transactions,
        combine=_choice("combine", combine, {each.value: each for each in Combine}),
    )
    _check_several(max_ranges, condition, rules)
    # It lives as long as the code server: `quiet_for` and the counted events outlast a tick.
    watch = watch_of(condition)
    stream, consumer = partitions_def.stream, partitions_def.consumer

    description = f"Runs the next range of {stream} for {consumer!r}: {condition}."

    # With these tags only: another run of the partition may be of other assets.
    tags = _tags(partitions_def)

    @cluster_sensor(name, target, {resource_key}, minimum_interval_seconds, default_status, description, tags)
    def stream_cuts(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        resource: PravegaResource = getattr(context.resources, resource_key)
        others = OtherSensors(context, name, tags)
        by = others.author(name)
        tick = _Tick(partitions_def, rules, watch, by, context.cursor, judge_of(context.instance), others, max_ranges)
        known = {} if partitions_def.ahead is None else known_keys(partitions_def, context.instance)
        try:
            result = ask_in_tick(resource, partial(tick.new_partitions, known=known))
        except StreamSealedError as error:
            return dg.SkipReason(str(error))
        if isinstance(result, dg.SkipReason):
            return result
        records = [record for record in result.records if is_partition(record)]
        gone = [record.interval for record in result.records if record.state is IntervalState.GIVEN_BACK]
        waiting = [record for record in records if record.is_waiting and record.recorded_by == by]
        requests = [_request(record, result.keys[record.interval], tags) for record in waiting]
        changes: list[Any] = []
        if records:
            changes.append(partitions_def.build_add_request(list(result.keys.values())))
        if gone:
            changes.append(partitions_def.build_delete_request([known.get(name, name) for name in gone]))
        return dg.SensorResult(
            requests,
            skip_reason=None if requests else result.reason,
            cursor=result.cursor,
            dynamic_partitions_requests=changes,
        )

    return stream_cuts


@dataclass(frozen=True, slots=True)
class _NewIntervals:
    """Intervals that Dagster may not know yet, with the keys of their partitions, and the cursor for the next tick."""

    records: Sequence[CutRecord]
    cursor: str | None
    reason: str = "this sensor has claimed no range"
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Tick:
    partitions: StreamCutPartitions
    rules: ChainRules
    watch: StreamWatch
    by: str
    cursor: str | None
    judge: Judge
    others: OtherSensors
    most: int

    async def new_partitions(self, client: PravegaClient, *, known: Mapping[str, str]) -> _NewIntervals:
        """As `new_intervals`, up to the first range whose event times have to be in its key, and are not known yet."""
        found = await self.new_intervals(client)
        ranges = [record for record in found.records if is_partition(record)]
        keys = await keys_of(client, self.partitions, ranges, known)
        found = replace(found, keys=dict(zip((record.interval for record in ranges), keys, strict=False)))
        if len(keys) == len(ranges):
            return found
        at = found.records.index(ranges[len(keys)])
        return replace(
            found,
            records=found.records[:at],
            cursor=found.records[at - 1].interval if at else self.cursor,
            reason=f"the range of {ranges[len(keys)].interval} becomes a partition when the watermarks of its stream "
            "have passed it, so that its event times are known; after five minutes also without",
        )

    async def new_intervals(self, client: PravegaClient) -> _NewIntervals:
        """Find intervals after the cursor, of earlier ticks or other schedulers; if there are none, claim the next."""
        stream = self.partitions.stream
        ledger = client.cut_ledger(stream.scope)
        new = self._new_interval()
        try:
            last = await ledger.last(new)
        except TableNotFoundError:
            await client.head(stream)  # fails before a ledger is made for a missing stream
            await ledger.create()
            last = None
        if last is not None:
            await asyncio.to_thread(self.others.check_alone, last.record)
        cursor = self.cursor
        if last is not None and last.interval not in (cursor, BEGINNING):
            records = await self._after_cursor(ledger)
            cursor = last.interval
            if any(is_partition(record) for record in records):
                return _NewIntervals(records, cursor, "ranges that other schedulers have claimed are partitions now")
        ask_sink = asking_sinks(client, table_without_resources)
        if last is not None and last.record.is_waiting:
            wait = await self._wait_for_more(client, ledger, last.record, ask_sink)
            if wait is not None:
                return _NewIntervals([], cursor, wait)
        rules = replace(self.rules, judge=self.judge, ask_sink=ask_sink)
        taken = await take_next(client, ledger, new, rules, self.watch, by=self.by)
        if isinstance(taken, NotNow):
            return _NewIntervals([], cursor, taken.reason)
        before = None if last is None else await ledger.find(last.record.identity)
        given_back = [before] if before is not None and before.state is IntervalState.GIVEN_BACK else []
        claimed = [taken]
        with contextlib.suppress(StreamSealedError):  # the rest is less than the condition
            while len(claimed) < self.most:
                following = await take_next(client, ledger, self._new_interval(), rules, self.watch, by=self.by)
                if isinstance(following, NotNow):
                    break
                claimed.append(following)
        # Other callers may have claimed ranges between `last` and ours.
        alone = last is not None and claimed[-1].number == last.record.number + len(claimed)
        records = claimed if alone else await self._after_cursor(ledger)
        return _NewIntervals([*given_back, *records], claimed[-1].interval)

    def _new_interval(self) -> Interval:
        return self.partitions.interval(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}")

    async def _wait_for_more(
        self, client: PravegaClient, ledger: CutLedger, last: CutRecord, ask_sink: AskSink
    ) -> str | None:
        """The reason to leave a failed range alone: without more events behind it, each tick would start it again."""
        state = await self.judge(last)
        if not state.is_over or self.rules.on_open is not OnOpen.WAIT:
            return None
        for part in last.parts:
            if part.done or (part.sink is not None and await ask_sink(part.sink, last)):
                return None  # what it has written closes the range, or has to be completed by its own run
        with contextlib.suppress(StreamSealedError):  # there will be no more events
            if await self.watch.end_if_moved(client, last.range.end, check=False) is not None:
                return None
        if last.state is IntervalState.OPEN:
            last = await ledger.fail(last.identity, f"its run has {state.value}", by=self.by)
        return f"{explain_wait(last, state)}; new events behind it start its range again, together with them"

    async def _after_cursor(self, ledger: CutLedger) -> Sequence[CutRecord]:
        """The intervals after the cursor's interval; all intervals if the ledger does not have the cursor's."""
        records = await ledger.records(self.partitions.consumer, self.partitions.stream)
        names = [record.interval for record in records]
        return records[names.index(self.cursor) + 1 :] if self.cursor in names else records


def _check_several(most: int, condition: MoveCondition, rules: ChainRules) -> None:
    if most < 1:
        raise ConfigurationError(f"max_ranges is {most}, but must be at least 1")
    if most > 1 and condition.max_bytes is None and condition.max_events is None:
        raise ConfigurationError(
            f"max_ranges is {most}, but a range without a limit has all that waits, so that there is never a second "
            "one: give max_bytes or max_events, or leave max_ranges out"
        )
    if most > 1 and rules.on_open is not OnOpen.SKIP:
        raise ConfigurationError(
            f"max_ranges is {most}, but with on_open={rules.on_open.value!r} a range waits for the one before it: say "
            "on_open='skip' if runs of the target may work side by side, or leave max_ranges out"
        )


def _tags(partitions: StreamCutPartitions) -> dict[str, str]:
    return {STREAM_KEY: str(partitions.stream), CONSUMER_KEY: partitions.consumer}


def _request(record: CutRecord, key: str, tags: Mapping[str, str]) -> dg.RunRequest:
    run_key = f"{record.stream} {record.consumer} {record.interval}"
    return dg.RunRequest(run_key, partition_key=key, tags={**tags, PARTITION_KEY: record.interval})


def _choice(name: str, value: str, choices: Mapping[str, Any]) -> Any:
    if value not in choices:
        raise ConfigurationError(f"{name} is {value!r}, but must be one of {', '.join(map(repr, choices))}")
    return choices[value]
