"""Search for a certain start of an event in the middle of a segment, by its bytes alone.

An event's frame begins with its length, so any true start gives all later starts: a *chain*. In a window of bytes that
begins nowhere in particular, every offset that could be a header starts a chain; most soon meet one that cannot be a
header. Two chains that meet continue as one. Since no frame is longer than the longest event, one of the candidates in
the window's first half *is* a true start. So when all of their chains that reach the window's end have met, the last
offset that they share is a true start, whatever the events contain. If they have not met, the search has no answer.
`docs/explanation/splitting.md` explains why a smaller window can give a wrong answer.

Where events may be longer than a window, it may hold no true start, and no window of bytes is proof. Then only a chain
of many events is believed: bytes that are not frames give chains that soon break. Bytes inside a long event that *are*
frames can still give a wrong answer; the readers of the parts notice that the parts do not meet.

This module knows bytes only, no servers and no offsets in segments.
"""

import math
import re
import struct
from bisect import bisect_right
from functools import cached_property
from typing import Final

from aiopravega import wire

_HEADER: Final = struct.Struct(">q")
# A header starts with four zero bytes for the type, and one more because no length reaches 2**24. Written so, and not
# with {5,}, the pattern has a literal prefix, which makes the search many times faster.
_RUN: Final = re.compile(rb"\0\0\0\0\0\0*")
_ZEROS: Final = bytes(5)
# Zero bytes that are a whole header: the header of an event of no bytes.
_EMPTY_FRAMES: Final = re.compile(rb"\0\0\0\0\0\0\0\0\0*")
# Where events may be longer than the window, a chain of so many events with data is always believed.
STRONG: Final = 64
# Fewer are enough where few positions could be a header: so many that bytes which are not frames give such a chain once
# in this many windows. With each event a chain reaches the end of a run of zeros: of eight positions, three can start
# the next.
_WINDOWS: Final = 10**9
_MOST_LIKELY: Final = 3 / 8
# Distances from the end of a run of zeros at which the header of an event with data can start.
_BEFORE_END: Final = (7, 6, 5)


def window_bytes(largest: int = wire.MAX_EVENT) -> int:
    """The number of bytes that `find_boundary` needs: any two frames, and a header."""
    return 2 * (largest + wire.EVENT_HEADER) + wire.EVENT_HEADER


def find_boundary(window: bytes | bytearray, largest: int = wire.MAX_EVENT, longest: int = 0) -> int | None:
    """A position near the end of `window` at which an event surely starts, or None if none is sure.

    Args:
        window: at least `window_bytes(largest)` bytes of a segment: whole frames, and parts of frames.
        largest: bytes of the longest event that is common.
        longest: bytes of the longest possible event, if that is more than `largest`. Then a chain of fewer than
            `STRONG` events with data may not be believed, and a longer chain can still lie inside an event that
            contains frames.

    Raises:
        ValueError: the window is too small for an answer that is sure.
    """
    if len(window) < window_bytes(largest):
        raise ValueError(f"a window of {len(window)} bytes is less than two frames of {largest} bytes")
    return _Chains(window, largest, max(largest, longest)).meeting()


class _Chains:
    """The chains of a window. A run of events of no bytes, which are zeros only, takes one step."""

    def __init__(self, window: bytes | bytearray, largest: int, longest: int) -> None:
        self._window = window
        self._largest, self._longest = largest, longest
        self._last = len(window) - wire.EVENT_HEADER
        # Starts of frames that have been visited, by whether their chain reaches the window's end.
        self._alive: set[int] = set()
        self._dead: set[int] = set()

    def meeting(self) -> int | None:
        """The last position of the one chain that all others have met."""
        window, unpack, alive, dead = self._window, _HEADER.unpack_from, self._alive, self._dead
        first: list[int] = []
        zeros = 0  # positions with as many zeros as a header has
        one_frame = self._largest + wire.EVENT_HEADER
        for run in _RUN.finditer(window):
            start, end = run.span()
            if start >= one_frame:
                break
            zeros += end - start - len(_ZEROS) + 1
            # Zeros up to the window's end, or up to a header that it cuts off: any of them may start the next event.
            if end - _BEFORE_END[-1] > self._last:
                return None
            for before in _BEFORE_END:
                at = end - before
                # The next header already shows that most candidates are not starts.
                if at < start or not window.startswith(_ZEROS, at + wire.EVENT_HEADER + unpack(window, at)[0]):
                    continue
                if at in alive or at in dead:
                    continue
                chain, met, broken = self._follow(at)
                if broken:
                    dead.update(chain)
                    continue
                if first and not met:  # another chain that could be the true one
                    return None
                first = first or chain
                alive.update(chain)
        if self._longest > self._largest and len(first) < _enough(zeros, zeros / one_frame):
            return None
        return first[-1] if first else None

    def _follow(self, at: int) -> tuple[list[int], bool, bool]:
        """The frames from `at` on, whether they met a chain that reaches the end, and whether they broke."""
        window, longest, last, unpack = self._window, self._longest, self._last, _HEADER.unpack_from
        alive, dead = self._alive, self._dead
        chain: list[int] = []
        while at <= last:
            if at in alive:
                return chain, True, False
            (length,) = unpack(window, at)
            if length == 0:
                at = self._after_empty_frames(at)
                continue
            if not 0 < length <= longest or at in dead:
                return chain, False, True
            chain.append(at)
            at += wire.EVENT_HEADER + length
        if self._leads_far(chain) and len(chain) < STRONG:
            # Read two bytes too late, nearly every header has the length of a long event, which leads out of the
            # window. The chain that it passes may still be the true one.
            return [], False, True
        return chain, False, False

    def _leads_far(self, chain: list[int]) -> bool:
        """True if a chain ends with an event that is longer than is common."""
        return bool(chain) and int.from_bytes(self._window[chain[-1] : chain[-1] + wire.EVENT_HEADER]) > self._largest

    def _after_empty_frames(self, at: int) -> int:
        """The offset at which the chain through `at`, a header of zeros, reaches a header that has other bytes."""
        _, end = self._empty_frames[bisect_right(self._empty_frames, (at, len(self._window))) - 1]
        if end == len(self._window):
            return end
        frames = -(-(end - wire.EVENT_HEADER + 1 - at) // wire.EVENT_HEADER)
        return at + frames * wire.EVENT_HEADER

    @cached_property
    def _empty_frames(self) -> list[tuple[int, int]]:
        return [run.span() for run in _EMPTY_FRAMES.finditer(self._window)]


def _enough(candidates: int, share: float) -> int:
    """The events that make a chain believable, if `candidates` positions, a `share` of all, could start an event."""
    if not candidates:
        return STRONG
    return min(STRONG, math.ceil(math.log(_WINDOWS * candidates) / -math.log(min(share, _MOST_LIKELY))))
