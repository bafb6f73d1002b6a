"""Tasks that take a range of a stream and copy it into sinks, as small programs over the real code, and their host.

The host is one more server that can be asked: it knows how its runs stand.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from tests.unit.aiopravega.ledger.model.machine import Process
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.writes import attempt_of

from aiopravega import PravegaClient, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import PravegaError
from aiopravega.intervals.chain.next_range import ChainRules, NotNow, take_next
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import Claimant, ClaimantState, CutRecord, Interval, Sink, check_same
from pravega_jobs.events.writes import EventTally
from pravega_jobs.identity import names
from pravega_jobs.identity.sinks import asking_sinks, declare_sink

SOURCE: Final = StreamName("examples", "delays")
CONSUMER: Final = "copy"
EVENT: Final = 10  # bytes of each event
_LEASE_MS: Final = 60_000


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


async def run_task(process: Process, task: Task, outputs: tuple[str, ...]) -> Any:
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
    interval = Interval(CONSUMER, SOURCE, task.interval)
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
    tally.add((row(output, event).encode(), None) for event in events)
    job = await protocol.begin(stream, sink.id, attempt_of(f"{process.name} into {output}"), sink.generation)
    if job.done is not None:
        check_same(job.done, tally.rows)
        return
    txn, _ = await process.controller.create_transaction(stream, _LEASE_MS)
    for event in events:
        process.server.write(txn, row(output, event))
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
            self._process.server.length += EVENT
        return await super().end_if_moved(client, start, check=check)


def _start_again(server: Server, _: bool, run: str) -> bool:
    """Whether a run that is to be run again was given up; then it runs."""
    assert isinstance(server, World)
    is_over = server.runs[run].is_over
    if is_over:
        server.runs[run] = ClaimantState.RUNNING
    return is_over


def _events(taken: StreamCutRange) -> range:
    start, end = (next(iter(cut.positions.values())) // EVENT for cut in (taken.start, taken.end))
    return range(start, end)


def row(output: str, event: int) -> str:
    return f"{output}: event {event}"
