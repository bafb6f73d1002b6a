"""Conditions of streams for declarative automation: bytes that wait, lag, complete event times, late events."""

import logging
from abc import abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg
from dagster._core.asset_graph_view.entity_subset import EntitySubset

from aiopravega import PravegaClient, PravegaConfig, TimeUnit
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.freshness import Freshness, freshness_of
from aiopravega.intervals.reports.lag import Lag, lag_of
from dagster_pravega.automation.late import LateEventsFound
from dagster_pravega.automation.questions import TickQuestions
from dagster_pravega.automation.stream_condition import StreamCondition
from dagster_pravega.automation.watched import Given, Watched
from dagster_pravega.metadata.time_partitions import keys_of_window, others_of, windows_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.complete_partitions import first_window
from dagster_pravega.sensors.late_sensor import need_arrow


class PravegaCondition:
    """Conditions of the stream that an asset reads, for `automation_condition=`; they combine with Dagster's own.

    The asset's input gives the stream and the consumer; say `stream` and `consumer` if the asset has several inputs of
    streams, or none. `pravega` is the resource of the cluster; without it, the cluster is that of the environment
    (`PRAVEGA_CONTROLLER_URI`, …).

    A sensor of `build_automation_sensor` evaluates these conditions. Dagster's own default sensor leaves them out
    without a word.

    In an outage a condition is false, and the tick's log has the reason: the questions of all conditions of a tick end
    after 20 s. An asset whose stream or consumer is not clear fails the tick, with a `ConfigurationError`.
    """

    @staticmethod
    def bytes_waiting(
        n: int, *, stream: str | None = None, consumer: str | None = None, pravega: PravegaResource | None = None
    ) -> StreamCondition:
        """True while at least `n` bytes, event headers (8 bytes each) included, wait for the asset's consumer.

        The lag check has the same bytes: from the end of what the consumer has done, by the cut ledger, to the
        tail. An asset with partitions has the same answer for all of them.

        Raises:
            ConfigurationError: `n` is less than 1.
        """
        if n < 1:
            raise ConfigurationError(f"bytes_waiting is of {n} bytes, but must be of at least 1")
        return _BytesWaiting(f"bytes_waiting({n:,})", Given(stream, consumer, pravega), n)

    @staticmethod
    def lag_over(
        duration: timedelta,
        *,
        stream: str | None = None,
        consumer: str | None = None,
        pravega: PravegaResource | None = None,
    ) -> StreamCondition:
        """True while events wait, and the asset's consumer has not finished an interval for longer than a duration.

        A consumer that has never had an interval is over each duration, as in the lag check. An asset with partitions
        has the same answer for all of them.

        Raises:
            ConfigurationError: the duration is negative.
        """
        if duration < timedelta():
            raise ConfigurationError(f"lag_over is of {duration}, but must not be negative")
        return _LagOver(f"lag_over({duration})", Given(stream, consumer, pravega), duration)

    @staticmethod
    def late_events(
        n: int = 1, *, stream: str | None = None, consumer: str | None = None, pravega: PravegaResource | None = None
    ) -> StreamCondition:
        """True for each partition of time that has at least `n` late events, and whose newest claim is done.

        They are the events that `build_late_events_sensor` has found, for example with `late="report"`; the condition
        reads none. A partition for which it is true gets a run of its own, with the claim that has the late events and
        the next generation. Only a sensor of `build_automation_sensor` starts such runs.

        Raises:
            ConfigurationError: `n` is less than 1, or the extra `arrow` is not installed.
        """
        if n < 1:
            raise ConfigurationError(f"late_events is of {n} events, but must be of at least 1")
        need_arrow()
        return LateEventsFound(f"late_events({n:,})", Given(stream, consumer, pravega), n)

    @staticmethod
    def watermark_past(
        moment: datetime | timedelta | None = None,
        *,
        stream: str | None = None,
        unit: TimeUnit | str | None = None,
        pravega: PravegaResource | None = None,
    ) -> StreamCondition:
        """True if the stream is complete up to a moment, by its last watermark: no older event will be written.

        Without a moment, it is true for each partition of time up to whose end the stream is complete, from the one
        that `build_complete_partitions_sensor` would request first. A timedelta is so long before now. `unit` is the
        unit of the times that the writers note; by default the stream's option `time_unit`, or `ms`. A sealed stream is
        complete.

        Raises:
            ConfigurationError: the moment has no time zone or is a negative time before now, or there is no such unit.
        """
        if isinstance(moment, datetime) and moment.tzinfo is None:
            raise ConfigurationError(f"watermark_past is of {moment}, which has no time zone: give it one, such as UTC")
        if isinstance(moment, timedelta) and moment < timedelta():
            raise ConfigurationError(f"watermark_past is of {moment} before now, but must not be negative")
        counted = TimeUnit.parse(unit) if isinstance(unit, str) else unit
        given = Given(stream, None, pravega, needs_consumer=False)
        shown = moment.isoformat() if isinstance(moment, datetime) else moment
        return _WatermarkPast(f"watermark_past({'' if shown is None else shown})", given, moment, counted)


class _OfLag(StreamCondition):
    async def true_subset(
        self, context: dg.AutomationContext[dg.AssetKey], config: PravegaConfig, watched: Watched
    ) -> EntitySubset[dg.AssetKey]:
        """All candidates, or none."""

        async def ask(client: PravegaClient) -> Lag:
            return await lag_of(client, watched.stream, watched.consumer)

        about = ("lag", watched.stream, watched.consumer)
        lag = await TickQuestions.of(context).ask(config, about, ask)
        return context.candidate_subset if self._holds(lag) else context.get_empty_subset()

    @abstractmethod
    def _holds(self, lag: Lag) -> bool:
        """True if the condition holds."""


class _BytesWaiting(_OfLag):
    def __init__(self, text: str, given: Given, least: int) -> None:
        super().__init__(text, given)
        self._least = least

    def _holds(self, lag: Lag) -> bool:
        return lag.size >= self._least


class _LagOver(_OfLag):
    def __init__(self, text: str, given: Given, limit: timedelta) -> None:
        super().__init__(text, given)
        self._limit = limit

    def _holds(self, lag: Lag) -> bool:
        return lag.is_over(self._limit)


class _WatermarkPast(StreamCondition):
    def __init__(self, text: str, given: Given, moment: datetime | timedelta | None, unit: TimeUnit | None) -> None:
        super().__init__(text, given)
        self._moment, self._unit = moment, unit

    async def true_subset(
        self, context: dg.AutomationContext[dg.AssetKey], config: PravegaConfig, watched: Watched
    ) -> EntitySubset[dg.AssetKey]:
        unit = self._unit or watched.unit
        if self._moment is None:
            return await self._complete(context, config, watched, unit)

        async def ask(client: PravegaClient) -> Freshness:
            return await freshness_of(client, watched.stream, unit=unit)

        about = ("freshness", watched.stream, unit)
        fresh = await TickQuestions.of(context).ask(config, about, ask)
        wanted = datetime.now(UTC) - self._moment if isinstance(self._moment, timedelta) else self._moment
        holds = fresh.complete_until is None or fresh.complete_until >= wanted
        return context.candidate_subset if holds else context.get_empty_subset()

    async def _complete(
        self, context: dg.AutomationContext[dg.AssetKey], config: PravegaConfig, watched: Watched, unit: TimeUnit
    ) -> EntitySubset[dg.AssetKey]:
        """The partitions of time up to whose end the stream is complete."""
        definition = context.partitions_def
        if definition is None:
            raise ConfigurationError(
                f"{self._text} of asset {context.key.to_user_string()} is of its partitions of time, and it has none: "
                "give the condition a moment, or a time before now, such as watermark_past(timedelta(hours=1))"
            )
        windows = windows_of(definition)
        first, last = windows.get_first_partition_window(), windows.get_last_partition_window()
        if first is None or last is None:
            return context.get_empty_subset()

        async def ask(client: PravegaClient) -> _Complete | str:
            begin = await first_window(client, watched.stream, windows, first, unit)
            if isinstance(begin, str):
                return begin
            return _Complete(begin.start, (await freshness_of(client, watched.stream, unit=unit)).complete_until)

        about = ("complete", watched.stream, unit, first.start, windows.fmt, windows.cron_schedule)
        found = await TickQuestions.of(context).ask(config, about, ask)
        if isinstance(found, str):
            self.log(context, logging.INFO, found)
            return context.get_empty_subset()
        until = last.end if found.until is None else min(found.until, last.end)
        newest = windows.get_prev_partition_window(until)
        if newest is None or newest.end <= found.since:
            return context.get_empty_subset()
        others = None
        if isinstance(definition, dg.MultiPartitionsDefinition):
            others = others_of(definition, context.asset_graph_view.instance)
        complete = windows.get_partition_keys_in_time_window(dg.TimeWindow(found.since, newest.end))
        keys = {key for window in complete for key in keys_of_window(definition, window, others)}
        return context.candidate_subset.compute_intersection_with_partition_keys(keys)


@dataclass(frozen=True, slots=True)
class _Complete:
    """The event times of a stream that are complete; `until` None: all, as the stream is sealed."""

    since: datetime
    until: datetime | None
