"""Drivers that run the same write into two streams at the same time, as a search sees them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.unit.aiopravega.ledger.model.machine import Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Event
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.writes import SINK, Result, Writes, attempt_of, hash_of, rows_of_table

from aiopravega import StreamName
from aiopravega.errors import PartialCommitError, PravegaError, SinksError, WriteSupersededError
from aiopravega.ledger import CommitRecord, PartitionCommit, TableSink
from aiopravega.ledger.commits.keys import is_record

SECOND: Final = StreamName("examples", "weather")
TABLE: Final = TableSink(target="delta:/lake/delays", consumer="lake", interval="daily")
_LEASE_MS: Final = 60_000
_ALONE: Final = "row of a write to the second stream alone"


@dataclass
class Sinks(Writes):
    """A write into two streams: each even row is for the first one, each odd one for the second.

    `alone`: one more driver writes to the second stream alone, under the same write id. `remade`: the second stream may
    be deleted and made again.
    """

    others: tuple[tuple[StreamName, ...], ...] = ((SECOND,),)
    finished: StreamName = SECOND
    alone: bool = False
    remade: bool = False

    def stream_of(self, partition: int) -> StreamName | None:
        return SECOND if partition % 2 else None

    @property
    def alike(self) -> bool:
        return super().alike and not self.alone

    @property
    def changes_ended(self) -> bool:  # type: ignore[override]  # it is never set
        return super().changes_ended or self.remade

    def start(self, server: Server) -> list[Process]:
        more = [Process("alone", server, self._write_alone)] if self.alone else []
        return [*super().start(server), *more]

    def events(self, server: Server) -> Iterator[Event]:
        yield from super().events(server)
        if self.remade:
            made_again = partial(Server.make_again, stream=SECOND.stream)
            yield Event("the second stream is made again", made_again, tuple(server.transactions))

    async def _write_alone(self, process: Process) -> Result:
        protocol = process.client.commit_ledger(SINK.scope).protocol(visible_within=None)
        job = await protocol.begin(SECOND, "daily", attempt_of(process.name))
        if job.done is None:
            txn, _ = await process.controller.create_transaction(SECOND, _LEASE_MS)
            process.server.write(txn, _ALONE)
            part = PartitionCommit(partition=0, txn_id=txn, events=1, bytes=9, checksum="alone", hashes=hash_of(_ALONE))
            await protocol.commit(job, [part])
        return "alone", job.incarnation, 0

    # --- what must be true --------------------------------------------------------------------------------------

    def check(self, server: Server, processes: list[Process]) -> None:
        super().check(server, [process for process in processes if process.name != "alone"])
        if self.tables:
            self._check_tables(server)
        if _ALONE in server.visible:
            assert len(server.visible) == 1, f"doubled, by a write to one of the streams: {server.visible}"

    def _check_tables(self, server: Server) -> None:
        """Check that the table has rows of a decided write only, and that no record says it while it does not."""
        records = [CommitRecord.from_json(value) for (_, key), (value, _) in server.entries.items() if is_record(key)]
        for record in (one for each in records for one in each.generations):
            rows = rows_of_table(record.generation)
            if record.tables and not record.waiting_tables:
                assert rows in server.landed, f"the record says that the table has its rows: {server.landed}"
            if rows in server.landed and record.tables and not self.changes_ended:
                super()._check_whole(server, record.generation, "the table has its rows")

    def _check_whole(self, server: Server, generation: int, why: str) -> None:
        if server.again:  # what was in the second stream is gone with it
            rows = {row for row in server.visible if row.startswith("row 0")}
            assert len(rows) == generation, f"{why}: {server.visible}"
            return
        super()._check_whole(server, generation, why)
        if self.tables:
            assert rows_of_table(generation) in server.landed, f"{why}: the table lacks its rows"

    def recover(self, server: Server, late: list[Question]) -> None:
        if not (self.alone or server.again):
            super().recover(server, late)
            return
        found: Any = run_to_end(server, self.driver(server, "recovery", 0))
        self.check(server, [])
        if isinstance(found, tuple):
            self._check_whole(server, 1, "recovered")
        else:
            assert isinstance(found, SinksError | PartialCommitError | WriteSupersededError), f"{found!r}"
        if self.alone:
            second: Any = run_to_end(server, Process("alone again", server, self._write_alone))
            assert isinstance(second, PravegaError) == isinstance(found, tuple), f"{found!r}, but alone: {second!r}"
        for question in late:
            question.ask(server, False)
        self.check(server, [])
