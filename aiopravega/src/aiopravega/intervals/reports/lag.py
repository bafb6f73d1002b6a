"""The lag of a consumer behind its stream: in bytes, in events, and in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import TableNotFoundError
from aiopravega.intervals.chain.losses import Left, what_is_left
from aiopravega.intervals.conditions.bounded_ends import count_events
from aiopravega.ledger import CutLedger, CutRecord, IntervalState
from aiopravega.names import StreamName


@dataclass(frozen=True, slots=True)
class Lag:
    """The range that a consumer has not processed yet, with its numbers.

    Attributes:
        range: from the consumer's position, or the first readable event after it, to the tail.
        size: bytes of the range, with the headers of the events.
        events: of the range; if the number equals `counted_to`, there may be more.
        counted_to: the number at which counting stopped; 0: events were not counted.
        since: the time when the consumer last finished an interval, or recorded its first one. None: it has no
            intervals, or nothing is left to process.
        waiting: the intervals that are recorded and not done.
        lost: the loss before `range`; None: no event was removed before it was processed.
    """

    range: StreamCutRange
    size: int
    events: int
    counted_to: int
    since: datetime | None
    waiting: Sequence[CutRecord]
    lost: Left | None

    @property
    def time(self) -> timedelta | None:
        """The longest time that an event may have waited; None: not known. Zero if nothing is left to process."""
        if not self.size:
            return timedelta()
        return None if self.since is None else datetime.now(UTC) - self.since

    def is_over(self, limit: timedelta) -> bool:
        """True if events wait, and may have waited longer than a limit; also if it is not known how long."""
        return self.size > 0 and (self.time is None or self.time > limit)

    def exceeds(self, size: int | None, events: int | None, time: timedelta | None) -> list[str]:
        """The limits that are exceeded, as texts. A limit that is None is not set.

        Args:
            size: the most bytes.
            events: the most events; they must have been counted up to one more.
            time: the longest time without a finished interval while events wait.
        """
        exceeded = []
        if size is not None and self.size > size:
            exceeded.append(f"{self.size:,} bytes behind, more than {size:,}")
        if events is not None and self.events > events:
            exceeded.append(f"{self.counted} events behind, more than {events:,}")
        if time is not None and self.is_over(time):
            since = "ever" if self.since is None else f"since {self.since.isoformat(timespec='seconds')}"
            exceeded.append(f"no interval done {since} while events wait, which is more than {time}")
        return exceeded

    @property
    def counted(self) -> str:
        """The number of events, as text."""
        return f"{self.events:,}" if self.events < self.counted_to else f"at least {self.events:,}"

    @property
    def loss(self) -> str | None:
        """A sentence about the events that were lost; None: no event was."""
        if self.lost is None:
            return None
        return f"{self.lost.made_again or f'{self.lost.text} were removed'} before the consumer had processed them"


async def lag_of(
    client: PravegaClient, stream: StreamName, consumer: str, *, count_to: int = 0, ledger: CutLedger | None = None
) -> Lag:
    """The lag of a consumer behind its stream, by the cut ledger.

    The consumer's position is the start of its first interval that is not done, or the end of its last interval. An
    interval that a person has skipped counts as done. A consumer without intervals is at the head.

    Args:
        client: a connected client.
        stream: the stream that is processed.
        consumer: its name in the cut ledger.
        count_to: the most events that are counted, by reading them.
        ledger: with the intervals; None: the cut ledger in the stream's scope.

    Raises:
        StreamNotFoundError: there is no such stream.
        PravegaError: the ledger or the stream cannot be asked.
    """
    try:
        records = await (ledger or client.cut_ledger(stream.scope)).records(consumer, stream)
    except TableNotFoundError:
        records = []
    return await lag_after(client, stream, records, count_to=count_to)


async def lag_after(
    client: PravegaClient,
    stream: StreamName,
    records: Sequence[CutRecord],
    *,
    count_to: int = 0,
    ends: StreamCutRange | None = None,
) -> Lag:
    """The lag as of `lag_of`, by the consumer's records of the cut ledger.

    `ends` are the head and the tail of the stream, if the caller has asked for them after it has read the records.
    """
    records = [record for record in records if record.state is not IntervalState.GIVEN_BACK]
    head = await client.head(stream) if ends is None else ends.start
    left = await what_is_left(client, _reached(records) or head, head=head)
    # Read after the ledger, so that it is not before the consumer's position.
    tail = await client.tail(stream) if ends is None else ends.end
    behind = StreamCutRange(left.range.start, tail)
    size = await client.distance(behind.start, behind.end)
    finished = [record.state_since for record in records if not record.is_waiting]
    since = max(finished) if finished else min((record.recorded_at for record in records), default=None)
    return Lag(
        behind,
        size,
        await count_events(client, behind, count_to),
        count_to,
        since if size else None,
        [record for record in records if record.is_waiting],
        left if left.gone is not None else None,
    )


def _reached(records: Sequence[CutRecord]) -> StreamCut | None:
    """The start of the first interval that is not done, or the end of the last interval; None: there are none."""
    reached = None
    for record in records:
        if record.is_waiting:
            return reached or record.range.start
        reached = record.range.end
    return reached
