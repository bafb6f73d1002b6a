"""Clusters that did not answer the last tick of a code location: the next ticks do not wait for them as long.

Dagster's daemon evaluates the sensors of a location one after the other, so that each tick that waits for a cluster in
vain holds the sensors of all other clusters.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

# Two tries of one request end within the tick, so that the error of the host that does not answer is known.
_FULL: Final[Mapping[str, float]] = {"connect_timeout": 5.0, "request_timeout": 6.0, "retry_timeout": 6.0}
_SHORT: Final[Mapping[str, float]] = {"connect_timeout": 1.0, "request_timeout": 3.0, "retry_timeout": 0.5}
# A cluster may be slow at first after an outage.
_FULL_EVERY_SECONDS: Final = 120.0


class Outages:
    """The limits of requests to each cluster: short ones after a failure, until it answers.

    At least every two minutes a cluster gets the full limits, so that a slow one is reached again.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tried: dict[str, float] = {}

    def limits(self, cluster: str) -> Mapping[str, float]:
        """The limits of the next tick, by the fields of the client's configuration."""
        tried = self._tried.get(cluster)
        if tried is None or self._clock() - tried < _FULL_EVERY_SECONDS:
            return _FULL if tried is None else _SHORT
        self._tried[cluster] = self._clock()
        return _FULL

    def failed(self, cluster: str) -> None:
        """Remember that a cluster has not answered."""
        self._tried.setdefault(cluster, self._clock())

    def answered(self, cluster: str) -> None:
        """Forget the failures of a cluster."""
        self._tried.pop(cluster, None)
