"""Partitions that are recorded ranges of a stream: the intervals of one consumer in the cut ledger.

The ledger says which range a partition is, so that a range that Airflow's sensor has recorded can be read here, and the
other way round. Dagster keeps the names only.
"""

from typing import Self

from dagster import DynamicPartitionsDefinition, InputContext

from aiopravega import StreamName
from aiopravega.intervals.chain.losses import is_passage
from aiopravega.intervals.chain.next_start import BEGINNING
from aiopravega.ledger import CutRecord, Interval, IntervalState


class StreamCutPartitions(DynamicPartitionsDefinition):
    """Dynamic partitions of a stream, each a range that the cut ledger has recorded for one consumer.

    `build_stream_cut_sensor` adds them. An input of the stream, read by `PravegaSparkIOManager`, is the recorded range
    of its partition, however the run was started: by the sensor, by a backfill, or by hand. The consumer may be one of
    Airflow, whose tasks are called `dag/task`: then its ranges are partitions, too, and the next one starts where the
    last one ended, in either scheduler.

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
        """Check the names; a tuple, as Dagster's definitions are, is made here."""
        parsed = Interval(consumer, StreamName.parse(stream), "any").stream
        made: Self = super().__new__(cls, name=name or f"pravega {parsed} {consumer}")
        made.stream, made.consumer = parsed, consumer
        return made

    def interval(self, key: str) -> Interval:
        """The interval that a partition is."""
        return Interval(self.consumer, self.stream, key)


def cut_partitions_of(context: InputContext, stream: StreamName) -> StreamCutPartitions | None:
    """The partitions definition of a run whose partitions are ranges of the stream that an input reads."""
    step = context.step_context
    definition = step.run_partitions_def if step.has_partitions else None
    return definition if isinstance(definition, StreamCutPartitions) and definition.stream == stream else None


def is_partition(record: CutRecord) -> bool:
    """Whether the range of an interval is one to process: not a decision, and not given to another interval."""
    decided = is_passage(record) or record.interval == BEGINNING
    return not decided and record.state not in (IntervalState.GIVEN_BACK, IntervalState.SKIPPED)
