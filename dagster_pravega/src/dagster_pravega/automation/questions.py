"""The questions of one tick: each is asked once, all side by side, and all within the time of the tick.

Dagster evaluates the conditions of all assets of a sensor in one tick, level by level of the graph, and ends the tick
after 60 s. So the conditions share one end of the time, whatever their number and however many clusters are away.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from dagster import AutomationContext

from aiopravega import PravegaClient, PravegaConfig
from aiopravega.errors import PravegaTimeoutError
from aiopravega.loop import LoopThread
from dagster_pravega.sensors.ticks import TICK_SECONDS, ask_within

T = TypeVar("T")


class TickQuestions:
    """The questions and answers of one tick."""

    def __init__(self, seconds: float = TICK_SECONDS) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._answers: dict[Hashable, Future[Any]] = {}

    @classmethod
    def of(cls, context: AutomationContext[Any]) -> "TickQuestions":
        """The questions of the tick that evaluates a condition."""
        return _of_views.setdefault(context.asset_graph_view, cls())

    async def ask(self, config: PravegaConfig, about: Hashable, question: Callable[[PravegaClient], Awaitable[T]]) -> T:
        """The cluster's answer; the same question (`about`) is asked once in a tick.

        Raises:
            PravegaTimeoutError: the time of the tick has ended.
            PravegaError: the cluster cannot be asked, or refuses.
        """
        key = (config, about)
        if key not in self._answers:
            left = self._end - time.monotonic()
            if left <= 0:
                raise PravegaTimeoutError(
                    f"the cluster of {config.controller_uri} was not asked: the {self._seconds:g} s of a tick are over"
                )
            self._answers[key] = LoopThread.shared().submit(ask_within(config, question, left))
        answer: T = await asyncio.wrap_future(self._answers[key])
        return answer


# Dagster makes one view of the graph of assets for a tick.
_of_views: Final[WeakKeyDictionary[Any, TickQuestions]] = WeakKeyDictionary()
