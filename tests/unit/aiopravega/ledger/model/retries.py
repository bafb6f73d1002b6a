"""Tries of a run that writes a partition, which an older run may have written with other rows, as a search sees them.

A try asks for the write and compares or writes by the real rule of the hosts, `write_unless_done`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.unit.aiopravega.ledger.model.machine import INSTANT, NOTES, Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Scenario
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.writes import attempt_of

from aiopravega import StreamName
from aiopravega.errors import PravegaTimeoutError, WriteIdReusedError
from aiopravega.ledger import CommitRecord, check_same
from aiopravega.ledger.commits.keys import KEY_LENGTH
from pravega_jobs.events.writes import EventTally
from pravega_jobs.writes import finished_write, write_unless_done

_SINK: Final = StreamName("examples", "delays")
_PARTITION: Final = "2013-01-01"
_LEASE_MS: Final = 60_000
_INSTANT: Final = INSTANT | NOTES | {"pingTransaction", "checkTransactionState"}


@dataclass
class Retries(Scenario):
    """A run of two tries, of which the second begins when the first one has died, at any message.

    `older`: another run has written the partition before, with other rows.
    """

    name: str
    older: bool
    faults: int = 1

    def server(self) -> Server:
        server = Server(tables={"commit-ledger": KEY_LENGTH})
        if self.older:
            assert run_to_end(server, self._process(server, "older", 1)) == "done"
        return server

    def start(self, server: Server) -> list[Process]:
        return [self._process(server, "newer", 1)]

    def _process(self, server: Server, run: str, number: int) -> Process:
        return Process(f"try {number} of {run}", server, partial(_try, run=run, number=number), instant=_INSTANT)

    # --- what must be true --------------------------------------------------------------------------------------

    def check(self, server: Server, processes: list[Process]) -> None:
        """A run that has succeeded has its own rows in the stream, once; another one has been refused by name."""
        assert all(times == 1 for times in Counter(server.visible).values()), f"doubled: {server.visible}"
        for process in processes:
            if process.ended:
                self._check_result(server, process.name, process.result)

    def _check_result(self, server: Server, name: str, result: object) -> None:
        if result == "done":
            run = name.split(" of ")[1]
            assert _row(run) in server.visible, f"lost: {name} has succeeded, and there is {server.visible}"
        elif not isinstance(result, PravegaTimeoutError):
            assert isinstance(result, WriteIdReusedError), f"{name} has ended with {result!r}"
            assert self.older, f"{name} is refused: {result}"
            assert _PARTITION in str(result), f"{name} is refused, and not by name: {result}"

    def recover(self, server: Server, late: list[Question]) -> None:
        """The first try is dead: the second one does the rest, or is refused because of the older rows."""
        for _ in range(2):
            again = self._process(server, "newer", 2)
            self._check_result(server, again.name, run_to_end(server, again))
            for question in late:
                question.ask(server, False)
            self.check(server, [])


def _row(run: str) -> str:
    return f"row of the {run} run"


class Claimant(str):
    """A text that also knows, for mistakes that are planted, the number of the try; that is not part of it."""

    __slots__ = ("number",)
    number: int


async def _try(process: Process, run: str, number: int) -> str:
    tally = EventTally()
    tally.add([(_row(run).encode(), None)])
    claimant = Claimant(f"run {run}")
    claimant.number = number

    async def find() -> CommitRecord | None:
        return await finished_write(process.client, _SINK, _PARTITION)

    async def write() -> None:
        protocol = process.client.commit_ledger(_SINK.scope).protocol(visible_within=None, claimant=claimant)
        job = await protocol.begin(_SINK, _PARTITION, attempt_of(process.name))
        if job.done is not None:
            check_same(job.done, tally.rows)
            return
        txn, _ = await process.controller.create_transaction(_SINK, _LEASE_MS)
        process.server.write(txn, _row(run))
        await protocol.commit(job, [tally.part(txn)])

    await _blocking(
        lambda wait: write_unless_done(_SINK, _PARTITION, lambda: wait(find), lambda: wait(write), claimant=claimant)
    )
    return "done"


class _AskedError(Exception):
    """What blocking code asks for."""

    def __init__(self, ask: Callable[[], Awaitable[Any]]) -> None:
        super().__init__()
        self.ask = ask


async def _blocking(work: Callable[[Callable[[Callable[[], Awaitable[Any]]], Any]], Any]) -> Any:
    """Run blocking code in a loop: it is begun again for each answer, and hears the same as before until there."""
    answers: list[Any] = []

    while True:
        heard: Iterator[Any] = iter(answers)

        def wait(ask: Callable[[], Awaitable[Any]], heard: Iterator[Any] = heard) -> Any:
            for answer in heard:
                return answer
            raise _AskedError(ask)

        try:
            return work(wait)
        except _AskedError as asked:
            answers.append(await asked.ask())
