"""Mistakes in the real code that the search must find: each changes one rule, and names it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from tests.unit.aiopravega.ledger.model import planted_claims, planted_cuts
from tests.unit.aiopravega.ledger.model.claims import Claims, Task
from tests.unit.aiopravega.ledger.model.intervals import Intervals, Role
from tests.unit.aiopravega.ledger.model.machine import Clock
from tests.unit.aiopravega.ledger.model.retention import check_all
from tests.unit.aiopravega.ledger.model.retries import Retries
from tests.unit.aiopravega.ledger.model.search import Scenario, search
from tests.unit.aiopravega.ledger.model.writes import Writes

from aiopravega.control import TransactionState
from aiopravega.errors import TableConflictError, WriteSupersededError
from aiopravega.ledger import CommitRecord, CommitState, StoredCommit, WriteJob
from aiopravega.ledger.commits import cleanup, protocol, recovery, same_rows, verdict
from aiopravega.ledger.commits.ledger import CommitLedger
from aiopravega.ledger.commits.protocol import CommitProtocol
from aiopravega.ledger.commits.record import record_key
from aiopravega.ledger.commits.recovery import Inspection, Standing
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.tables import KeyValueTable


class Planted(NamedTuple):
    """A mistake, the smallest scenario that shows it, and what it does."""

    words: str
    plant: Callable[[pytest.MonkeyPatch], None]
    scenario: Scenario | Callable[[], object]
    found: str

    def look(self) -> None:
        """Search for it.

        Raises:
            AssertionError: it is found.
        """
        if isinstance(self.scenario, Scenario):
            search(self.scenario)
        else:
            self.scenario()


# --- exactly-once writes ----------------------------------------------------------------------------------------


def _puts_without_a_condition(patch: pytest.MonkeyPatch) -> None:
    async def prepare(self: CommitLedger, record: CommitRecord, _: StoredCommit | None = None) -> StoredCommit:
        version = await self._table.put(record_key(record.sink, record.write_id), record.to_json())
        return StoredCommit(record, version)

    patch.setattr(CommitLedger, "prepare", prepare)


def _takes_a_conflict_for_its_own_success(patch: pytest.MonkeyPatch) -> None:
    real = KeyValueTable._update

    async def update(self: KeyValueTable, key: bytes, value: bytes, version: int) -> int:
        try:
            return await real(self, key, value, version)
        except TableConflictError:
            return version + 1

    patch.setattr(KeyValueTable, "_update", update)


def _does_not_compare_incarnations(patch: pytest.MonkeyPatch) -> None:
    real = CommitProtocol.begin

    async def begin(self: CommitProtocol, sink: Any, write_id: str, attempt: Any, generation: int) -> Any:
        found = await self._ledger.lookup(sink, write_id)
        if found is not None and found.record.state is CommitState.DONE:
            return WriteJob(sink, write_id, attempt, found.record.incarnation, done=found.record)
        return await real(self, sink, write_id, attempt, generation)

    patch.setattr(CommitProtocol, "begin", begin)


def _takes_a_partial_write_for_a_lost_one(patch: pytest.MonkeyPatch) -> None:
    """It aborts what is left and writes everything again."""
    real = CommitProtocol._lost

    async def lost(self: CommitProtocol, record: CommitRecord, transactions: TransactionSet) -> frozenset[int]:
        found = await real(self, record, transactions)
        return frozenset(part.partition for part in record.partitions) if found else found

    patch.setattr(CommitProtocol, "_lost", lost)


def _leaves_the_rest_of_a_lost_write_open(patch: pytest.MonkeyPatch) -> None:
    """A driver that wakes up late can still commit it."""

    async def lost(_: CommitProtocol, __: CommitRecord, transactions: TransactionSet) -> frozenset[int]:
        states = await transactions.states()
        if verdict.judge(states.values()) is verdict.Verdict.LOST:
            return frozenset(states)
        return verdict.lost(states)

    patch.setattr(CommitProtocol, "_lost", lost)


def _leaves_the_rest_of_a_part_uncommitted(patch: pytest.MonkeyPatch) -> None:
    """As the protocol did until the search found this."""
    real = CommitProtocol._finish_other

    async def finish_other(self: CommitProtocol, stored: StoredCommit) -> Any:
        transactions = TransactionSet.of(self._controller, stored.record.sink, stored.record.partitions)
        if verdict.judge((await transactions.states()).values()) is verdict.Verdict.LOST:
            missing = await self._lost(stored.record, transactions)
            if missing:
                return protocol._Outcome(lost=missing)
        return await real(self, stored)

    patch.setattr(CommitProtocol, "_finish_other", finish_other)


def _is_done_before_it_commits(patch: pytest.MonkeyPatch) -> None:
    real = CommitProtocol._commit_all

    async def commit_all(self: CommitProtocol, stored: StoredCommit, transactions: TransactionSet) -> Any:
        finished = await self._ledger.finish(stored)
        return await real(self, finished, transactions)

    patch.setattr(CommitProtocol, "_commit_all", commit_all)


def _takes_prepared_for_done(patch: pytest.MonkeyPatch) -> None:
    real = CommitLedger.lookup

    async def lookup(self: CommitLedger, sink: Any, write_id: str) -> StoredCommit | None:
        found = await real(self, sink, write_id)
        return None if found is None else StoredCommit(found.record.done(datetime.now(UTC)), found.version)

    patch.setattr(CommitLedger, "lookup", lookup)


def _writes_again_what_is_prepared(patch: pytest.MonkeyPatch) -> None:
    async def begin(self: CommitProtocol, sink: Any, write_id: str, attempt: Any, _: int) -> WriteJob:
        current = (await self._controller.first_segment(sink)).number
        found = await self._ledger.lookup(sink, write_id)
        job = WriteJob(sink, write_id, attempt, current, replaces=found)
        return job.when_done(found.record) if found is not None and found.record.state is CommitState.DONE else job

    patch.setattr(CommitProtocol, "begin", begin)


def _rebuilds_what_is_not_done(patch: pytest.MonkeyPatch) -> None:
    real = CommitProtocol.begin

    async def begin(self: CommitProtocol, sink: Any, write_id: str, attempt: Any, generation: int) -> Any:
        found = await self._ledger.lookup(sink, write_id)
        if found is not None and generation > found.record.generation:
            found = StoredCommit(found.record.done(datetime.now(UTC)), found.version)
            return WriteJob(sink, write_id, attempt, found.record.incarnation, replaces=found, generation=generation)
        return await real(self, sink, write_id, attempt, generation)

    patch.setattr(CommitProtocol, "begin", begin)


def _finishes_others_by_their_record_alone(patch: pytest.MonkeyPatch) -> None:
    async def finish_stored(_: object, finish: Any, stored: StoredCommit) -> Inspection:
        return Inspection(await finish.__self__._ledger.finish(stored), Standing.DONE, {})

    patch.setattr(recovery, "finish_stored", finish_stored)


def _completes_without_comparing_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(same_rows, "_partition_difference", lambda *_: None)


def _takes_what_nobody_knows_for_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdict, "_ABORTED", verdict._ABORTED | {TransactionState.UNKNOWN})

    def judge(states: Any) -> verdict.Verdict:
        found = set(states)
        if not found & verdict._ABORTED:
            return verdict.Verdict.WHOLE
        return verdict.Verdict.PARTIAL if found & verdict._COMMITTED else verdict.Verdict.LOST

    patch.setattr(protocol, "judge", judge)


def _replaces_what_it_does_not_read_again(patch: pytest.MonkeyPatch) -> None:
    """After a conflict it takes the version that is there now."""
    real = CommitLedger.prepare

    async def prepare(self: CommitLedger, record: CommitRecord, replaces: StoredCommit | None = None) -> StoredCommit:
        try:
            return await real(self, record, replaces)
        except WriteSupersededError:
            return await real(self, record, await self.lookup(record.sink, record.write_id))

    patch.setattr(CommitLedger, "prepare", prepare)


def _expires_by_the_machines_clock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cleanup, "certain_time", lambda _: Clock.now(UTC))


def _expires_by_the_stores_clock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cleanup, "certain_time", lambda witnessed_at: witnessed_at)


_TWO = Writes("two drivers", rows=2, faults=0)
_TWO_AND_A_FAULT = Writes("two drivers, a fault", rows=2, faults=1)
_TAKES_OVER = Intervals(
    "an interval is taken over while its run wakes up", (("mon", Role.FINISH), ("tue", Role.TAKE_OVER)), ("mon",), 0
)
_MON = Task("A", "mon")
_ALONE = Claims("a run into two sinks", (_MON,), faults=0)
_CHAIN = Intervals("two runs of a chain", (("mon", Role.CONTINUE), ("tue", Role.CONTINUE)), faults=0)

PLANTED = [
    Planted("the record is put without a condition", _puts_without_a_condition, _TWO, "doubled"),
    Planted("a conflict counts as one's own success", _takes_a_conflict_for_its_own_success, _TWO, "doubled"),
    Planted(
        "incarnations are not compared",
        _does_not_compare_incarnations,
        Writes("the stream is made again", drivers=1, rows=1, faults=1, again=True),
        "recovered",
    ),
    Planted("a part counts as nothing", _takes_a_partial_write_for_a_lost_one, _TWO_AND_A_FAULT, "doubled"),
    Planted("done is put before the commits", _is_done_before_it_commits, _TWO, "recovered"),
    Planted("prepared counts as done", _takes_prepared_for_done, _TWO, "recovered"),
    Planted("what is prepared is written again", _writes_again_what_is_prepared, _TWO, "doubled"),
    Planted(
        "a generation is followed before it is done",
        _rebuilds_what_is_not_done,
        Writes("a driver and a rebuild", rows=1, faults=0, rebuild=True),
        "recovered|afterwards",
    ),
    Planted(
        "a write that another one finishes is put as done only",
        _finishes_others_by_their_record_alone,
        Writes("another write finishes a decided one", drivers=1, rows=1, faults=0, other=True),
        "recovered",
    ),
    Planted(
        "a part is completed by other rows",
        _completes_without_comparing_rows,
        Writes("other rows", rows=2, faults=1, dealt=True),
        "doubled",
    ),
    Planted(
        "what the controller forgot counts as lost",
        _takes_what_nobody_knows_for_lost,
        Writes("forgotten", drivers=1, rows=1, faults=1, forgets=True),
        "doubled",
    ),
    Planted("after a conflict the new version is replaced", _replaces_what_it_does_not_read_again, _TWO, "doubled"),
    Planted("a record expires by the machine's clock", _expires_by_the_machines_clock, check_all, "before its time"),
    Planted("a record expires by the store's clock", _expires_by_the_stores_clock, check_all, "before its time"),
    Planted("ranges are put without a condition", planted_cuts.records_a_range_without_a_condition, _CHAIN, "doubled"),
    Planted(
        "a claim that met another one is not read again",
        planted_cuts.claims_without_reading_again,
        Intervals("two claims", (("mon", Role.CLAIM), ("mon", Role.CLAIM)), faults=0),
        "mon cannot be completed",
    ),
    Planted(
        "a range that was given back can be done",
        planted_cuts.finishes_whatever_has_become_of_the_range,
        _TAKES_OVER,
        "doubled",
    ),
    Planted(
        "an interval is done after the first of two outputs",
        planted_claims.is_done_after_its_first_output,
        _ALONE,
        "in two: event 0 is lost",
    ),
    Planted(
        "sinks are not asked before a take-over",
        planted_claims.takes_over_without_asking_sinks,
        _ALONE,
        "in one: event 0 is doubled",
    ),
    Planted(
        "sinks are asked and stay open",
        planted_claims.asks_sinks_and_leaves_them_open,
        Claims("the next run takes over", (_MON, Task("B", "tue")), ("one",), taken=1),
        "event 0 is doubled",
    ),
    Planted(
        "a further try accepts what it finds",
        planted_claims.accepts_what_a_further_try_finds,
        Retries("a run after an older one", older=True),
        "lost",
    ),
    Planted(
        "two claimants of one date have one interval",
        planted_claims.gives_two_claimants_of_a_date_one_interval,
        Claims(
            "two jobs of one consumer and one date",
            (Task("A", "mon", "first", shares=True), Task("B", "mon", "second", shares=True)),
            ("one",),
            faults=0,
        ),
        "doubled",
    ),
]
# What takes longer to find.
PLANTED_DEEP = [
    Planted(
        "the rest of a lost write stays open",
        _leaves_the_rest_of_a_lost_write_open,
        Writes("a decided write, a fault", rows=2, faults=1, decided=True),
        "doubled",
    ),
    Planted(
        "the rest of a part is not committed",
        _leaves_the_rest_of_a_part_uncommitted,
        Writes("a decided write of three tasks, a fault", rows=3, faults=1, decided=True, in_turn=True),
        "says that it is done",
    ),
    Planted(
        "a range is given back in two steps",
        planted_cuts.gives_back_in_two_steps,
        Intervals(
            "taken over while another run continues",
            (("tue", Role.TAKE_OVER), ("wed", Role.CONTINUE)),
            ("mon",),
            faults=0,
            chosen=True,
        ),
        "lost at 0",
    ),
    Planted(
        "a range is taken over from a try that was not judged",
        planted_claims.takes_over_from_a_try_that_it_has_not_judged,
        Claims("a run is run again", (_MON._replace(again=True), Task("B", "tue")), ("one",), faults=0, died=(_MON,)),
        "doubled",
    ),
]
