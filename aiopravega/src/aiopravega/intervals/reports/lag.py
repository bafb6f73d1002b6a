"""How far a consumer is behind its stream: in bytes, in events, and since when."""

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
    """What a consumer has not processed yet.

    `range` is from where it has got to, or what is left after that, to the tail, and `size` its bytes, with the headers
    of the events. `events` are those of the range; if they are `counted_to`, there may be more, and if that is 0, they
    were not counted. `since` is when the consumer last finished an interval, or recorded its first one; None: it has
    none, or nothing is left to process. `waiting` are the intervals that are recorded and not done. `lost` is what was
    removed before it was processed.
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
        """For how long something may have waited; None: not known. Zero, if nothing is left to process."""
        if not self.size:
            return timedelta()
        return None if self.since is None else datetime.now(UTC) - self.since

    @property
    def loss(self) -> str | None:
        """What was lost, in words."""
        if self.lost is None:
            return None
        return f"{self.lost.made_again or f'{self.lost.text} were removed'} before the consumer had processed them"


async def lag_of(
    client: PravegaClient, stream: StreamName, consumer: str, *, count_to: int = 0, ledger: CutLedger | None = None
) -> Lag:
    """How far a consumer is behind its stream, by the cut ledger.

    It has got to the end of its intervals, in their order, up to the first that is not done; one that is skipped by
    will counts as done. A consumer without intervals is at the head.

    Args:
        client: a connected client.
        stream: that is processed.
        consumer: its name in the cut ledger.
        count_to: how many events to count at most; they are read for that.
        ledger: where intervals are recorded; None: the cut ledger in the stream's scope.

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
    client: PravegaClient, stream: StreamName, records: Sequence[CutRecord], *, count_to: int = 0
) -> Lag:
    """The same as `lag_of`, by the records of the consumer as the cut ledger gives them."""
    records = [record for record in records if record.state is not IntervalState.GIVEN_BACK]
    left = await what_is_left(client, _reached(records) or await client.head(stream))
    # Read after the ledger: so it is not before what the consumer has got to.
    tail = await client.tail(stream)
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
    """Where the first interval starts that is not done, or the last one ends; None: there are none."""
    reached = None
    for record in records:
        if record.is_waiting:
            return reached or record.range.start
        reached = record.range.end
    return reached
