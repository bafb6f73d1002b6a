"""The blocking form of the cut ledger; see `aiopravega.ledger.CutLedger`."""

from datetime import datetime

from aiopravega.cuts import StreamCutRange
from aiopravega.ledger import CutLedger as AsyncLedger
from aiopravega.ledger import CutRecord, Interval, StoredRange
from aiopravega.loop import LoopThread
from aiopravega.names import StreamName


class CutLedger:
    """See `aiopravega.ledger.CutLedger`."""

    def __init__(self, loop: LoopThread, ledger: AsyncLedger) -> None:
        self._loop = loop
        self._ledger = ledger

    def create(self) -> bool:
        """Make the table; returns False if it exists already."""
        return self._loop.run(self._ledger.create())

    def find(self, interval: Interval) -> CutRecord | None:
        """What is known of an interval, or None: it has no range yet."""
        return self._loop.run(self._ledger.find(interval))

    def recorded(self, interval: Interval) -> StreamCutRange | None:
        """The range of an interval, or None: it has none yet."""
        return self._loop.run(self._ledger.recorded(interval))

    def last(self, interval: Interval) -> StoredRange | None:
        """The range that the interval's consumer took last in its chain."""
        return self._loop.run(self._ledger.last(interval))

    def records(self, consumer: str, stream: StreamName) -> list[CutRecord]:
        """All intervals of a consumer of a stream, in the order of the stream."""
        return self._loop.run(self._ledger.records(consumer, stream))

    def consumers(self) -> dict[tuple[StreamName, str], list[CutRecord]]:
        """All intervals of all consumers, by stream and consumer."""
        return self._loop.run(self._ledger.consumers())

    def record(
        self,
        interval: Interval,
        taken: StreamCutRange,
        after: StoredRange | None,
        *,
        chained: bool = False,
        number: int = 0,
        by: str | None = None,
    ) -> CutRecord:
        """Record the range of an interval, behind what `last` found."""
        return self._loop.run(self._ledger.record(interval, taken, after, chained=chained, number=number, by=by))

    def claim(
        self,
        interval: Interval,
        taken: StreamCutRange,
        *,
        number: int = 0,
        follows: bool = False,
        times: tuple[datetime, datetime] | None = None,
        by: str | None = None,
    ) -> CutRecord:
        """Record a range for an interval that has none, outside of any chain; returns what the interval has then."""
        return self._loop.run(self._ledger.claim(interval, taken, number=number, follows=follows, times=times, by=by))

    def finish(
        self, interval: Interval, processed: StreamCutRange | None = None, *, by: str | None = None
    ) -> CutRecord:
        """Record that an interval has been processed; to repeat it changes nothing."""
        return self._loop.run(self._ledger.finish(interval, processed, by=by))
