"""Runs that take ranges of a stream and copy each into sinks, amid deaths and take-overs, as a search sees them.

All that decides is the real code: the chain with its take-over, both ledgers, the protocol of exactly-once writes, and
the names. A run is a small program over them, as the hosts' tasks are. The host is one more thing that can be asked: it
knows how its runs stand. It may give up a run at any moment, while the run is dead, or is not and wakes up later.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from tests.unit.aiopravega.ledger.model.machine import INSTANT, NOTES, Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Event, Scenario
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.writes import attempt_of

from aiopravega import PravegaClient, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import HalfDoneError, PravegaError
from aiopravega.intervals.chain.next_range import ChainRules, NotNow, take_next
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import Claimant, ClaimantState, CutRecord, Interval, Sink, check_same
from aiopravega.ledger.commits import record as commit_record
from aiopravega.ledger.intervals import cut_record
from pravega_jobs.events.writes import EventTally
from pravega_jobs.identity import names
from pravega_jobs.identity.sinks import asking_sinks, declare_sink

SOURCE: Final = StreamName("examples", "delays")
OUTPUTS: Final = ("one", "two")
_CONSUMER: Final = "copy"
_LEASE_MS: Final = 60_000
_EVENT: Final = 10  # bytes of each event
# What only the commits of one write ask is searched in `writes`.
_INSTANT: Final = INSTANT | NOTES | {"getSegments", "pingTransaction", "checkTransactionState"}
_TURNS: Final = 4


class Task(NamedTuple):
    """The task of a run, with its date.

    `shares`: its job has no consumer of its own. `again`: a person runs it again after the host has given it up.
    """

    run: str
    date: str
    job: str = "daily"
    shares: bool = False
    again: bool = False

    @property
    def claimant(self) -> Claimant:
        return Claimant(host="python", job=self.job, run=self.run, task="copy")

    @property
    def interval(self) -> str:
        own = names.consumer_of_task(self.job, "copy")
        return names.interval_of_task(self.date, own) if self.shares else self.date


class Copied(NamedTuple):
    """The task has succeeded, with the events from the first to before the second."""

    start: int
    end: int


class Waits(NamedTuple):
    """The task waits for another one, whose state it knows, or for events, in words for a person."""

    words: str
    waits_for: Claimant | None
    state: ClaimantState


@dataclass
class World(Server):
    """A Pravega, and a host with the states of its runs."""

    runs: dict[str, ClaimantState] = field(default_factory=dict)

    def copy(self) -> "World":
        copied = super().copy()
        assert isinstance(copied, World)
        copied.runs = dict(self.runs)
        return copied

    def key(self) -> int:
        return hash((super().key(), tuple(sorted(self.runs.items()))))

    def end(self, run: str, state: ClaimantState) -> None:
        """Have a run end, unless the host has given it up before."""
        if self.runs[run] is ClaimantState.RUNNING:
            self.runs[run] = state


@dataclass
class Claims(Scenario):
    """Tasks at the same time, each of an interval of one consumer, that copy what they read into `outputs`.

    The first `taken` of them have their ranges when the search begins, and only they die, if there are any.
    `gives_up`: what the host says of a run that it gives up; None: it does not. `wakes_up`: such a run is not dead.
    `died`: tasks that have died before, after they had declared a sink.
    """

    name: str
    tasks: tuple[Task, ...]
    outputs: tuple[str, ...] = OUTPUTS
    faults: int = 1
    taken: int = 0
    loses_messages: bool = False
    reads_at_once: bool = True
    gives_up: ClaimantState | None = ClaimantState.FAILED
    wakes_up: bool = False
    died: tuple[Task, ...] = ()

    def server(self) -> World:
        server = World(tables={"cut-ledger": cut_record.KEY_LENGTH, "commit-ledger": commit_record.KEY_LENGTH})
        for task in self.died:
            _ask_until(self._process(server, task.run, task), b'"sink":')
            server.runs[task.run] = ClaimantState.FAILED
        return server

    def start(self, server: Server) -> list[Process]:
        return [self._process(server, f"{task.run} again" if task.again else task.run, task) for task in self.tasks]

    def begin(self, processes: dict[str, Process]) -> None:
        for process in list(processes.values())[: self.taken]:
            _ask_until(process, f'"run":"{process.name}"'.encode())

    def _process(self, server: Server, name: str, task: Task) -> Process:
        assert isinstance(server, World)
        server.runs.setdefault(task.run, ClaimantState.RUNNING)
        return Process(name, server, lambda process: _ends(process, task, self.outputs), instant=_INSTANT)

    def events(self, server: Server) -> Iterator[Event]:
        assert isinstance(server, World)
        for run in dict.fromkeys(task.run for task in self.tasks[: self.taken or None]):
            if self.gives_up is not None and server.runs[run] is ClaimantState.RUNNING:
                words = f"the host gives up {run}, which is not dead" if self.wakes_up else f"{run} dies"
                kills = None if self.wakes_up else run
                yield Event(words, partial(_give_up, run=run, state=self.gives_up), kills=kills)

    # --- what must be true --------------------------------------------------------------------------------------

    def check(self, server: Server, processes: list[Process]) -> None:
        """Nothing is doubled, what has succeeded is there, and what has not says why."""
        doubled = [row for row, times in Counter(server.visible).items() if times > 1]
        assert not doubled, f"doubled: {doubled}"
        for process in processes:
            if process.ended:
                self._check_result(server, process.name, process.result)

    def _check_result(self, server: Server, run: str, result: object) -> None:
        match result:
            case Copied(start, end):
                wanted = {_row(output, event) for output in self.outputs for event in range(start, end)}
                assert wanted <= set(server.visible), f"lost: {run} has succeeded with {start}-{end}: {server.visible}"
            case Waits(words, None):
                assert "not yet" in words, f"{run} waits and does not say for what: {words}"
            case Waits(words, waits_for, state):
                assert state in (ClaimantState.RUNNING, ClaimantState.UNKNOWN), f"{run} waits in vain: {words}"
                for word in (str(waits_for), _CONSUMER, "since", "pravega cuts"):
                    assert word in words, f"{run} waits, and does not say {word!r}: {words}"
            case PravegaError():
                words = str(result)
                assert _CONSUMER in words or "write" in words or "no answer" in words, f"{run} fails unnamed: {words}"
            case _:
                raise AssertionError(f"{run} has ended with {result!r}")

    def left_behind(self, server: Server) -> int:
        assert isinstance(server, World)
        done = frozenset(run for run, state in server.runs.items() if state is ClaimantState.DONE)
        return hash((Server.key(server), done))

    def recover(self, server: Server, late: list[Question]) -> None:
        """All are dead: the next ordinary runs lose and double nothing, before and after the late messages."""
        assert isinstance(server, World)
        for run in server.runs:
            server.end(run, ClaimantState.FAILED)
        self._go_on(server, "the deaths")
        self._check_whole(server, "after the deaths")
        if late:
            for question in late:
                question.ask(server, False)
            self._go_on(server, "late messages")
            self._check_whole(server, "after late messages")

    def _go_on(self, server: World, after: str) -> None:
        """Run the next interval; if it is refused because only another run can continue, run that one first."""
        for turn in range(_TURNS):
            task = Task(f"after {after} {turn}", f"after {after} {turn}")
            found = self._to_end(server, task)
            if isinstance(found, Copied):
                return
            assert isinstance(found, HalfDoneError), f"after {after} no run can continue: {found!r}"
            half = [task for task in (*self.tasks, *self.died) if str(task.claimant) in str(found)]
            assert half, f"a refusal that does not name a run: {found}"
            again = self._to_end(server, half[0]._replace(again=True))
            assert isinstance(again, Copied), f"the run that was named cannot continue: {again!r}, after {found}"
        raise AssertionError(f"after {after} no run continues")

    def _to_end(self, server: World, task: Task) -> Any:
        found = run_to_end(server, self._process(server, f"{task.run} again", task))
        self._check_result(server, task.run, found)
        return found

    def _check_whole(self, server: Server, when: str) -> None:
        found = Counter(server.visible)
        for output in self.outputs:
            times = {event: found[_row(output, event)] for event in range(server.length // _EVENT)}
            wrong = {event: count for event, count in times.items() if count != 1}
            assert not wrong, f"{when}, in {output}: " + ", ".join(
                f"event {event} is {'lost' if not count else 'doubled'}" for event, count in wrong.items()
            )


def _ask_until(process: Process, stored: bytes) -> None:
    """Answer a process until a ledger has a text."""
    while not any(stored in value for value, _ in process.server.entries.values()):
        question = process.first_question
        process.hear(question, question.ask(process.server, False), "before")


async def _ends(process: Process, task: Task, outputs: tuple[str, ...]) -> Any:
    """What the host of a task hears of its end."""
    assert isinstance(process.server, World)
    try:
        if task.again and not await process.ask("host", partial(_start_again, run=task.run)):
            return Waits("not yet given up", None, ClaimantState.RUNNING)
        found = await _copy(process, task, outputs)
    except PravegaError:
        process.server.end(task.run, ClaimantState.FAILED)
        raise
    if isinstance(found, Copied):
        process.server.end(task.run, ClaimantState.DONE)
    return found


async def _copy(process: Process, task: Task, outputs: tuple[str, ...]) -> Copied | Waits:
    """What a task does: it takes a range, and writes the events into each output, exactly once."""
    client = process.client
    ledger = client.cut_ledger(SOURCE.scope)
    interval = Interval(_CONSUMER, SOURCE, task.interval)
    rules = ChainRules(judge=partial(_judge, process), ask_sink=asking_sinks(client))
    record = await take_next(
        client, ledger, interval, rules, _Arrivals(process), by=process.name, claimant=task.claimant
    )
    if isinstance(record, NotNow):
        waits_for = None if record.waits_for is None else record.waits_for.claimant
        return Waits(record.reason, waits_for, record.state)
    interval, events = record.identity, _events(record.range)
    await ledger.expect(interval, outputs, claimant=task.claimant)
    write_id = names.write_of_task(task.job, "copy", None, task.interval)
    for output in outputs:
        sink = Sink(kind="write", target=f"{SOURCE.scope}/{output}", id=write_id)
        await declare_sink(client, ledger, interval, output, sink)
        await _write(process, sink, output, events)
        await ledger.finish(interval, record.range, by=process.name, part=output)
    return Copied(events.start, events.stop)


async def _write(process: Process, sink: Sink, output: str, events: range) -> None:
    """What a writer does: one transaction, or the comparison with what is written already."""
    stream = StreamName.parse(sink.target)
    protocol = process.client.commit_ledger(stream.scope).protocol(visible_within=None)
    await protocol.finish_unfinished(stream)
    tally = EventTally()
    tally.add((_row(output, event).encode(), None) for event in events)
    job = await protocol.begin(stream, sink.id, attempt_of(f"{process.name} into {output}"), sink.generation)
    if job.done is not None:
        check_same(job.done, tally.rows)
        return
    txn, _ = await process.controller.create_transaction(stream, _LEASE_MS)
    for event in events:
        process.server.write(txn, _row(output, event))
    await protocol.commit(job, [tally.part(txn)])


async def _judge(process: Process, record: CutRecord) -> ClaimantState:
    """What a host answers, if it does."""
    run = "" if record.claimant is None else record.claimant.run

    def ask(server: Server, _: bool) -> ClaimantState:
        assert isinstance(server, World)
        return server.runs.get(run, ClaimantState.GONE)

    try:
        found: ClaimantState = await process.ask("host", ask)
    except PravegaError:
        return ClaimantState.UNKNOWN
    return found


class _Arrivals(StreamWatch):
    """Before a task first looks, an event arrives."""

    def __init__(self, process: Process) -> None:
        super().__init__(MoveCondition())
        self._process = process

    async def end_if_moved(self, client: PravegaClient, start: StreamCut, *, check: bool) -> StreamCut | None:
        if not self._process.has_seen_tail:
            self._process.has_seen_tail = True
            self._process.server.length += _EVENT
        return await super().end_if_moved(client, start, check=check)


def _start_again(server: Server, _: bool, run: str) -> bool:
    """Whether a run that is to be run again was given up; then it runs."""
    assert isinstance(server, World)
    is_over = server.runs[run].is_over
    if is_over:
        server.runs[run] = ClaimantState.RUNNING
    return is_over


def _give_up(server: Server, run: str, state: ClaimantState) -> None:
    assert isinstance(server, World)
    server.runs[run] = state


def _events(taken: StreamCutRange) -> range:
    start, end = (next(iter(cut.positions.values())) // _EVENT for cut in (taken.start, taken.end))
    return range(start, end)


def _row(output: str, event: int) -> str:
    return f"{output}: event {event}"
