"""How many bytes a writer may have under way, by how long the server takes for them. No I/O.

A server that falls behind (its cache is full of what the second tier has not taken yet, or its log is slow) answers
appends later and later, and in the end fails: what is under way when its cache is nearly full must still fit in. So
the window starts small, grows while answers come quickly, and is halved when one takes long, as TCP does it for losses.
"""

from typing import Final

# Seconds. A healthy server answers a block of 1 MiB within some ten milliseconds.
SLOW: Final = 0.1
# Windows full of quick answers that it takes to grow to the largest.
_STEPS: Final = 16


class Window:
    """The bytes that one segment's appender may have in flight: between `least` and `largest`, at first `least`."""

    def __init__(self, least: int, largest: int) -> None:
        self.size = least
        self._least, self._largest = least, largest
        self._halved_at = 0.0

    def answered(self, sent_at: float, now: float, size: int) -> None:
        """A block of `size` bytes, sent at `sent_at`, is durable at `now` (seconds of one clock)."""
        if now - sent_at <= SLOW:
            self.size = min(self._largest, self.size + max(1, self._largest // _STEPS * size // self.size))
        elif sent_at >= self._halved_at:  # what was under way when the window was halved says nothing new
            self.size = max(self._least, self.size // 2)
            self._halved_at = now
