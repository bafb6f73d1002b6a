"""Mistakes in the real code of exactly-once writes that the search must find; see `planted`."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.aiopravega.ledger.model.machine import Clock

from aiopravega.control import TransactionState
from aiopravega.errors import TableConflictError, WriteSupersededError
from aiopravega.ledger import CommitRecord, CommitState, StoredCommit, WriteJob
from aiopravega.ledger.commits import cleanup, completion, recovery, same_rows, verdict
from aiopravega.ledger.commits.completion import Completion
from aiopravega.ledger.commits.keys import record_key
from aiopravega.ledger.commits.ledger import CommitLedger
from aiopravega.ledger.commits.protocol import CommitProtocol
from aiopravega.ledger.commits.recovery import Inspection, Standing
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.tables import KeyValueTable


def puts_without_a_condition(patch: pytest.MonkeyPatch) -> None:
    async def prepare(self: CommitLedger, record: CommitRecord, _: StoredCommit | None = None) -> StoredCommit:
        version = await self._table.put(record_key(record.sink, record.write_id), record.to_json())
        return StoredCommit(record, version)

    patch.setattr(CommitLedger, "prepare", prepare)


def takes_a_conflict_for_its_own_success(patch: pytest.MonkeyPatch) -> None:
    real = KeyValueTable._update

    async def update(self: KeyValueTable, key: bytes, value: bytes, version: int) -> int:
        try:
            return await real(self, key, value, version)
        except TableConflictError:
            return version + 1

    patch.setattr(KeyValueTable, "_update", update)


def does_not_compare_incarnations(patch: pytest.MonkeyPatch) -> None:
    real = CommitProtocol.begin

    async def begin(self: CommitProtocol, sink: Any, write_id: str, attempt: Any, generation: int) -> Any:
        found = await self._ledger.lookup(sink, write_id)
        if found is not None and found.record.state is CommitState.DONE:
            return WriteJob(sink, write_id, attempt, found.record.incarnation, done=found.record)
        return await real(self, sink, write_id, attempt, generation)

    patch.setattr(CommitProtocol, "begin", begin)


def takes_a_partial_write_for_a_lost_one(patch: pytest.MonkeyPatch) -> None:
    """It aborts what is left and writes everything again."""
    real = Completion._lost

    async def lost(self: Completion, record: CommitRecord, transactions: TransactionSet) -> frozenset[int]:
        found = await real(self, record, transactions)
        return frozenset(part.partition for part in record.partitions) if found else found

    patch.setattr(Completion, "_lost", lost)


def leaves_the_rest_of_a_lost_write_open(patch: pytest.MonkeyPatch) -> None:
    """A driver that wakes up late can still commit it."""

    async def lost(_: Completion, __: CommitRecord, transactions: TransactionSet) -> frozenset[int]:
        states = await transactions.states()
        if verdict.judge(states.values()) is verdict.Verdict.LOST:
            return frozenset(states)
        return verdict.lost(states)

    patch.setattr(Completion, "_lost", lost)


def leaves_the_rest_of_a_part_uncommitted(patch: pytest.MonkeyPatch) -> None:
    """As the protocol did until the search found this."""
    real = Completion.complete

    async def complete(self: Completion, stored: StoredCommit) -> Any:
        transactions = TransactionSet.of(self._controller, stored.record.sink, stored.record.partitions)
        if verdict.judge((await transactions.states()).values()) is verdict.Verdict.LOST:
            missing = await self._lost(stored.record, transactions)
            if missing:
                return completion.Outcome(lost=missing)
        return await real(self, stored)

    patch.setattr(Completion, "complete", complete)


def is_done_before_it_commits(patch: pytest.MonkeyPatch) -> None:
    real = Completion.commit

    async def commit(self: Completion, stored: StoredCommit, transactions: TransactionSet) -> Any:
        finished = await self._ledger.finish(stored)
        return await real(self, finished, transactions)

    patch.setattr(Completion, "commit", commit)


def takes_prepared_for_done(patch: pytest.MonkeyPatch) -> None:
    real = CommitLedger.lookup

    async def lookup(self: CommitLedger, sink: Any, write_id: str) -> StoredCommit | None:
        found = await real(self, sink, write_id)
        return None if found is None else StoredCommit(found.record.done(datetime.now(UTC)), found.version)

    patch.setattr(CommitLedger, "lookup", lookup)


def writes_again_what_is_prepared(patch: pytest.MonkeyPatch) -> None:
    async def begin(self: CommitProtocol, sink: Any, write_id: str, attempt: Any, _: int) -> WriteJob:
        current = (await self._controller.first_segment(sink)).number
        found = await self._ledger.lookup(sink, write_id)
        job = WriteJob(sink, write_id, attempt, current, replaces=found)
        return job.when_done(found.record) if found is not None and found.record.state is CommitState.DONE else job

    patch.setattr(CommitProtocol, "begin", begin)


def rebuilds_what_is_not_done(patch: pytest.MonkeyPatch) -> None:
    real = CommitProtocol.begin

    async def begin(self: CommitProtocol, sink: Any, write_id: str, attempt: Any, generation: int) -> Any:
        found = await self._ledger.lookup(sink, write_id)
        if found is not None and generation > found.record.generation:
            found = StoredCommit(found.record.done(datetime.now(UTC)), found.version)
            return WriteJob(sink, write_id, attempt, found.record.incarnation, replaces=found, generation=generation)
        return await real(self, sink, write_id, attempt, generation)

    patch.setattr(CommitProtocol, "begin", begin)


def finishes_others_by_their_record_alone(patch: pytest.MonkeyPatch) -> None:
    async def finish_stored(_: object, finish: Any, stored: StoredCommit) -> Inspection:
        return Inspection(await finish.__self__._ledger.finish(stored), Standing.DONE, {})

    patch.setattr(recovery, "finish_stored", finish_stored)


def completes_without_comparing_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(same_rows, "_partition_difference", lambda *_: None)


def takes_what_nobody_knows_for_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdict, "_ABORTED", verdict._ABORTED | {TransactionState.UNKNOWN})

    def judge(states: Any) -> verdict.Verdict:
        found = set(states)
        if not found & verdict._ABORTED:
            return verdict.Verdict.WHOLE
        return verdict.Verdict.PARTIAL if found & verdict._COMMITTED else verdict.Verdict.LOST

    patch.setattr(completion, "judge", judge)


def replaces_what_it_does_not_read_again(patch: pytest.MonkeyPatch) -> None:
    """After a conflict it takes the version that is there now."""
    real = CommitLedger.prepare

    async def prepare(self: CommitLedger, record: CommitRecord, replaces: StoredCommit | None = None) -> StoredCommit:
        try:
            return await real(self, record, replaces)
        except WriteSupersededError:
            return await real(self, record, await self.lookup(record.sink, record.write_id))

    patch.setattr(CommitLedger, "prepare", prepare)


def does_not_mark_the_second_stream(patch: pytest.MonkeyPatch) -> None:
    """So that a write to that stream alone, under the same write id, finds nothing there."""

    async def join(_: CommitLedger, __: CommitRecord, ___: StoredCommit | None) -> None:
        return None

    patch.setattr(CommitLedger, "join", join)


def marks_the_second_stream_after_the_decision(patch: pytest.MonkeyPatch) -> None:
    real, late = CommitLedger.join, list[Any]()

    async def join(_: CommitLedger, part: CommitRecord, replaces: StoredCommit | None) -> None:
        late.append((part, replaces))

    real_prepare = CommitLedger.prepare

    async def prepare(self: CommitLedger, record: CommitRecord, replaces: StoredCommit | None = None) -> StoredCommit:
        stored = await real_prepare(self, record, replaces)
        for part in late:
            await real(self, *part)
        late.clear()
        return stored

    patch.setattr(CommitLedger, "join", join)
    patch.setattr(CommitLedger, "prepare", prepare)


def commits_the_first_stream_only(patch: pytest.MonkeyPatch) -> None:
    """A process that completes what another one has decided takes the others for those of their own writers."""
    real = completion.remaining

    async def remaining(controller: Any, record: CommitRecord) -> Any:
        return tuple(part for part in await real(controller, record) if part.stream is None)

    patch.setattr(completion, "remaining", remaining)


def replaces_what_another_write_has_put(patch: pytest.MonkeyPatch) -> None:
    """A write into two streams takes the second one, whatever is known of it."""

    async def join(self: CommitLedger, part: CommitRecord, _: StoredCommit | None) -> None:
        await self.put(part, await self.lookup(part.sink, part.write_id))

    patch.setattr(CommitLedger, "join", join)


def expires_by_the_machines_clock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cleanup, "certain_time", lambda _: Clock.now(UTC))


def expires_by_the_stores_clock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cleanup, "certain_time", lambda witnessed_at: witnessed_at)


def takes_done_for_landed(patch: pytest.MonkeyPatch) -> None:
    """The completion of the streams says that the tables have their rows."""
    real = CommitRecord.done
    patch.setattr(CommitRecord, "done", lambda self, at, *ends: real(self, at, *ends).landed(at))


def forgets_the_tables_of_a_write(patch: pytest.MonkeyPatch) -> None:
    """The record does not name the tables, so that it is not known that they wait."""
    patch.setattr(WriteJob, "with_tables", lambda self, _: self)
