"""Pauses of a streaming query between requests for new events, while there are none.

Spark asks again 10 ms after each answer without new events, which keeps a sixth of a core busy. Here the answer waits a
tenth of the time for which no event arrived, and at most a second. So a stream with events every few milliseconds is
asked as often as before, and the first event after a silence is found after a tenth of that silence, at most.

Only a request that follows an answer at once waits. If a query has other busy sources, or a trigger with a pause, more
time lies between requests, and this source does not wait.
"""

import time
from collections.abc import Callable
from typing import Final

# The part of the time without events for which an answer waits.
_SHARE: Final = 0.1
_LONGEST: Final = 1.0
# Spark asks after 10 ms; a trigger with events takes longer than this.
_AT_ONCE: Final = 0.05


class IdlePace:
    """Slows down the requests of one query.

    Args:
        clock: seconds of a monotonic clock.
        sleep: waits for some seconds.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._nothing_since: float | None = None
        self._answered = 0.0

    def wait(self) -> None:
        """Wait before a request is answered, if Spark asks again because the answer before had no new events."""
        now = self._clock()
        if self._nothing_since is not None and now - self._answered <= _AT_ONCE:
            self._sleep(min(_LONGEST, (now - self._nothing_since) * _SHARE))

    def answered(self, *, anything: bool) -> None:
        """Record that a request was answered, and whether there were new events."""
        self._answered = self._clock()
        if anything:
            self._nothing_since = None
        elif self._nothing_since is None:
            self._nothing_since = self._answered
