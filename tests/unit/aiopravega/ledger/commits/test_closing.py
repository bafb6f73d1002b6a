"""A write whose range was taken over is closed: no attempt decides it, until its task begins again."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.aiopravega.ledger.model.clocks import set_clocks
from tests.unit.aiopravega.ledger.model.machine import Process
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.sinks import SECOND
from tests.unit.aiopravega.ledger.model.writes import SINK, attempt_of, hash_of

from aiopravega.errors import GenerationError, PartialCommitError, WriteClosedError, WriteSupersededError
from aiopravega.ledger import CommitLedger, CommitProtocol, CommitRecord, CommitState, PartitionCommit, WriteJob
from aiopravega.ledger.commits.closing import close_write, reopen_write
from aiopravega.ledger.commits.keys import KEY_LENGTH
from aiopravega.ledger.commits.recovery import Standing, inspect
from aiopravega.ledger.commits.write_job import part_records
from aiopravega.names import StreamName

DAILY = "daily"


@pytest.fixture(autouse=True)
def _clocks(monkeypatch: pytest.MonkeyPatch):
    set_clocks(monkeypatch)


class Writer:
    """A process with a commit ledger."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.ledger: CommitLedger = process.client.commit_ledger(SINK.scope)
        self.protocol: CommitProtocol = self.ledger.protocol(visible_within=None)

    async def begin(self, attempt: str, generation: int = 1) -> WriteJob:
        return await self.protocol.begin(SINK, DAILY, attempt_of(attempt), generation)

    async def part(self, partition: int = 0) -> PartitionCommit:
        txn, _ = await self.process.controller.create_transaction(SINK, 60_000)
        row = f"row {partition}"
        self.process.server.write(txn, row)
        return PartitionCommit(partition=partition, txn_id=txn, events=1, bytes=9, checksum=row, hashes=hash_of(row))

    async def close(self, generation: int = 1) -> CommitRecord | None:
        return await close_write(self.protocol, self.ledger, SINK, DAILY, generation)

    async def reopen(self) -> None:
        await reopen_write(self.ledger, SINK, DAILY)


def run(work: Callable[[Writer], Awaitable[Any]]) -> Server:
    server = Server(tables={"commit-ledger": KEY_LENGTH})

    async def main(process: Process) -> None:
        await work(Writer(process))

    found = run_to_end(server, Process("the only one", server, main))
    if isinstance(found, Exception):
        raise found
    return server


def test_attempts_from_before_and_after_the_closing_are_refused():
    async def work(writer: Writer) -> None:
        begun = await writer.begin("first")
        part = await writer.part()
        assert await writer.close() is None
        assert await writer.close() is None
        with pytest.raises(WriteSupersededError):
            await writer.protocol.commit(begun, [part])
        with pytest.raises(WriteClosedError, match="has taken over the range"):
            await writer.begin("second")

    assert run(work).visible == ()


def test_a_reopened_write_is_done_by_an_attempt_that_begins_then():
    async def work(writer: Writer) -> None:
        begun = await writer.begin("first")
        part = await writer.part()
        await writer.close()
        await writer.reopen()
        await writer.reopen()
        again = await writer.begin("second")
        await writer.protocol.commit(again, [await writer.part()])
        with pytest.raises(WriteSupersededError):
            await writer.protocol.commit(begun, [part])
        await writer.reopen()
        assert (await writer.begin("third")).done is not None

    assert run(work).visible == ("row 0",)


def test_a_write_that_is_decided_is_finished_instead_of_closed():
    async def work(writer: Writer) -> None:
        job = await writer.begin("first")
        done = await writer.protocol.commit(job, [await writer.part()])
        found = await writer.close()
        assert found is not None
        assert found.attempt == done.attempt

    assert run(work).visible == ("row 0",)


def test_a_write_that_is_visible_in_part_is_not_closed():
    async def work(writer: Writer) -> None:
        job = await writer.begin("first")
        parts = (await writer.part(0), await writer.part(1))
        record = CommitRecord(
            state=CommitState.PREPARED,
            sink=SINK,
            incarnation=job.incarnation,
            write_id=DAILY,
            attempt=job.attempt,
            partitions=parts,
            prepared_at=datetime.now(UTC),
        )
        await writer.ledger.prepare(record)
        await writer.process.controller.commit_transaction(SINK, parts[0].txn_id)
        writer.process.server.end_lease(parts[1].txn_id)
        with pytest.raises(PartialCommitError, match="Run its task again"):
            await writer.close()

    assert run(work).visible == ("row 0",)


def test_a_later_generation_is_closed_and_the_first_stays_done():
    async def work(writer: Writer) -> None:
        await writer.protocol.commit(await writer.begin("first"), [await writer.part()])
        assert await writer.close(generation=2) is None
        assert (await writer.begin("again")).done is not None
        with pytest.raises(WriteClosedError):
            await writer.begin("second", generation=2)
        await writer.reopen()
        with pytest.raises(GenerationError):
            await writer.begin("third", generation=3)
        record = await writer.protocol.commit(await writer.begin("second", generation=2), [await writer.part(1)])
        assert record.generation == 2

    assert run(work).visible == ("row 0", "row 1")


def test_a_closed_write_needs_nobody():
    async def work(writer: Writer) -> None:
        await writer.close()
        stored = await writer.ledger.lookup(SINK, DAILY)
        assert stored is not None
        found = await inspect(writer.process.controller, stored)
        assert found.standing is Standing.CLOSED

    run(work)


async def _begin_both(writer: Writer, attempt: str) -> WriteJob:
    return await writer.protocol.begin(SINK, DAILY, attempt_of(attempt), others=[SECOND])


async def _close(writer: Writer, stream: StreamName) -> CommitRecord | None:
    return await close_write(writer.protocol, writer.ledger, stream, DAILY)


@pytest.mark.parametrize("closed", [SINK, SECOND])
def test_a_write_into_two_streams_is_closed_at_either(closed: StreamName) -> None:
    async def work(writer: Writer) -> None:
        job = await _begin_both(writer, "asleep")
        for part in part_records(job):
            await writer.ledger.join(*part)

        assert await _close(writer, closed) is None

        with pytest.raises(WriteSupersededError):
            await writer.protocol.commit(job, [await writer.part()])
        with pytest.raises(WriteClosedError):
            await _begin_both(writer, "again")
        await reopen_write(writer.ledger, closed, DAILY)
        done = await writer.protocol.commit(await _begin_both(writer, "opened"), [await writer.part()])
        assert [await _close(writer, stream) for stream in (SINK, SECOND)] == [done, done]

    run(work)


def test_a_part_whose_first_stream_was_written_alone_since_is_closed() -> None:
    async def work(writer: Writer) -> None:
        job = await writer.begin("alone")
        for part in part_records(await _begin_both(writer, "asleep")):
            await writer.ledger.join(*part)
        await writer.protocol.commit(job, [await writer.part()])

        assert await _close(writer, SECOND) is None

        closed = await writer.ledger.lookup(SECOND, DAILY)
        assert closed is not None
        assert (closed.record.state, closed.record.main) == (CommitState.CLOSED, None)
        with pytest.raises(WriteClosedError):
            await _begin_both(writer, "again")

    run(work)
