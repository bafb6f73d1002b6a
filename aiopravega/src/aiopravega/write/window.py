"""The bytes that a writer may have in flight, by the speed of the server's answers. No I/O.

An overloaded server (its cache is full of data for the second tier, or its log is slow) answers appends more and more
slowly, and fails in the end: the bytes in flight must still fit into its cache. So the window starts small, grows while
answers are quick, and is halved when one takes long, as TCP does after losses.
"""

from typing import Final

# Seconds. A healthy server answers a block of 1 MiB within some ten milliseconds.
SLOW: Final = 0.1
# After so many windows of quick answers it has grown to the largest.
_STEPS: Final = 16


class SendWindow:
    """The bytes that one segment's appender may have in flight: between `least` and `largest`, at first `least`."""

    def __init__(self, least: int, largest: int) -> None:
        self.size = least
        self._least, self._largest = least, largest
        self._halved_at = 0.0

    def answered(self, sent_at: float, now: float, size: int) -> None:
        """A block of `size` bytes, sent at `sent_at`, is durable at `now` (seconds of one clock)."""
        if now - sent_at <= SLOW:
            self.size = min(self._largest, self.size + max(1, self._largest // _STEPS * size // self.size))
        elif sent_at >= self._halved_at:  # blocks sent before the window was halved do not halve it again
            self.size = max(self._least, self.size // 2)
            self._halved_at = now
