"""Pauses between the checks of a stream: by its triggers' `poll_interval`, by its rate, and by the number of pollers.

This module knows neither streams nor clocks; all times are in seconds.
"""

import random
from typing import Final

# Parts of the longest pause, which is the shortest `poll_interval` of all subscriptions.
IDLE: Final = 1 / 5
BUSY: Final = 1 / 20
# The shortest pause, unless the longest one is shorter.
SHORTEST: Final = 0.2
# Checks a second of one triggerer; more only where the longest pauses ask for them.
CHECKS_PER_SECOND: Final = 500.0

_FASTER: Final = 0.5
_SLOWER: Final = 1.5
# Checks that began together shall not stay together.
_JITTER: Final = 0.9


class Pace:
    """The pauses between the checks of one stream: shorter after each that found a change, longer after the others."""

    def __init__(self) -> None:
        self._pause: float | None = None

    def next(self, changed: bool, longest: float, streams: int) -> float:
        """The pause after a check; never more than `longest`.

        Args:
            changed: True if the check has found a change.
            longest: the shortest `poll_interval` of all subscriptions.
            streams: number of pollers of the event loop.
        """
        least = max(SHORTEST, streams / CHECKS_PER_SECOND)
        idle = min(longest, max(longest * IDLE, least))
        busy = min(longest, max(longest * BUSY, least))
        before = idle if self._pause is None else self._pause
        after = before * (_FASTER if changed else _SLOWER)
        self._pause = min(max(after, busy), idle)
        return self._pause * random.uniform(_JITTER, 1.0)
