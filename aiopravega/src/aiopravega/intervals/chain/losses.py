"""Losses of a range that is to be read: a part that was truncated, or that belongs to a deleted stream.

Consumers that restart after a while check here that they can continue.
"""

from dataclasses import dataclass
from enum import StrEnum

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, PravegaError, StreamMadeAgainError, StreamTruncatedError
from aiopravega.ledger import CutRecord, Interval, IntervalState, SkippedPart
from aiopravega.read import Order


class OnTruncated(StrEnum):
    """Choices of a consumer if a part of its range is gone: end with an error, or continue after that part."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Left:
    """The rest of a range that can still be read; an empty range at the head of the stream if all is gone.

    `gone` is None if nothing is gone. `made_again` is a sentence about the stream, if the range belongs to a deleted
    stream of the same name.
    """

    range: StreamCutRange
    gone: SkippedPart | None = None
    made_again: str | None = None

    def refusal(self, interval: Interval, *, follows: bool = False) -> PravegaError:
        """The error for a consumer that must not skip a loss in an interval's range, or, with `follows`, after it."""
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
        """The size of the loss, as text."""
        size = None if self.gone is None else self.gone.size
        return "an unknown number of bytes" if size is None else f"{size:,} bytes"


def is_passage(record: CutRecord) -> bool:
    """Return True if a record is a decision to continue after a loss, not an interval."""
    return record.state is IntervalState.SKIPPED and record.skipped_from is not None and record.start == record.end


def check_not_skipped(record: CutRecord) -> None:
    """Check that an interval that is to be processed is not skipped.

    Raises:
        LedgerError: somebody has decided that it is skipped.
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
    """The rest of an interval's range that is to be processed, maybe again; None: nothing of the range is gone.

    An interval that is done can lose its range only with its stream: then it is processed again, from the stream that
    has the name now, if losses are skipped.

    Raises:
        LedgerError: somebody has decided that the interval is skipped.
        StreamTruncatedError: a part is gone, and must not be skipped; not checked for an interval that is done.
        StreamMadeAgainError: the range is of a stream that was deleted, and must not be skipped.
    """
    check_not_skipped(record)
    left = await what_is_left(client, record.range.start, record.range.end if record.is_waiting else None)
    if left.gone is None or (not record.is_waiting and left.made_again is None):
        return None
    if on_truncated is OnTruncated.FAIL:
        raise left.refusal(record.identity)
    return left


async def what_is_left(
    client: PravegaClient, start: StreamCut, end: StreamCut | None = None, *, head: StreamCut | None = None
) -> Left:
    """The range between two cuts that can still be read, and its loss.

    Without `end` the consumer is at `start`: the resulting range is empty, and the consumer continues at it. `head` is
    that of the stream, if the caller knows it.

    Raises:
        StreamNotFoundError: there is no such stream.
        InvalidStreamCutError: the cuts were never cuts of this stream.
        ConfigurationError: `start` is unbounded.
    """
    stream = start.stream
    if stream is None:
        raise ConfigurationError("an unbounded StreamCut has no position: give the head or the tail instead")
    head = head or await client.head(stream)
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
