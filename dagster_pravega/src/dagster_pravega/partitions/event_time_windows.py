"""Partitions of time as intervals of event times: which one an input takes, and the range that it keeps.

The cut ledger keeps the range of each, under the asset's name. Spark is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from dagster import InputContext, partition_loading_context

from aiopravega import StreamName, TimeUnit
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.event_time import Reach
from aiopravega.intervals import OnTruncated, claim_times
from aiopravega.intervals.chain.claimed_again import claim_times_again
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.measures import CONSUMER_KEY
from dagster_pravega.metadata.spec import options_of, plain
from dagster_pravega.metadata.time_partitions import is_of_time, time_partitions
from pravega_jobs.spark.options import INTERVAL_OPTIONS, TIME_UNIT_OPTION

_, _, _AHEAD, _CLIP = INTERVAL_OPTIONS
_ON_TRUNCATED_KEY: Final = "pravega/on_truncated"


@dataclass(frozen=True, slots=True)
class EventTimeWindow:
    """The event times `since <= time < until` of a stream, as one consumer takes them."""

    stream: StreamName
    consumer: str
    since: datetime
    until: datetime
    unit: TimeUnit
    ahead: timedelta | None
    clip: bool
    on_truncated: OnTruncated

    def claim(self, client: PravegaClient, by: str, number: int = 1) -> CutRecord:
        """The range of the window: the one that the cut ledger has, or a new one.

        Args:
            client: a connected client.
            by: who takes it.
            number: of the claim; a later one has what came late, too.

        Raises:
            NotYetError: events of these times may still be written.
            LedgerError: it is to be claimed again, but never was.
            PravegaError: no range is known that has them all.
        """
        if number > 1:
            times = (self.since, self.until)
            again = claim_times_again(
                client.asynchronous,
                self.stream,
                self.consumer,
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
                self.consumer,
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
        """The time of the stream's first watermark, if the window begins before it: it is read from the head then."""
        found = client.cut_at(self.stream, self.since, unit=self.unit)
        if found.reach is not Reach.BEFORE_HISTORY or found.lower is None:
            return None
        return self.unit.moment(found.lower)


def read_options(context: InputContext) -> dict[str, str]:
    """Options of Spark's data source by the metadata `pravega/options` of the upstream stream and of the `AssetIn`.

    Raises:
        ConfigurationError: they are not names and values.
    """
    upstream = context.upstream_output
    found: dict[str, str] = {}
    for metadata in (upstream.definition_metadata if upstream else {}, context.definition_metadata):
        found |= options_of(metadata)
    return found


def wanted_windows(context: InputContext, stream: StreamName, options: Mapping[str, str]) -> list[EventTimeWindow]:
    """The event times of the run's partitions, in their order; none: they are not partitions of time.

    Raises:
        ConfigurationError: an option cannot work.
    """
    step = context.step_context
    partitions = step.run_partitions_def if step.has_partitions else None
    if not is_of_time(partitions):
        return []
    consumer, on_truncated = consumer_of(context), on_truncated_of(context)
    ahead = options.get(_AHEAD, "")
    if ahead and not ahead.isdecimal():
        raise ConfigurationError(f"option {_AHEAD!r} is {ahead!r}, but must be a whole number of milliseconds")
    return [
        EventTimeWindow(
            stream,
            partition.consumer(consumer),
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
    """What the writers of a stream count times in, by the options of its readers."""
    return TimeUnit.parse(options.get(TIME_UNIT_OPTION) or TimeUnit.MS.name)


def run_keys(context: InputContext) -> list[str]:
    """The partitions of a run that has some: one, or all of a backfill that is one run."""
    step = context.step_context
    if step.has_partition_key:
        return [step.partition_key]
    definition = step.run_partitions_def
    if definition is None:
        return []
    with partition_loading_context(dynamic_partitions_store=context.instance):
        return list(definition.get_partition_keys_in_range(step.partition_key_range))


def consumer_of(context: InputContext) -> str:
    """Under which name the cut ledger knows an input: `pravega/consumer` of the `AssetIn`, or the asset's.

    Raises:
        ConfigurationError: the metadata is not a name.
    """
    given: Any = plain(context.definition_metadata.get(CONSUMER_KEY))
    if given is not None:
        if not isinstance(given, str) or not given:
            raise ConfigurationError(f"the metadata {CONSUMER_KEY!r} is {given!r}, but must be a name")
        return given
    keys = context.step_context.get_output_asset_keys()
    return "dagster/" + ", ".join(sorted(key.to_user_string() for key in keys))


def on_truncated_of(context: InputContext) -> OnTruncated:
    """What an input does if a part of its range is gone: `pravega/on_truncated` of the `AssetIn`.

    Raises:
        ConfigurationError: it is neither fail nor skip.
    """
    given: Any = plain(context.definition_metadata.get(_ON_TRUNCATED_KEY, OnTruncated.FAIL.value))
    try:
        return OnTruncated(given)
    except ValueError:
        raise ConfigurationError(f"the metadata {_ON_TRUNCATED_KEY!r} is {given!r}, but must be fail or skip") from None
