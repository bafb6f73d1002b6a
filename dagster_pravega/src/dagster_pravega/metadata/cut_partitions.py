"""Partitions that are recorded ranges of a stream: the intervals of one consumer in the cut ledger.

The ledger has the range of each partition, so that a range that Airflow's sensor has recorded can be read here, and the
other way round. Dagster stores the names only.
"""

from typing import Self

from dagster import DynamicPartitionsDefinition, InputContext

from aiopravega import StreamName
from aiopravega.intervals.chain.losses import is_passage
from aiopravega.ledger import BEGINNING, CutRecord, Interval, IntervalState
from dagster_pravega.metadata.steps import step_of


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

    Raises:
        ConfigurationError: the stream is not `scope/stream`, or the consumer has no name.
    """

    stream: StreamName
    consumer: str

    def __new__(cls, stream: str, *, consumer: str, name: str | None = None) -> Self:
        """Check the names. Dagster's definitions are tuples, so the attributes are set here, not in `__init__`."""
        parsed = Interval(consumer, StreamName.parse(stream), "any").stream
        made: Self = super().__new__(cls, name=name or f"pravega {parsed} {consumer}")
        made.stream, made.consumer = parsed, consumer
        return made

    def interval(self, key: str) -> Interval:
        """The interval of the cut ledger for a partition's key."""
        return Interval(self.consumer, self.stream, key)


def cut_partitions_of(context: InputContext, stream: StreamName) -> StreamCutPartitions | None:
    """The run's partitions definition, if its partitions are ranges of this stream; None otherwise."""
    step = step_of(context)
    definition = step.run_partitions_def if step is not None and step.has_partitions else None
    return definition if isinstance(definition, StreamCutPartitions) and definition.stream == stream else None


def is_partition(record: CutRecord) -> bool:
    """Return True if a record has a range to process: it is not a decision, and has not given its range back."""
    decided = is_passage(record) or record.interval == BEGINNING
    return not decided and record.state not in (IntervalState.GIVEN_BACK, IntervalState.SKIPPED)
