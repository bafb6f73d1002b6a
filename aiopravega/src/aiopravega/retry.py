"""Retries: the times of further tries, and their end. Each error says itself whether it can pass (`retryable`)."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeVar

from aiopravega.errors import PravegaError

logger = logging.getLogger(__name__)
T = TypeVar("T")
# The level at which the first failure of an operation is logged.
_first_failure: Final = ContextVar("first failure", default=logging.INFO)


@contextmanager
def known_outage() -> Iterator[None]:
    """Run a block of a caller that has reported an outage, and checks again whether it is over.

    In it, operations that are tried again add nothing to an INFO log: it would have a line for each check.
    """
    token = _first_failure.set(logging.DEBUG)
    try:
        yield
    finally:
        _first_failure.reset(token)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Pauses that grow from `initial` by `factor` up to `longest`, until `total` has passed. All in seconds."""

    initial: float = 0.1
    factor: float = 2.0
    longest: float = 3.0
    total: float = 60.0

    def pause(self, attempt: int) -> float:
        """The pause after the `attempt`-th failure (from 0), with jitter: clients must not retry together."""
        exponent = min(attempt, 30)  # beyond that the power only overflows
        return min(self.longest, self.initial * self.factor**exponent) * random.uniform(0.5, 1.0)


class Retries:
    """The state of one operation that is tried again: counts failures and says how long to pause, or gives up.

    It does no waiting itself, so that asyncio and blocking callers share it.
    """

    def __init__(self, policy: RetryPolicy, what: str) -> None:
        self._policy = policy
        self._what = what
        self._deadline = 0.0
        self._failures = 0

    def pause_after(self, error: PravegaError) -> float:
        """Seconds to wait before the next attempt.

        Raises:
            PravegaError: `error` itself, when trying again cannot help or the time is up.
        """
        if not self._failures:  # the time starts with the first failure, not with the operation
            self._deadline = time.monotonic() + self._policy.total
        pause = self._policy.pause(self._failures)
        if not error.retryable or time.monotonic() + pause > self._deadline:
            raise error
        level = logging.DEBUG if self._failures else _first_failure.get()  # one line for one outage
        self._failures += 1
        logger.log(level, "%s failed, trying again in %.1f s: %s", self._what, pause, error)
        return pause

    def progressed(self) -> None:
        """Start counting again: the operation got further, so this is a new failure."""
        self._failures = 0


async def retrying(attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, what: str) -> T:
    """Await `attempt()` until it succeeds; `what` names the operation in the log.

    Raises:
        PravegaError: the last failure, when it is not retryable or `policy.total` has passed.
    """
    retries = Retries(policy, what)
    while True:
        try:
            return await attempt()
        except PravegaError as error:
            pause = retries.pause_after(error)
        await asyncio.sleep(pause)
