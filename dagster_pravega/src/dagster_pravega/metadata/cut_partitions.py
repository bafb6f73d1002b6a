"""Partitions that are recorded ranges of a stream: the intervals of one consumer in the cut ledger.

The ledger has the range of each partition, so that a range that Airflow's sensor has recorded can be read here, and the
other way round. Dagster stores the names only.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, Self

from dagster import DynamicPartitionsDefinition, InputContext

from aiopravega import StreamName, TimeUnit
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.losses import is_passage
from aiopravega.ledger import BEGINNING, CutRecord, Interval, IntervalState
from dagster_pravega.metadata.steps import step_of

# Between the name of an interval and its event times in a key. Names of intervals may have blanks.
_AT: Final = " @ "
_OPEN: Final = ".."
# The event times `[since, until)` of a range; None: without a bound.
Span = tuple[datetime | None, datetime | None]


class StreamCutPartitions(DynamicPartitionsDefinition):
    """Dynamic partitions of a stream, each a range that the cut ledger has recorded for one consumer.

    `build_stream_cut_sensor` adds them. An input of the stream, read by `PravegaSparkIOManager`, is the recorded range
    of its partition, for runs of the sensor, of a backfill, and by hand. The consumer may be a task of Airflow
    (`dag/task`): then its ranges are also partitions, and the next range starts at the end of the last one, in either
    scheduler.

    Args:
        stream: `scope/stream`.
        consumer: name of the chain of ranges in the cut ledger.
        name: of the partitions definition in Dagster; by default it has the stream and the consumer.
        ahead: how much newer an event may be than the time that its writer notes next: 0 if each writer writes in the
            order of event times. With it, the key of a partition also has the event times of its range, by the stream's
            watermarks, so that `EventTimePartitionMapping` can map it. None: keys have no times.
        unit: of the times that the stream's writers note: `ns`, `us`, `ms` or `s`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, the consumer has no name, there is no such unit, or
            `ahead` is negative.
    """

    stream: StreamName
    consumer: str
    ahead: timedelta | None
    unit: TimeUnit

    def __new__(
        cls,
        stream: str,
        *,
        consumer: str,
        name: str | None = None,
        ahead: timedelta | None = None,
        unit: str = TimeUnit.MS.name.lower(),
    ) -> Self:
        """Check the names. Dagster's definitions are tuples, so the attributes are set here, not in `__init__`."""
        if ahead is not None and ahead < timedelta():
            raise ConfigurationError(f"ahead is {ahead}, but cannot be negative")
        parsed = Interval(consumer, StreamName.parse(stream), "any").stream
        made: Self = super().__new__(cls, name=name or f"pravega {parsed} {consumer}")
        made.stream, made.consumer, made.ahead, made.unit = parsed, consumer, ahead, TimeUnit.parse(unit)
        return made

    def interval(self, key: str) -> Interval:
        """The interval of the cut ledger for a partition's key."""
        return Interval(self.consumer, self.stream, key.rpartition(_AT)[0] or key)


def key_with_times(interval: str, span: Span) -> str:
    """The key of a partition with the event times of its range: `interval @ 2013-01-01T00:00:00+00:00/..`."""
    since, until = (_OPEN if time is None else time.astimezone(UTC).isoformat() for time in span)
    return f"{interval}{_AT}{since}/{until}"


def times_in(key: str) -> Span:
    """The event times in a partition's key; without bounds, if it has none."""
    since, _, until = key.rpartition(_AT)[2].partition("/")
    try:
        start, end = (None if text == _OPEN else datetime.fromisoformat(text) for text in (since, until))
    except ValueError:
        return None, None
    return start, end


def cut_partitions_of(context: InputContext, stream: StreamName) -> StreamCutPartitions | None:
    """The run's partitions definition, if its partitions are ranges of this stream; None otherwise."""
    step = step_of(context)
    definition = step.run_partitions_def if step is not None and step.has_partitions else None
    return definition if isinstance(definition, StreamCutPartitions) and definition.stream == stream else None


def is_partition(record: CutRecord) -> bool:
    """Return True if a record has a range to process: it is not a decision, and has not given its range back."""
    decided = is_passage(record) or record.interval == BEGINNING
    return not decided and record.state not in (IntervalState.GIVEN_BACK, IntervalState.SKIPPED)
