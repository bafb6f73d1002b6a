"""Partitions that are not event times: each keeps the range that its first run got.

The cut ledger has the range under the asset's name and the partition's key. A sensor names the range in the run config;
a backfill of the same partition names none, and reads the recorded range. This module does not use Spark.
"""

from dataclasses import dataclass
from typing import Final

from dagster import InputContext

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import left_to_process
from aiopravega.errors import ConfigurationError, LedgerError, TableNotFoundError
from aiopravega.intervals.chain.claims import claimed_again
from aiopravega.ledger import CutRecord, Interval, IntervalState
from aiopravega.positions import parse_position
from dagster_pravega.metadata.cut_partitions import cut_partitions_of
from dagster_pravega.metadata.ranges import RangeConfig
from dagster_pravega.metadata.steps import step_of
from dagster_pravega.metadata.time_partitions import is_of_time
from dagster_pravega.partitions.consumers import Consumer, consumer_of
from dagster_pravega.partitions.event_time_windows import run_keys
from pravega_jobs.spark.options import TIME_OPTION

_WAYS: Final = (
    "Name the range in the run config of the input (start, end), as a sensor does: the partition keeps it. Or give the "
    f"stream's spec the option {TIME_OPTION!r}, for partitions of time by the events' times. Or give the AssetIn the "
    "metadata 'pravega/cuts': one range for all partitions, such as {'start': 'earliest', 'end': 'latest'}"
)


@dataclass(frozen=True, slots=True)
class KeyedPartition:
    """A partition of the asset that reads a stream, by its key."""

    interval: Interval
    kind: str
    by_ledger: bool = False
    consumer: Consumer | None = None

    @property
    def stream(self) -> StreamName:
        """The stream that the partition reads."""
        return self.interval.stream

    def recorded(self, client: PravegaClient) -> CutRecord:
        """The partition's record in the cut ledger.

        Raises:
            ConfigurationError: the ledger has no record of it.
            LedgerError: the partition is skipped, or has given its range back.
            StreamTruncatedError: a part of the range is gone.
            StreamMadeAgainError: the range is of a stream of this name that was deleted.
        """
        record = self._find(client)
        if record is None and self.by_ledger:
            raise ConfigurationError(
                f"the cut ledger has no {self.interval}: it was forgotten, or the partition was added by hand. Delete "
                "the partition; build_stream_cut_sensor adds the partitions that the ledger has"
            )
        if record is None:
            raise ConfigurationError(
                f"partition {self.interval.name!r} ({self.kind}) has no range of {self.stream} for "
                f"{self.interval.consumer!r} yet. {_WAYS}"
            )
        return record

    def claim(self, client: PravegaClient, configured: RangeConfig, resolved: StreamCutRange, by: str) -> CutRecord:
        """The record of the partition: the existing one, or a new one with the range of the run config.

        Raises:
            ConfigurationError: the existing record has another range than the run config names.
            PravegaError: as `recorded` does.
        """
        record = self.recorded(client) if self.by_ledger else self._find(client)
        if record is None:
            ledger = client.cut_ledger(self.stream.scope)
            ledger.create()
            record = ledger.claim(self.interval, resolved, by=by)
        for text, recorded in ((configured.start, record.range.start), (configured.end, record.range.end)):
            position = parse_position(text, self.stream) if text else None
            if isinstance(position, StreamCut) and not position.is_unbounded and position != recorded:
                raise ConfigurationError(
                    f"{self.interval} has the range from {record.range.start} to {record.range.end} since "
                    f"{record.recorded_at.isoformat(timespec='seconds')}, but the run config names {position}. To give "
                    f"it another range: pravega cuts forget {self.stream} --consumer {self.interval.consumer!r} "
                    f"--interval {self.interval.name!r}"
                )
        return record

    def _find(self, client: PravegaClient) -> CutRecord | None:
        if self.consumer is not None:
            self.consumer.check_continued(client, self.interval, chained=False)
        try:
            record = client.cut_ledger(self.stream.scope).find(self.interval)
        except TableNotFoundError:
            return None
        if record is not None and record.state is IntervalState.GIVEN_BACK:
            raise LedgerError(
                f"{record.identity} has given its range back ({record.reason}): it belongs to another partition"
            )
        if record is not None:
            left_to_process(client, record)
        return record


def keyed_partitions(
    context: InputContext, stream: StreamName, configured: RangeConfig | None, *, has_times: bool, claim: int
) -> list[KeyedPartition]:
    """The run's partitions whose ranges the cut ledger has or gets; empty if the input is read another way.

    The list is empty if the run has no partitions, or if the stream's asset has partitions. It is empty for partitions
    of time if the stream's events have times: the caller reads event times, or the run config names the range. It is
    also empty if the run has several partitions and the run config names a range: then the named range is read for all
    partitions; the ledger is not used.

    Raises:
        ConfigurationError: the partitions are ranges of the ledger, and the run config names one range for several
            partitions, or asks for a later claim.
    """
    step = step_of(context)
    cuts = cut_partitions_of(context, stream)
    if cuts is not None:
        keys = run_keys(context)
        if configured is not None and len(keys) > 1:
            raise ConfigurationError(
                f"the run config names one range for {len(keys)} partitions of {stream}, but each has its own in the "
                "cut ledger: leave the range out"
            )
        if claim > 1:
            raise ConfigurationError(
                f"a partition of {stream} is a range that does not change, so that claim {claim} would have no more "
                "events: later events are in the partitions after it"
            )
        return [KeyedPartition(cuts.interval(key), type(cuts).__name__, by_ledger=True) for key in keys]
    if step is None or not step.has_partitions or context.has_asset_partitions:
        return []
    definition = step.run_partitions_def
    kind = type(definition).__name__
    if is_of_time(definition):
        if has_times:
            return []
        kind += f", of a stream without the option {TIME_OPTION!r}"
    keys = run_keys(context)
    if configured is not None and len(keys) > 1:
        return []
    consumer = consumer_of(context)
    intervals = [claimed_again(Interval(consumer.name, stream, key), claim) for key in keys]
    return [KeyedPartition(interval, kind, consumer=consumer if claim == 1 else None) for interval in intervals]
