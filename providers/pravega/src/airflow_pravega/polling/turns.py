"""Turns of the triggers that wait for the next range of one chain: the trigger of the oldest run may take it.

Without turns, all of them would wake their runs when the stream moves, and all but one would find nothing left. Turns
are known to one triggerer. If triggers of several triggerers wait for one chain, the cut ledger still gives each range
to one run.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

# Seconds for which the other triggers wait after one was woken: its task has to start, and may have to wait for a slot.
# If the task takes no range in that time, it may have died.
HEAD_START: Final = 300.0


@dataclass(slots=True)
class WaitingChain:
    """The triggers that wait for the next range of a chain; and the order, state and time of the last one woken."""

    waiting: "list[Turn]" = field(default_factory=list)
    woken: "tuple[str, Hashable, float] | None" = None


@dataclass(eq=False, slots=True)
class Turn:
    """The turn of one trigger; `order` is its run's, as a text that sorts."""

    order: str
    _chain: WaitingChain
    _clock: Callable[[], float]

    @property
    def is_next(self) -> bool:
        """True if no trigger that waits comes before this one."""
        return self is min(self._chain.waiting, key=lambda turn: turn.order)

    def may_wake(self, state: Hashable) -> bool:
        """Return True, and remember it, unless another trigger was woken for this state of the chain a moment ago.

        The run of that other trigger takes its range first, and thereby changes the state.
        """
        woken = self._chain.woken
        if woken is not None:
            order, woken_for, at = woken
            if order != self.order and woken_for == state and self._clock() - at < HEAD_START:
                return False
        self._chain.woken = (self.order, state, self._clock())
        return True


# By event loop, as the triggers of a triggerer share one.
_chains: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, WaitingChain]]] = WeakKeyDictionary()


@contextmanager
def turn_in(key: Hashable, order: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Turn]:
    """Wait in the chain `key` of this event loop, for as long as the block runs."""
    chains = _chains.setdefault(asyncio.get_running_loop(), {})
    chain = chains.setdefault(key, WaitingChain())
    turn = Turn(order, chain, clock)
    chain.waiting.append(turn)
    try:
        yield turn
    finally:
        chain.waiting.remove(turn)
        if not chain.waiting and chains.get(key) is chain:
            del chains[key]
