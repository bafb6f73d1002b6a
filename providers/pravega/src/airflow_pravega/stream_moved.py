"""When has a stream moved far enough? The condition of the sensor and its trigger.

Where a task continued is in the cut ledger, and not known here.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from aiopravega import PravegaClient, StreamCut
from aiopravega.errors import ConfigurationError, StreamSealedError


@dataclass(frozen=True, slots=True)
class MoveCondition:
    """What has to hold, all of it: bytes (event headers included) since a cut, silence, the end of the stream.

    `quiet_for` is for how many seconds nothing was written; a stream that is sealed is quiet.
    """

    min_bytes: int
    quiet_for: float = 0.0
    sealed: bool = False

    def __post_init__(self) -> None:
        if self.quiet_for < 0:
            raise ConfigurationError(f"quiet_for is {self.quiet_for:g} s, but cannot be negative")

    def __str__(self) -> str:
        quiet = f", nothing written for {self.quiet_for:g} s" if self.quiet_for else ""
        return f"{self.min_bytes:,} bytes{quiet}{', sealed' if self.sealed else ''}"


class StreamWatch:
    """Checks the condition for one stream again and again. To know silence, it remembers the tail that it saw last.

    Args:
        condition: what has to hold.
        clock: gives seconds.
    """

    def __init__(self, condition: MoveCondition, clock: Callable[[], float] = time.monotonic) -> None:
        self.condition = condition
        self._clock = clock
        self._tail: StreamCut | None = None
        self._same_since = 0.0

    async def end_if_moved(self, client: PravegaClient, start: StreamCut, *, check: bool) -> StreamCut | None:
        """The tail of the stream, if the condition holds between `start` and it.

        Args:
            client: a connected client.
            start: a cut of the stream.
            check: whether `start` is checked against the stream even where the answer is known without.

        Raises:
            StreamSealedError: the stream is sealed, so that the bytes will never come.
            PravegaError: `start` does not fit the stream, or the cluster cannot be reached.
        """
        stream = start.stream
        if stream is None:
            raise ConfigurationError("cannot wait from an unbounded StreamCut: it names no stream")
        wanted = self.condition
        # Asked before the tail: nothing comes after the tail of a sealed stream.
        is_sealed = (wanted.sealed or wanted.quiet_for) and await client.is_sealed(stream.scope, stream.stream)
        tail = await client.tail(stream.scope, stream.stream)
        is_quiet = self._is_quiet(tail)
        moved = _moved_within(start, tail)
        if check or moved is None or moved >= wanted.min_bytes:
            moved = await client.distance(start, tail)
        if moved >= wanted.min_bytes:
            return tail if is_sealed or (is_quiet and not wanted.sealed) else None
        if await client.is_sealed(stream.scope, stream.stream):
            raise StreamSealedError(
                f"{stream} is sealed {moved:,} bytes after {start}: it will never reach {wanted.min_bytes:,}. "
                "Wait for fewer bytes to read the rest."
            )
        return None

    def _is_quiet(self, tail: StreamCut) -> bool:
        if tail != self._tail:
            self._tail, self._same_since = tail, self._clock()
        return self._clock() - self._same_since >= self.condition.quiet_for


def _moved_within(start: StreamCut, tail: StreamCut) -> int | None:
    """The bytes between two cuts of the same segments; None if the stream was scaled, and the server has to say."""
    if start.positions.keys() != tail.positions.keys() or min(start.positions.values()) < 0:
        return None
    return sum(tail.positions[segment] - offset for segment, offset in start.positions.items())
