"""Partitions of time as intervals of event times: each keeps its range in the cut ledger, under the asset's name.

This module does not use Spark.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dagster import InputContext, partition_loading_context

from aiopravega import StreamName, TimeUnit
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.event_time import Reach
from aiopravega.intervals import OnTruncated, claim_times
from aiopravega.intervals.chain.claims import claim_times_again, interval_name
from aiopravega.ledger import CutRecord, Interval
from dagster_pravega.metadata.spec import options_of, plain
from dagster_pravega.metadata.steps import need_step, step_of
from dagster_pravega.metadata.stream_input import ON_TRUNCATED_KEY
from dagster_pravega.metadata.time_partitions import is_of_time, time_partitions
from dagster_pravega.partitions.consumers import Consumer, consumer_of
from pravega_jobs.spark.options import INTERVAL_OPTIONS, TIME_UNIT_OPTION

_, _, _AHEAD, _CLIP = INTERVAL_OPTIONS


@dataclass(frozen=True, slots=True)
class EventTimeWindow:
    """The event times `since <= time < until` of a stream, for one consumer, with the options of the search."""

    stream: StreamName
    consumer: Consumer
    since: datetime
    until: datetime
    unit: TimeUnit
    ahead: timedelta | None
    clip: bool
    on_truncated: OnTruncated

    def claim(self, client: PravegaClient, by: str, number: int = 1) -> CutRecord:
        """The window's record in the cut ledger, which is made if there is none.

        Args:
            client: a connected client.
            by: the caller, for the record.
            number: of the claim; a later claim also has late events.

        Raises:
            NotYetError: events of these times may still be written.
            LedgerError: a later claim of a window that has no first claim.
            ConfigurationError: an earlier release has claimed the window under another name.
            PravegaError: no range is known that has all events of the window.
        """
        interval = Interval(self.consumer.name, self.stream, interval_name(self.since, self.until))
        self.consumer.check_continued(client, interval, chained=False)
        if number > 1:
            times = (self.since, self.until)
            again = claim_times_again(
                client.asynchronous,
                self.stream,
                self.consumer.name,
                times,
                number,
                by=by,
                on_truncated=self.on_truncated,
            )
            return client.run(again)
        return client.run(
            claim_times(
                client.asynchronous,
                self.stream,
                self.consumer.name,
                (self.since, self.until),
                ahead=self.ahead,
                clip=self.clip,
                from_head=True,
                unit=self.unit,
                by=by,
                on_truncated=self.on_truncated,
            )
        )

    def first_mark_after_start(self, client: PravegaClient) -> datetime | None:
        """The time of the stream's first watermark, if the window begins before it and is read from the head."""
        start = client.cut_at(self.stream, self.since, unit=self.unit)
        if start.reach is not Reach.BEFORE_HISTORY or start.lower is None:
            return None
        return self.unit.moment(start.lower)


def read_options(context: InputContext) -> dict[str, str]:
    """Options of Spark's data source by the metadata `pravega/options` of the upstream stream and of the `AssetIn`.

    Raises:
        ConfigurationError: the metadata are not names with values.
    """
    upstream = context.upstream_output
    options: dict[str, str] = {}
    for metadata in (upstream.definition_metadata if upstream else {}, context.definition_metadata):
        options |= options_of(metadata)
    return options


def wanted_windows(context: InputContext, stream: StreamName, options: Mapping[str, str]) -> list[EventTimeWindow]:
    """The event times of the run's partitions, in their order; empty if they are not partitions of time.

    Raises:
        ConfigurationError: an option is not valid.
    """
    step = step_of(context)
    partitions = step.run_partitions_def if step is not None and step.has_partitions else None
    if not is_of_time(partitions):
        return []
    consumer, on_truncated = consumer_of(context), on_truncated_of(context)
    ahead = options.get(_AHEAD, "")
    if ahead and not ahead.isdecimal():
        raise ConfigurationError(f"option {_AHEAD!r} is {ahead!r}, but must be a whole number of milliseconds")
    return [
        EventTimeWindow(
            stream,
            consumer.with_rest(partition.others),
            partition.window.start,
            partition.window.end,
            unit_of(options),
            timedelta(milliseconds=int(ahead)) if ahead else None,
            options.get(_CLIP, "").lower() == "true",
            on_truncated,
        )
        for partition in time_partitions(partitions, run_keys(context))
    ]


def unit_of(options: Mapping[str, str]) -> TimeUnit:
    """The unit of the times that the writers of a stream note, by the options of its readers."""
    return TimeUnit.parse(options.get(TIME_UNIT_OPTION) or TimeUnit.MS.name)


def run_keys(context: InputContext) -> list[str]:
    """The keys of a run's partitions: one, or several of a backfill in one run."""
    step = need_step(context, "a partition")
    if step.has_partition_key:
        return [step.partition_key]
    definition = step.run_partitions_def
    if definition is None:
        return []
    with partition_loading_context(dynamic_partitions_store=context.instance):
        return list(definition.get_partition_keys_in_range(step.partition_key_range))


def on_truncated_of(context: InputContext) -> OnTruncated:
    """The choice for a range of which a part was removed: `pravega/on_truncated` of the `AssetIn`, by default fail.

    Raises:
        ConfigurationError: it is neither fail nor skip.
    """
    given: Any = plain(context.definition_metadata.get(ON_TRUNCATED_KEY, OnTruncated.FAIL.value))
    try:
        return OnTruncated(given)
    except ValueError:
        raise ConfigurationError(f"the metadata {ON_TRUNCATED_KEY!r} is {given!r}, but must be fail or skip") from None
