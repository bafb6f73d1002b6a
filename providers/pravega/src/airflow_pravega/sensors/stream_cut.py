"""The sensor that waits until a stream has moved far enough, and returns the range as two cuts.

The range of a run is recorded in the cut ledger: a run that is tried or cleared again gets the same one. With
`since="last"` the next run starts where this one ended, once it is done.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowSensorTimeout, AirflowSkipException
from airflow.sdk import Context, PokeReturnValue, XComArg

from aiopravega.errors import ConfigurationError, StreamSealedError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.loop import LoopThread
from aiopravega.times import TimeUnit
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.sensors.move_arguments import condition_of
from airflow_pravega.sensors.run_range import CHAINED, LAST, RangeArguments, RunRange
from airflow_pravega.sensors.waiting import PravegaWaitingSensor
from airflow_pravega.tasks.arguments import check_choice, choice_of
from airflow_pravega.tasks.identity import run_order
from airflow_pravega.tasks.intervals import TO_RECORD
from airflow_pravega.triggers.next_range import PravegaNextRangeTrigger
from airflow_pravega.triggers.stream_cut import PravegaStreamCutTrigger
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger
from pravega_jobs.debezium.transactions import watch_of

_SIX_HOURS: Final = timedelta(hours=6)


class IfEmpty(StrEnum):
    """The rule for a stream that has not moved far enough."""

    WAIT = "wait"
    SKIP = "skip"


class OnGiveUp(StrEnum):
    """The rule for a sensor that has waited for `give_up_after`."""

    PROCEED = "proceed"
    FAIL = "fail"
    SKIP = "skip"


class PravegaStreamCutSensor(LinkedToConsumer, PravegaWaitingSensor):
    """Waits until a stream has moved far enough since a cut; returns a range.

    The conditions are `min_bytes`, `min_events`, `quiet_for`, `sealed`, `reach` and `watermark`: all that are given
    have to hold, or, with `combine="any"`, any one.

    The range is `{"start": text, "end": text, "consumer": name, "interval": name}`: `start` is the cut from which the
    sensor waited, `end` the tail when the conditions held. If they hold at once, the task does not defer. Every range
    that it returns is recorded in the cut ledger under `consumer` and `interval`, the name of the run. A
    `PravegaSparkReadOperator` that gets the range as `stream_cuts` records that the interval is done, or has failed.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        since: the start: `"last"` (the end of this consumer's last recorded range; for a first run, the head of the
            stream), `"latest"` (the same, but for a first run the tail at that time), `"earliest"` (the head), the text
            of a StreamCut, or a range, such as another sensor's output, which stands for its end. (templated)
        min_bytes: bytes to wait for, event headers (8 bytes each) included. By default 1; with `combine="any"` it is by
            default not a condition. A range is empty only if this is 0. (templated)
        min_events: events to wait for. They are read to be counted, once each, up to this number. (templated)
        quiet_for: wait until nothing was written for this time, as the sensor saw it; a stream that is sealed is quiet.
        sealed: wait until the stream is sealed.
        reach: wait until the stream's tail is at this cut or after it: the text of a cut, or a range, which stands for
            its end. (templated)
        watermark: wait until the stream is complete up to this event time, by its watermarks; a time with its zone. The
            range has all older events, and ends at the tail. (templated)
        unit: the unit of the times of the stream's writers: `ns`, `us`, `ms` or `s`.
        combine: `"all"` or `"any"` of these conditions.
        max_bytes: the most bytes of a range, which then ends between events; a single longer event is a range. The next
            run gets the rest. (templated)
        max_events: the most events of a range, in the same way; at least one of each segment that has any. (templated)
        transactions: Debezium's stream of transactions: the range ends where all transactions of the database are
            whole, see `pravega_jobs.debezium.transactions.whole_transactions`. (templated)
        give_up_after: time to wait for the conditions, from the first start of the try.
        on_give_up: the rule for the time after that: `"proceed"` with the data that is there, which may be none, once
            the sensor waits for no other run's range; `"fail"`; or `"skip"` the task and the tasks after it. A stream
            that is sealed too early is given up at once. While the cluster is away, the sensor waits in any case.
            (templated)
        consumer: name of the chain of ranges in the cut ledger; by default the task's, `dag/task`. (templated)
        on_open: the rule, with `"last"` and `"latest"`, for a last range that is not processed. Airflow is asked for
            its run: if that has ended, the range is taken over, or is done, at once. Otherwise `"wait"` for the run,
            and fail with its name after `open_timeout`; `"take_over"`: also start where the range starts at once if it
            is recorded as failed, and after `open_timeout` if its run is not known; `"skip"`: start where the range
            ends, without waiting. (templated)
        open_timeout: time to wait for a range that is not processed.
        on_truncated: the rule if data after the last range is gone, because of retention, a truncation, or because the
            stream was deleted and made again: `"fail"`, or `"skip"` that data, which the cut ledger remembers.
            (templated)
        if_empty: the rule for a stream that has not moved far enough: `"wait"`, or `"skip"` the task and the tasks
            after it. Give `"skip"` in a DAG that a `PravegaStreamCutEventTrigger` starts: an earlier run may have taken
            all data, and data that is written later starts another run. For an open range of another run, and while the
            cluster is away, the sensor waits in any case. (templated)
        deferrable: wait on the triggerer, without a worker slot.
        record: record ranges. If False, an account that may only read is enough, but a second try of a run gets a range
            that ends at the tail of that time, and `since` cannot be `"last"` or `"latest"`.
        pravega_conn_id: id of the connection. (templated)
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    template_fields: Sequence[str] = (
        "stream",
        "since",
        "min_bytes",
        "min_events",
        "reach",
        "watermark",
        "max_bytes",
        "max_events",
        "transactions",
        "on_give_up",
        "consumer",
        "on_open",
        "on_truncated",
        "if_empty",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        stream: str,
        since: str | Mapping[str, str] | XComArg = LAST,
        min_bytes: int | str | XComArg | None = None,
        min_events: int | str | XComArg | None = None,
        quiet_for: timedelta = timedelta(),
        sealed: bool = False,
        reach: str | Mapping[str, str] | XComArg | None = None,
        watermark: str | datetime | XComArg | None = None,
        unit: str = TimeUnit.MS.name.lower(),
        combine: str = Combine.ALL.value,
        max_bytes: int | str | XComArg | None = None,
        max_events: int | str | XComArg | None = None,
        transactions: str | XComArg | None = None,
        give_up_after: timedelta | None = None,
        on_give_up: str = OnGiveUp.FAIL.value,
        consumer: str | None = None,
        on_open: str = OnOpen.WAIT.value,
        open_timeout: timedelta = _SIX_HOURS,
        on_truncated: str = OnTruncated.FAIL.value,
        if_empty: str = IfEmpty.WAIT.value,
        record: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=stream, **kwargs)
        self.record = record
        check_choice(OnOpen, "on_open", on_open)
        check_choice(OnTruncated, "on_truncated", on_truncated)
        check_choice(IfEmpty, "if_empty", if_empty)
        check_choice(OnGiveUp, "on_give_up", on_give_up)
        check_choice(Combine, "combine", combine)
        self.since = since
        self.min_bytes = min_bytes
        self.min_events = min_events
        self.quiet_for = quiet_for
        self.sealed = sealed
        self.reach = reach
        self.watermark = watermark
        self.unit = unit
        self.combine = combine
        self.max_bytes = max_bytes
        self.max_events = max_events
        self.transactions = transactions
        self.give_up_after = give_up_after
        self.on_give_up = on_give_up
        self._watch: StreamWatch | None = None
        # The consumer whose chain the checks of this process continue.
        self._continued: str | None = None
        self.consumer = consumer
        self.on_open = on_open
        self.open_timeout = open_timeout
        self.on_truncated = on_truncated
        self.if_empty = if_empty

    def check(self, context: Context) -> PokeReturnValue:
        """See `PravegaWaitingSensor`. It also fails if another run has not processed its range in time."""
        gives_up_at = None if self.give_up_after is None else self.waits_since(context) + self.give_up_after
        if gives_up_at is None or datetime.now(UTC) < gives_up_at:
            try:
                return self._check(context, self._condition(), gives_up_at)
            except StreamSealedError:  # no more data will come
                if gives_up_at is None:
                    raise
        return self._after_giving_up(context)

    def _check(self, context: Context, condition: MoveCondition, gives_up_at: datetime | None) -> PokeReturnValue:
        if_empty = choice_of(IfEmpty, "if_empty", self.if_empty)
        config = PravegaHook(self.pravega_conn_id).get_config()
        if self._watch is None or self._watch.condition != condition:
            self._watch = watch_of(condition)
        arguments = self.range_arguments(context, self.stream)
        run_range = RunRange(
            config, arguments, context, self._watch, self.fired, self._judge_of(context), self._continued
        )
        claimed = LoopThread.shared().run(run_range.claim())
        if arguments.record and not run_range.is_recorded:
            self.log.warning(
                "The range is not recorded, since this is a test, and another Airflow reads the chain of %s. %s",
                run_range.interval.consumer,
                TO_RECORD,
            )
        self._continued = run_range.interval.consumer
        recorded = {"consumer": run_range.interval.consumer} if run_range.is_recorded else {}
        self.link_to_consumer(context, run_range.stream, recorded)
        waits_for = run_range.waits_for
        self.explain(context, waits_for, run_range.state)
        if claimed is not None:
            return PokeReturnValue(True, claimed)
        if waits_for is not None:
            until = run_range.deadline.isoformat(timespec="seconds")
            self.log.info("%s is %s: waiting for it until %s", waits_for.identity, waits_for.state.value, until)
        else:
            not_yet = f"{run_range.stream} since {run_range.start}: not yet {condition}"
            if if_empty is IfEmpty.SKIP:
                raise AirflowSkipException(f"{not_yet}, so there is nothing to do")
            self.log.info(not_yet)
        if self.deferrable:
            self._wait(context, run_range, condition, gives_up_at)
        return PokeReturnValue(False)

    def _after_giving_up(self, context: Context) -> PokeReturnValue:
        """Do as `on_give_up` says.

        Raises:
            AirflowSensorTimeout: it says `"fail"`.
            AirflowSkipException: it says `"skip"`.
        """
        condition = self._condition()
        text = f"{self.stream} was given up after {self.give_up_after}: not {condition}"
        match choice_of(OnGiveUp, "on_give_up", self.on_give_up):
            case OnGiveUp.FAIL:
                raise AirflowSensorTimeout(text)
            case OnGiveUp.SKIP:
                raise AirflowSkipException(text)
            case OnGiveUp.PROCEED:
                self.log.warning("%s; the range has the data that is there", text)
        return self._check(context, condition.bounds(), None)

    def _wait(
        self, context: Context, run_range: RunRange, condition: MoveCondition, gives_up_at: datetime | None
    ) -> None:
        kind, own = self.trigger_of(context, run_range, condition)
        self.wait_with(kind, run_range.stream, give_up_at=gives_up_at, **own)

    def trigger_of(
        self, context: Context, run_range: RunRange, condition: MoveCondition
    ) -> tuple[type[PravegaWaitingTrigger], dict[str, Any]]:
        """The trigger that waits for the range of a stream: its class, and its own arguments."""
        if not run_range.is_chained:
            return PravegaStreamCutTrigger, {"condition": condition.to_json(), "since": run_range.start.to_text()}
        return PravegaNextRangeTrigger, {
            "condition": condition.to_json(),
            "consumer": run_range.interval.consumer,
            "interval": run_range.interval.name,
            "order": run_order(context),
            "on_open": run_range.on_open.value,
            "on_truncated": str(self.on_truncated),
            "deadline": run_range.deadline.isoformat(),
        }

    def _condition(self) -> MoveCondition:
        if self.quiet_for and self.reschedule and not self.deferrable:
            raise ConfigurationError(
                "quiet_for needs to see the stream again and again, but in mode 'reschedule' each check is a new "
                "process: say deferrable=True"
            )
        return condition_of(self, self.unit)

    def range_arguments(self, context: Context, stream: str) -> RangeArguments:
        """The arguments that decide about the range of a stream."""
        if self.since in CHAINED and not self.record:
            raise ConfigurationError(f"since={self.since!r} needs the records of earlier runs: do not say record=False")
        return RangeArguments(
            stream=stream,
            since=self.since,
            consumer=self.consumer,
            on_open=choice_of(OnOpen, "on_open", self.on_open),
            on_truncated=choice_of(OnTruncated, "on_truncated", self.on_truncated),
            deadline=self.waits_since(context) + self.open_timeout,
            record=self.does_record(context, self.record),
        )
