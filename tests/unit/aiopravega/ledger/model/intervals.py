"""Runs of a consumer that take ranges from the same cut ledger at the same time, as a search sees them."""

from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Any, Final

from tests.unit.aiopravega.ledger.model.machine import INSTANT, Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Scenario
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import PravegaError, TableConflictError
from aiopravega.intervals.chain.next_start import next_start, waited_for
from aiopravega.intervals.chain.take_over import take_over
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from aiopravega.ledger.intervals.cut_record import KEY_LENGTH

STREAM: Final = StreamName("examples", "delays")
_SEGMENT: Final = SegmentId(STREAM, 0, 0)
_ARRIVES: Final = 10
_INSTANT: Final = INSTANT | {"getSegments", "getCurrentSegments", "GetStreamSegmentInfo"}


class Role(Enum):
    """What a run does about the interval before its own, if that is not done."""

    WAIT = auto()
    TAKE_OVER = auto()
    CONTINUE = auto()  # whatever that does
    FINISH = auto()  # none of this: it has its range since before all others began
    CLAIM = auto()  # a range outside of any chain, as intervals of event time have it


@dataclass
class Intervals(Scenario):
    """Runs at the same time, each of an interval, some maybe of the same.

    `taken` are open when they begin. `chosen`: the last run has read all and chosen its range, and not put it yet.
    """

    name: str
    runs: tuple[tuple[str, Role], ...]
    taken: tuple[str, ...] = ()
    faults: int = 1
    chosen: bool = False

    @property
    def alike(self) -> bool:
        return len(set(self.runs)) == 1 and not self.chosen

    def begin(self, processes: dict[str, Process]) -> None:
        last = list(processes.values())[-1]
        while self.chosen and last.first_question.about != "UpdateTableEntries":
            question = last.first_question
            last.hear(question, question.ask(last.server, False), "before")

    def server(self) -> Server:
        server = Server(tables={"cut-ledger": KEY_LENGTH})
        for number, interval in enumerate(self.taken):
            run_to_end(server, self._process(server, f"before {number}", interval, Role.CONTINUE, finishes=False))
        return server

    def start(self, server: Server) -> list[Process]:
        return [self._process(server, name, *run) for name, run in zip("ABCD", self.runs, strict=False)]

    def _process(self, server: Server, name: str, interval: str, role: Role, *, finishes: bool = True) -> Process:
        return Process(name, server, lambda process: _run(process, interval, role, finishes), instant=_INSTANT)

    # --- what must be true --------------------------------------------------------------------------------------

    def check(self, server: Server, processes: list[Process]) -> None:
        """What runs have done is in order without overlaps, and the same for all runs of an interval."""
        self._done(processes)

    def _done(self, processes: list[Process]) -> dict[str, tuple[int, int]]:
        done: dict[str, tuple[int, int]] = {}
        for process in processes:
            result = process.result if process.ended else None
            if isinstance(result, tuple):
                interval, *bounds = result
                assert done.setdefault(interval, tuple(bounds)) == tuple(bounds), f"{interval} is done in two ranges"
            assert result is None or isinstance(result, tuple | str | PravegaError), result
        if not any(role is Role.CLAIM for _, role in self.runs):
            for one, other in pairwise(sorted(done.values())):
                assert one[1] <= other[0], f"doubled: {done}"
        return done

    def recover(self, server: Server, late: list[Question]) -> None:
        if any(role is Role.CLAIM for _, role in self.runs):
            self._recover_claims(server, late)
            return
        before = self._records(server)
        names = dict.fromkeys((*self.taken, *(name for name, _ in self.runs)))
        for turn, times in ((1, names), (2, ("last",))):
            for name in times:
                found = run_to_end(server, self._process(server, f"again {turn} {name}", name, Role.TAKE_OVER))
                assert isinstance(found, tuple), f"{name} cannot be completed: {found!r}"
            self._check_tiled(server, before)
            for question in late:
                question.ask(server, False)
        self._check_tiled(server, before)

    def _check_tiled(self, server: Server, before: list[CutRecord]) -> None:
        records = self._records(server)
        done = {record.interval: record for record in records if record.state is IntervalState.DONE}
        for record in before:
            if record.state is IntervalState.DONE:
                assert record.interval in done, f"no longer done: {record}"
                assert done[record.interval].range == record.range, f"another range: {record}"
        ranges = sorted(_bounds(record.range) for record in done.values())
        position = 0
        for start, end in ranges:
            assert start == position, f"{'lost' if start > position else 'doubled'} at {position}: {ranges}"
            position = end
        assert position, "nothing is done"

    def _recover_claims(self, server: Server, late: list[Question]) -> None:
        before = {record.interval: record.range for record in self._records(server)}
        for turn in (1, 2):
            for name, role in self.runs:
                found = run_to_end(server, self._process(server, f"again {turn} {name}", name, role))
                assert isinstance(found, tuple), f"{name} cannot be completed: {found!r}"
            for question in late:
                question.ask(server, False)
        after = {record.interval: record.range for record in self._records(server)}
        assert all(after[name] == taken for name, taken in before.items()), "an interval has got another range"

    def _records(self, server: Server) -> list[CutRecord]:
        async def ask(process: Process) -> list[CutRecord]:
            return await _ledger(process).records("job", STREAM)

        found: list[CutRecord] = run_to_end(server, Process("look", server, ask, instant=_INSTANT))
        return found


async def _run(process: Process, name: str, role: Role, finishes: bool) -> Any:
    """What a run of a scheduler does, as Airflow's sensor and its downstream task do it."""
    ledger = _ledger(process)
    interval = Interval("job", STREAM, name)
    record = await ledger.find(interval) if role is Role.FINISH else await _take(process, ledger, interval, role)
    if record is None:
        return "waits"
    if finishes and not record.is_done:
        await ledger.finish(interval, record.range)
    return name, *_bounds(record.range)


async def _take(process: Process, ledger: CutLedger, interval: Interval, role: Role) -> CutRecord | None:
    """The range that the interval has, or gets; None: it waits for the one before it."""
    if role is Role.CLAIM:
        return await ledger.claim(interval, StreamCutRange(_cut(0), _tail(process)))
    while True:
        found = await ledger.find(interval)
        if found is not None and found.state is not IntervalState.GIVEN_BACK:
            return found
        if role is not Role.CONTINUE and (before := await waited_for(ledger, interval)) is not None:
            if role is Role.WAIT:
                return None
            await take_over(ledger, interval, before, by=process.name)
            continue
        begins = await next_start(process.client, ledger, interval, _cut(0))
        try:
            return await ledger.record(
                interval,
                StreamCutRange(begins.cut, _tail(process)),
                begins.after,
                chained=True,
                by=process.name,
                skipped=begins.skipped,
            )
        except TableConflictError:
            continue


def _ledger(process: Process) -> CutLedger:
    return CutLedger(process.controller, process.store, STREAM.scope)


def _tail(process: Process) -> StreamCut:
    """Before a run first asks, some events arrive."""
    server = process.server
    if not process.has_seen_tail:
        process.has_seen_tail = True
        server.length += _ARRIVES
    return _cut(server.length)


def _cut(offset: int) -> StreamCut:
    return StreamCut(STREAM, {_SEGMENT: offset})


def _bounds(taken: StreamCutRange) -> tuple[int, int]:
    return taken.start.positions[_SEGMENT], taken.end.positions[_SEGMENT]
