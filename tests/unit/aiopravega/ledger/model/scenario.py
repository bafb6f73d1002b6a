"""The scenarios that a search goes through: each says who does what, what may go wrong, and what must be true."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple
from uuid import UUID

from tests.unit.aiopravega.ledger.model.machine import Process, Question
from tests.unit.aiopravega.ledger.model.server import Server


class Event(NamedTuple):
    """Something that happens by itself, with the transactions that end with it, and the process that dies."""

    name: str
    happen: Callable[[Server], object]
    ends: Collection[UUID] = ()
    kills: str | None = None


class Scenario:
    """Who does what at once, what may go wrong, and what must be true."""

    name: str
    faults: int
    in_turn: bool = False
    changes_ended: bool = False
    loses_messages: bool = True
    # What a process reads without a change between, it reads at once.
    reads_at_once: bool = False

    @property
    def alike(self) -> bool:
        """Whether the processes differ in their names only."""
        return False

    def server(self) -> Server:
        raise NotImplementedError

    def start(self, server: Server) -> list[Process]:
        raise NotImplementedError

    def begin(self, processes: dict[str, Process]) -> None:
        """Have happen what is to have happened when the search begins."""

    def events(self, server: Server) -> Iterator[Event]:
        """What can happen by itself; each is a fault."""
        yield from ()

    def check(self, server: Server, processes: list[Process]) -> None:
        """Check what must be true in each state."""

    def left_behind(self, server: Server) -> int:
        """A number for what the servers hold when all have died."""
        return server.key()

    def recover(self, server: Server, late: list[Question]) -> None:
        """Check that a process that starts after all have died completes the work; `late` messages may still arrive."""
