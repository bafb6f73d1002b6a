"""How often a streaming query asks for new events while there are none.

Spark asks again 10 ms after each "nothing new", which keeps a sixth of a core busy for nothing. Here the answer waits
a tenth of the time for which nothing arrived, and at most a second. So a stream that is read every few milliseconds is
asked as often as ever, and the first event after a silence is found after a tenth of that silence, at most.

Only a question that follows an answer at once waits. If a query has other sources that are busy, or a trigger of its
own, more time is between them, and this source holds nobody up.
"""

import time
from collections.abc import Callable
from typing import Final

# Of the time for which nothing arrived.
_SHARE: Final = 0.1
_LONGEST: Final = 1.0
# Spark asks after 10 ms; a trigger with events takes longer than this.
_AT_ONCE: Final = 0.05


class IdlePace:
    """Slows down the questions of one query.

    Args:
        clock: seconds that only grow.
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
        """Wait before a question is answered, if Spark asks because the answer before was that nothing is new."""
        now = self._clock()
        if self._nothing_since is not None and now - self._answered <= _AT_ONCE:
            self._sleep(min(_LONGEST, (now - self._nothing_since) * _SHARE))

    def answered(self, *, anything: bool) -> None:
        """Note that a question was answered, and whether anything was new."""
        self._answered = self._clock()
        if anything:
            self._nothing_since = None
        elif self._nothing_since is None:
            self._nothing_since = self._answered
