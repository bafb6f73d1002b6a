"""What is left of a range that is to be read, and what is gone: truncated, or part of a deleted stream.

Consumers that restart after a while check here whether they can continue.
"""

from dataclasses import dataclass
from enum import StrEnum

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, PravegaError, StreamMadeAgainError, StreamTruncatedError
from aiopravega.ledger import CutRecord, Interval, IntervalState, SkippedPart
from aiopravega.read import Order


class OnTruncated(StrEnum):
    """What a consumer does if a part of its range is gone: end with an error, or continue after it."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a range: an empty range at the head of the stream, if all is gone.

    `gone` is None if nothing is gone. `made_again` says what happened to the stream, if the range belongs to a deleted
    one.
    """

    range: StreamCutRange
    gone: SkippedPart | None = None
    made_again: str | None = None

    def refusal(self, interval: Interval, *, follows: bool = False) -> PravegaError:
        """The error for a consumer that does not skip what is gone: in an interval's range, or what `follows` it."""
        ways = (
            f"To continue without it, say on_truncated='skip', or: pravega cuts skip {interval.stream} "
            f"--consumer {interval.consumer!r}. To start again: pravega cuts forget, or another name of the consumer"
        )
        if self.made_again is not None:
            return StreamMadeAgainError(
                f"{self.made_again}; the range of {interval} belongs to the deleted one. {ways}", self.made_again
            )
        where = "after" if follows else "of"
        why = "" if self.gone is None else f": {self.gone.reason}"
        return StreamTruncatedError(f"{self.text} {where} the range of {interval} are gone{why}. {ways}")

    @property
    def text(self) -> str:
        """How much is gone."""
        size = None if self.gone is None else self.gone.size
        return "an unknown number of bytes" if size is None else f"{size:,} bytes"


def is_passage(record: CutRecord) -> bool:
    """Whether a record is not of an interval, but of a decision to continue after what is gone."""
    return record.state is IntervalState.SKIPPED and record.skipped_from is not None and record.start == record.end


def check_not_skipped(record: CutRecord) -> None:
    """Check that nobody has decided against an interval that is to be processed.

    Raises:
        LedgerError: somebody has decided so.
    """
    if record.state is IntervalState.SKIPPED:
        by, since = record.changed_by or record.recorded_by, record.state_since.isoformat(timespec="seconds")
        raise LedgerError(
            f"{record.identity} is skipped since {since}, by {by}: {record.reason or record.skipped_because}. To "
            f"process it after all: pravega cuts reopen {record.stream} --consumer {record.consumer!r} --interval "
            f"{record.interval!r}"
        )


async def left_to_process(
    client: PravegaClient, record: CutRecord, on_truncated: OnTruncated = OnTruncated.FAIL
) -> Left | None:
    """What is left of the range of an interval that is to be processed, maybe again; None: all of it.

    Raises:
        LedgerError: somebody has decided that the interval is skipped.
        StreamTruncatedError: a part is gone, and must not be skipped; not checked for an interval that is done.
        StreamMadeAgainError: the range is of a stream that was deleted.
    """
    check_not_skipped(record)
    left = await what_is_left(client, record.range.start, record.range.end if record.is_waiting else None)
    if left.gone is None or (not record.is_waiting and left.made_again is None):
        return None
    if not record.is_waiting or on_truncated is OnTruncated.FAIL:
        raise left.refusal(record.identity)
    return left


async def what_is_left(client: PravegaClient, start: StreamCut, end: StreamCut | None = None) -> Left:
    """What can still be read from one cut to another one of a stream as it is now.

    Without `end` the consumer is at `start`: the range is empty, and the consumer can continue there.

    Raises:
        StreamNotFoundError: there is no such stream.
        InvalidStreamCutError: the cuts were never cuts of such a stream.
        ConfigurationError: `start` is unbounded.
    """
    stream = start.stream
    if stream is None:
        raise ConfigurationError("an unbounded StreamCut has no position: give the head or the tail instead")
    head = await client.head(stream)
    cuts = [start] if end is None else [start, end]
    try:
        if start == end or await client.compare(start, head) in (Order.SAME, Order.AFTER):
            return Left(StreamCutRange(start, cuts[-1]))
        history = await client.arithmetic.history([*cuts, head])
    except StreamMadeAgainError as error:
        return Left(StreamCutRange(head, head), SkippedPart(start, None, error.fact), error.fact)
    first, last = history.latest([start, head]), history.latest([cuts[-1], head])
    try:
        size = history.size(start, first if end is None else history.earliest([end, first]))
    except StreamTruncatedError:
        size = None
    return Left(
        StreamCutRange(first, last),
        SkippedPart(start, size, f"retention or a truncation removed what lies before {head}"),
    )


async def bytes_between(client: PravegaClient, wanted: StreamCutRange) -> int | None:
    """The bytes of a range, event headers included; None: the length of one of its segments is not known any more."""
    try:
        return (await client.arithmetic.history([wanted.start, wanted.end])).size(wanted.start, wanted.end)
    except StreamTruncatedError:
        return None
