"""Starts processes again that ended, unless one of them ends again and again. Knows nothing of what they do."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from pravega_emulator.process import ServerProcess

# A process that cannot start ends within seconds, each time.
_MOST_STARTS = 5
_SECONDS = 60.0


class Supervisor:
    """Supervises processes, which are in the order in which they are to start; `restart` starts one by its name."""

    def __init__(self, processes: Sequence[ServerProcess], restart: Callable[[str], None]) -> None:
        self._processes = processes
        self._restart = restart
        self._starts: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_MOST_STARTS))

    def look_after(self) -> list[str]:
        """Start again what has ended; returns the names.

        Raises:
            EmulatorError: a process has ended for the sixth time within a minute.
        """
        ended = [process for process in self._processes if not process.running]
        for process in ended:
            starts, now = self._starts[process.name], time.monotonic()
            if len(starts) == _MOST_STARTS and now - starts[0] < _SECONDS:
                raise process.failure(f"was started again {_MOST_STARTS} times within a minute, and ended again")
            starts.append(now)
            self._restart(process.name)
        return [process.name for process in ended]
