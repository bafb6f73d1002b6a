"""Checks of the conditions under which a stream has moved far enough for the next range, for all schedulers' sensors.

The start of a range is in the cut ledger, which this module does not know.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from aiopravega import wire
from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, NoWatermarksError, StreamSealedError
from aiopravega.event_time import Reach
from aiopravega.intervals.conditions.bounded_ends import bounded_end, count_events
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.intervals.conditions.tails import Tail
from aiopravega.names import StreamName
from aiopravega.read import Order

# The last end of a range at which all transactions of a database are whole, or None; given the stream of transactions.
WholeEnd = Callable[[PravegaClient, StreamCutRange, StreamName], Awaitable[StreamCut | None]]


class StreamWatch:
    """Checks the conditions for one stream again and again. It remembers the last tail that it saw, to know silence.

    Args:
        condition: the conditions that have to hold.
        clock: gives seconds.
        whole_end: finds the ends that the condition's `transactions` ask for;
            `pravega_jobs.debezium.transactions.cuts.watch_of` gives it.

    Raises:
        ConfigurationError: the condition names `transactions`, and there is no `whole_end`.
    """

    def __init__(
        self,
        condition: MoveCondition,
        clock: Callable[[], float] = time.monotonic,
        *,
        whole_end: WholeEnd | None = None,
    ) -> None:
        if condition.transactions is not None and whole_end is None:
            raise ConfigurationError("a condition with 'transactions' needs pravega-jobs, which finds where they end")
        self.condition = condition
        self._clock = clock
        self._whole_end = whole_end
        self._tail: StreamCut | None = None
        self._same_since = 0.0
        # The range whose events have been counted, and their number.
        self._counted: tuple[StreamCutRange, int] | None = None

    async def end_if_moved(self, client: PravegaClient, start: StreamCut, *, check: bool) -> StreamCut | None:
        """The end of the range from `start`, if the condition holds: the tail, or before it, as the bounds say.

        Args:
            client: a connected client.
            start: a cut of the stream.
            check: whether `start` is checked against the stream even where the answer is known without.

        Raises:
            StreamSealedError: the stream is sealed, so that the bytes or events will never come.
            PravegaError: `start` does not fit the stream, or the cluster cannot be reached.
        """
        stream = start.stream
        if stream is None:
            raise ConfigurationError("cannot wait from an unbounded StreamCut: it names no stream")
        at = self._clock()
        return await self.end_if_seen(client, start, await Tail.of(client, stream), at, check=check)

    async def end_if_seen(
        self, client: PravegaClient, start: StreamCut, seen: Tail, at: float, *, check: bool = False
    ) -> StreamCut | None:
        """The same for a tail of the stream that is known already.

        Args:
            client: a connected client.
            start: a cut of the stream that is not after `seen`.
            seen: the end of the stream.
            at: the time at which the servers were asked for it, by the clock.
            check: whether `start` is checked against the stream even where the answer is known without.

        Raises:
            StreamSealedError: the stream is sealed, so that the bytes or events will never come.
            PravegaError: `start` does not fit the stream, or the cluster cannot be reached.
        """
        wanted, tail = self.condition, seen.cut
        is_quiet = self._is_quiet(tail, at)
        moved = _moved_within(start, tail)
        if check or moved is None or moved >= wanted.least_bytes:
            moved = await client.distance(start, tail)
        range_ = StreamCutRange(start, tail)
        if moved >= wanted.least_bytes and await self._holds(client, range_, moved, seen, is_quiet=is_quiet):
            end = await bounded_end(client, range_, moved, wanted.max_bytes, wanted.max_events)
            if self._whole_end is None or wanted.transactions is None or not moved:
                return end
            # A transaction that is larger than the bounds is in one range nevertheless.
            transactions = StreamName.parse(wanted.transactions, seen.cut.stream.scope if seen.cut.stream else None)
            for each in dict.fromkeys((end, tail)):
                whole = await self._whole_end(client, StreamCutRange(start, each), transactions)
                if whole is not None:
                    return whole
            if not wanted.least_bytes:
                return start
        if seen.is_sealed:
            raise StreamSealedError(
                f"{tail.stream} is sealed {moved:,} bytes after {start}: it will never reach {wanted}. "
                "Wait for less to read the rest."
            )
        return None

    async def _holds(
        self, client: PravegaClient, range_: StreamCutRange, moved: int, seen: Tail, *, is_quiet: bool
    ) -> bool:
        is_any = self.condition.combine is Combine.ANY
        async with aclosing(self._parts(client, range_, moved, seen, is_quiet=is_quiet)) as parts:
            async for holds in parts:
                if holds is is_any:
                    return holds
        return not is_any

    async def _parts(
        self, client: PravegaClient, range_: StreamCutRange, moved: int, seen: Tail, *, is_quiet: bool
    ) -> AsyncGenerator[bool, None]:
        """Yield for each given condition whether it holds; the conditions that ask the servers come last."""
        wanted = self.condition
        if wanted.min_bytes is not None:
            yield moved >= wanted.min_bytes
        if wanted.quiet_for:
            yield is_quiet or seen.is_sealed
        if wanted.sealed:
            yield seen.is_sealed
        if wanted.reach is not None:
            yield await _has_reached(client, seen.cut, wanted.reach)
        if wanted.watermark is not None:
            yield await _is_complete(client, seen.cut, wanted.watermark)
        if wanted.min_events:
            yield await self._has_events(client, range_, moved)

    def _is_quiet(self, tail: StreamCut, at: float) -> bool:
        if tail != self._tail:
            # Not `at`: until the answer came, something may have been written before the tail was read.
            self._tail, self._same_since = tail, self._clock()
        quiet_for = self.condition.quiet_for
        return not quiet_for or at - self._same_since >= quiet_for

    async def _has_events(self, client: PravegaClient, wanted: StreamCutRange, size: int) -> bool:
        """Return True if a range has enough events. They are counted once, up to the number that is enough."""
        enough = self.condition.min_events
        if size < enough * wire.EVENT_HEADER:
            return False
        counted, events = self._counted or (StreamCutRange(wanted.start, wanted.start), 0)
        if counted.start != wanted.start:
            counted, events = StreamCutRange(wanted.start, wanted.start), 0
        if events < enough:
            events += await count_events(client, StreamCutRange(counted.end, wanted.end), enough - events)
        self._counted = wanted, events
        return events >= enough


async def _has_reached(client: PravegaClient, tail: StreamCut, wanted: StreamCut) -> bool:
    return await client.compare(tail, wanted) in (Order.SAME, Order.AFTER)


async def _is_complete(client: PravegaClient, tail: StreamCut, time: int) -> bool:
    """Return True if no event older than a time comes after the tail; a mark may be younger than that tail."""
    stream = tail.stream
    assert stream is not None, "a tail has a stream"
    try:
        known = await client.cut_at(stream, time)
    except NoWatermarksError:  # no writer has noted a time yet
        return False
    if known.reach is Reach.BEFORE_HISTORY and known.lower is not None:
        known = await client.cut_at(stream, known.lower)
    return known.cut is not None and await _has_reached(client, tail, known.cut)


def _moved_within(start: StreamCut, tail: StreamCut) -> int | None:
    """The bytes between two cuts of the same segments; None if the stream was scaled, and the server has to say."""
    if start.positions.keys() != tail.positions.keys() or min(start.positions.values()) < 0:
        return None
    return sum(tail.positions[segment] - offset for segment, offset in start.positions.items())
