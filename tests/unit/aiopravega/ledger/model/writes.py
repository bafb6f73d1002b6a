"""Drivers that run the same exactly-once write at the same time, as a search sees them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from tests.unit.aiopravega.ledger.model.machine import INSTANT, Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Event, Scenario
from tests.unit.aiopravega.ledger.model.search import open_transactions, run_to_end
from tests.unit.aiopravega.ledger.model.server import Server

from aiopravega import StreamName
from aiopravega.errors import PartialCommitError, PravegaError, TransactionAbortedError
from aiopravega.ledger import CommitRecord, PartitionCommit, TableSink
from aiopravega.ledger.commits.keys import KEY_LENGTH

SINK: Final = StreamName("examples", "delays")
DONE: Final = "done"
_NAMES: Final = "ABCD"
_LEASE_MS: Final = 60_000
# A word, the incarnation of the stream, and the generation.
Result = tuple[str, int, int]


@dataclass
class Writes(Scenario):
    """`drivers` attempts of one write of `rows` rows, each row in a partition of its own, all at once.

    `decided`: the first one has put its record already, and has asked for commits that have not arrived.

    What may go wrong besides messages: `leases` run out; the stream is made `again`; the controller `forgets`
    transactions that have ended. `dealt`: each attempt deals the rows to partitions in another order.

    `rebuild`: the last driver writes the second generation, with rows of its own. `other`: one more driver, which is
    about to write something else, finishes first what others have left.
    """

    name: str = "writes"
    drivers: int = 2
    rows: int = 3
    faults: int = 1
    leases: bool = True
    again: bool = False
    forgets: bool = False
    dealt: bool = False
    waits: bool = False
    decided: bool = False
    in_turn: bool = False
    rebuild: bool = False
    other: bool = False

    # The tables that get rows when the write is done.
    tables: tuple[TableSink, ...] = ()
    # The further streams of the write, as `begin` takes them.
    others: tuple[tuple[StreamName, ...], ...] = ()
    # The stream of the other write that finishes what others have left.
    finished: StreamName = SINK

    def stream_of(self, partition: int) -> StreamName | None:
        """The stream of a partition; None: the first one."""
        return None

    @property
    def alike(self) -> bool:
        return not (self.dealt or self.decided or self.rebuild or self.other)

    @property
    def changes_ended(self) -> bool:  # type: ignore[override]  # it is never set
        return self.forgets or self.again

    def server(self) -> Server:
        return Server(tables={"commit-ledger": KEY_LENGTH})

    def start(self, server: Server) -> list[Process]:
        # When it reads what is pending makes the difference.
        others = [Process("other", server, self._finish, instant=INSTANT - {"ReadTableKeys"})] if self.other else []
        return [*(self.driver(server, _NAMES[number], number) for number in range(self.drivers)), *others]

    def driver(self, server: Server, name: str, number: int) -> Process:
        instant = INSTANT - {"getEpochSegments"} if self.again else INSTANT
        return Process(name, server, lambda process: self._write(process, number), instant=instant)

    def begin(self, processes: dict[str, Process]) -> None:
        first = processes[_NAMES[0]]
        while self.decided and not any(question.about == "commitTransaction" for question in first.questions.values()):
            question = first.first_question
            answer = question.ask(first.server, False)
            first.hear(question, answer, "before")

    def events(self, server: Server) -> Iterator[Event]:
        opened = open_transactions(server) if self.leases else []
        for number, txn in enumerate(opened):
            yield Event(f"lease {number} runs out", partial(_end_leases, txns=[txn]), (txn,))
        if len(opened) > 1:
            yield Event("all leases run out", partial(_end_leases, txns=opened), opened)
        if self.forgets and server.transactions:
            yield Event("the controller forgets", Server.forget_ended)
        if self.again:
            yield Event("the stream is made again", Server.make_stream_again, tuple(server.transactions))

    def _generation(self, number: int) -> int:
        return 2 if self.rebuild and number == self.drivers - 1 else 1

    async def _write(self, process: Process, number: int) -> Result:
        """What the driver of a job does, as Spark's batch writer does it."""
        generation = self._generation(number)
        ledger = process.client.commit_ledger(SINK.scope)
        protocol = ledger.protocol(visible_within=60.0 if self.waits else None)
        found = await protocol.begin(SINK, "daily", attempt_of(process.name), generation, *self.others)
        found = found.with_tables(self.tables)
        if found.done is not None:
            await self._land(process, found.done)
            return DONE, found.done.incarnation, generation
        parts = [await self._task(process, part, number) for part in range(self.rows) if found.needs(part)]
        try:
            record = await protocol.commit(found, parts)
        except PravegaError:
            await protocol.abandon(found, {part.txn_id: found.stream_of(part) for part in parts})
            raise
        await self._land(process, record)
        return DONE, record.incarnation, generation

    async def _land(self, process: Process, record: CommitRecord) -> None:
        """What a write into streams and tables does when it is done, as `write_streams` does it."""
        if record.waiting_tables:
            process.server.land(rows_of_table(record.generation))
            await process.client.commit_ledger(SINK.scope).landed(record)

    async def _finish(self, process: Process) -> Result:
        """What each writer to the stream does first."""
        protocol = process.client.commit_ledger(SINK.scope).protocol(visible_within=None)
        return f"finished {await protocol.finish_unfinished(self.finished)}", -1, 0

    async def _task(self, process: Process, partition: int, number: int) -> PartitionCommit:
        stream = self.stream_of(partition)
        txn, _ = await process.controller.create_transaction(stream or SINK, _LEASE_MS)
        row = _row((partition + number) % self.rows if self.dealt else partition, self._generation(number))
        process.server.write(txn, row)
        return PartitionCommit(
            partition=partition, txn_id=txn, events=1, bytes=9, checksum=row, hashes=hash_of(row), stream=stream
        )

    # --- what must be true --------------------------------------------------------------------------------------

    def check(self, server: Server, processes: list[Process]) -> None:
        doubled = [row for row, times in Counter(server.visible).items() if times > 1]
        assert not doubled, f"doubled: {doubled}"
        for process in processes:
            if process.ended and not isinstance(process.result, PravegaError):
                _, incarnation, generation = process.result
                if incarnation == server.first:
                    self._check_whole(server, generation, f"{process.name} says that it is done")

    def _check_whole(self, server: Server, generation: int, why: str) -> None:
        """Check that a generation and the one before it are there as wholes."""
        for written in range(1, generation + 1):
            wanted = {_row(number, written) for number in range(self.rows)}
            assert wanted <= set(server.visible), f"{why}: {server.visible}"

    def recover(self, server: Server, late: list[Question]) -> None:
        if not self._completes(server):
            assert self.forgets or self.dealt, "it cannot be completed"
            return
        for again in ("afterwards", "after late messages"):
            for number in self._one_of_each():
                found = run_to_end(server, self.driver(server, f"check {again} {number}", number))
                assert isinstance(found, tuple), f"done, but {again}: {found!r}"
                self._check_whole(server, self._generation(number), again)
            for question in late:
                question.ask(server, False)
            self.check(server, [])
            self._check_whole(server, 1, f"late messages {again}")

    def _one_of_each(self) -> list[int]:
        """A driver of each generation."""
        return [0, self.drivers - 1] if self.rebuild else [0]

    def _completes(self, server: Server) -> bool:
        """Start the write again until it is done, with the rows of either attempt; False: a person has to decide."""
        turns = [[number] for number in self._one_of_each()] if self.rebuild else [list(range(self.drivers))]
        return all(self._completes_by(server, turn) for turn in turns)

    def _completes_by(self, server: Server, drivers: list[int]) -> bool:
        for turn in range(2 * len(drivers) + 2):
            number = drivers[turn % len(drivers)]
            found: Any = run_to_end(server, self.driver(server, f"recovery {turn} by {number}", number))
            self.check(server, [])
            if isinstance(found, tuple):
                self._check_whole(server, self._generation(number), "recovered")
                return True
            assert isinstance(found, PartialCommitError | TransactionAbortedError), f"{found!r}"
        return False


def _row(number: int, generation: int) -> str:
    return f"row {number} of generation {generation}"


def rows_of_table(generation: int) -> str:
    return f"rows of generation {generation}"


def _end_leases(server: Server, txns: Iterable[UUID]) -> None:
    for txn in txns:
        server.end_lease(txn)


def attempt_of(name: str) -> UUID:
    return uuid5(NAMESPACE_URL, name)


def hash_of(row: str) -> int:
    return uuid5(NAMESPACE_URL, row).int & (2**64 - 1)
