"""Whose turn it is, of the triggers of an event loop that wait for the next range of a chain: in the order of runs.

Without it, all of them would wake their runs when the stream moves, and all but one would find nothing left. It is of
one triggerer: where several wait for one chain, the cut ledger still gives each range to one run.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

# Seconds for which the others wait after one was woken: its task has to start, and may have to wait for a slot. If it
# takes no range in that time, it may have died.
HANDOVER: Final = 300.0


@dataclass(slots=True)
class Chain:
    """Those who wait for the next range of a chain; and who was woken, for what."""

    waiting: "list[Turn]" = field(default_factory=list)
    woken: "tuple[str, Hashable, float] | None" = None


@dataclass(eq=False, slots=True)
class Turn:
    """The turn of one trigger; `order` is the run's, as a text that sorts."""

    order: str
    _chain: Chain
    _clock: Callable[[], float]

    @property
    def is_next(self) -> bool:
        """Whether nobody who waits comes before this one."""
        return self is min(self._chain.waiting, key=lambda turn: turn.order)

    def take(self, state: Hashable) -> bool:
        """Wake the run of this one, unless that of another one was woken for this state of the chain a moment ago.

        That one is to take its range first, and thereby change the state.
        """
        woken = self._chain.woken
        if woken is not None:
            order, seen, at = woken
            if order != self.order and seen == state and self._clock() - at < HANDOVER:
                return False
        self._chain.woken = (self.order, state, self._clock())
        return True


# By event loop, as the triggers of a triggerer share one.
_chains: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Chain]]] = WeakKeyDictionary()


@contextmanager
def turn_in(key: Hashable, order: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Turn]:
    """Wait in the chain `key` of this event loop, for as long as the block runs."""
    chains = _chains.setdefault(asyncio.get_running_loop(), {})
    chain = chains.setdefault(key, Chain())
    turn = Turn(order, chain, clock)
    chain.waiting.append(turn)
    try:
        yield turn
    finally:
        chain.waiting.remove(turn)
        if not chain.waiting and chains.get(key) is chain:
            del chains[key]
