"""When has a stream moved far enough for the next range? The conditions of all schedulers' sensors.

Where a consumer continued is in the cut ledger, and not known here.
"""

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from aiopravega import wire
from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, StreamSealedError
from aiopravega.intervals.tails import Tail


@dataclass(frozen=True, slots=True)
class MoveCondition:
    """What has to hold, all of it: bytes (event headers included) since a cut, events, silence, the end of the stream.

    `quiet_for` is for how many seconds nothing was written; a stream that is sealed is quiet. `min_events` are counted
    by reading them. `max_bytes` is no condition: a range that has more ends earlier, between events.
    """

    min_bytes: int
    quiet_for: float = 0.0
    sealed: bool = False
    min_events: int = 0
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.quiet_for < 0:
            raise ConfigurationError(f"quiet_for is {self.quiet_for:g} s, but cannot be negative")
        if self.min_bytes < 0 or self.min_events < 0:
            raise ConfigurationError(f"min_bytes is {self.min_bytes} and min_events {self.min_events}: at least 0 each")
        if self.max_bytes is not None and self.max_bytes < max(self.min_bytes, 1):
            raise ConfigurationError(
                f"max_bytes is {self.max_bytes}, but must be at least min_bytes ({self.min_bytes}) and at least 1"
            )

    def __str__(self) -> str:
        events = f", {self.min_events:,} events" if self.min_events else ""
        quiet = f", nothing written for {self.quiet_for:g} s" if self.quiet_for else ""
        return f"{self.min_bytes:,} bytes{events}{quiet}{', sealed' if self.sealed else ''}"


class StreamWatch:
    """Checks the condition for one stream again and again. It remembers the tail that it saw last, to know silence.

    Args:
        condition: what has to hold.
        clock: gives seconds.
    """

    def __init__(self, condition: MoveCondition, clock: Callable[[], float] = time.monotonic) -> None:
        self.condition = condition
        self._clock = clock
        self._tail: StreamCut | None = None
        self._same_since = 0.0
        # Up to where the events of a range have been counted.
        self._counted: tuple[StreamCutRange, int] | None = None

    async def end_if_moved(self, client: PravegaClient, start: StreamCut, *, check: bool) -> StreamCut | None:
        """The end of the range from `start`, if the condition holds: the tail, or before it, if `max_bytes` says so.

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
        """The same for an end of the stream that was asked for already.

        Args:
            client: a connected client.
            start: a cut of the stream that is not after `seen`.
            seen: the end of the stream.
            at: when the servers were asked for it, by the clock.
            check: whether `start` is checked against the stream even where the answer is known without.

        Raises:
            StreamSealedError: the stream is sealed, so that the bytes or events will never come.
            PravegaError: `start` does not fit the stream, or the cluster cannot be reached.
        """
        wanted, tail = self.condition, seen.cut
        is_quiet = self._is_quiet(tail, at)
        moved = _moved_within(start, tail)
        if check or moved is None or moved >= wanted.min_bytes:
            moved = await client.distance(start, tail)
        if moved >= wanted.min_bytes and await self._has_events(client, StreamCutRange(start, tail), moved):
            if not (seen.is_sealed or (is_quiet and not wanted.sealed)):
                return None
            if wanted.max_bytes is None or moved <= wanted.max_bytes:
                return tail
            return await client.next_cut(start, wanted.max_bytes, tail)
        if seen.is_sealed:
            raise StreamSealedError(
                f"{tail.stream} is sealed {moved:,} bytes after {start}: it will never reach {wanted}. "
                "Wait for less to read the rest."
            )
        return None

    def _is_quiet(self, tail: StreamCut, at: float) -> bool:
        if tail != self._tail:
            # Not `at`: until the answer came, something may have been written before the tail was read.
            self._tail, self._same_since = tail, self._clock()
        quiet_for = self.condition.quiet_for
        return not quiet_for or at - self._same_since >= quiet_for

    async def _has_events(self, client: PravegaClient, wanted: StreamCutRange, size: int) -> bool:
        """Whether a range has enough events. They are counted once, up to the number that is enough."""
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


async def count_events(client: PravegaClient, wanted: StreamCutRange, enough: int) -> int:
    """The events of a range, which are read for that; it stops at `enough`."""
    events = 0
    if enough > 0 and wanted.start != wanted.end:
        async with aclosing(client.read(wanted)) as reading:
            async for _ in reading:
                events += 1
                if events >= enough:
                    break
    return events


def _moved_within(start: StreamCut, tail: StreamCut) -> int | None:
    """The bytes between two cuts of the same segments; None if the stream was scaled, and the server has to say."""
    if start.positions.keys() != tail.positions.keys() or min(start.positions.values()) < 0:
        return None
    return sum(tail.positions[segment] - offset for segment, offset in start.positions.items())
