"""Runs that take ranges of a stream and copy each into sinks, amid deaths and take-overs, as a search sees them.

All that decides is the real code: the chain with its take-over, both ledgers, the protocol of exactly-once writes, and
the names. The host may give up a run at any moment, while the run is dead, or is not and wakes up later.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.unit.aiopravega.ledger.model.copies import CONSUMER, EVENT, Copied, Task, Waits, World, row, run_task
from tests.unit.aiopravega.ledger.model.machine import INSTANT, NOTES, Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Event, Scenario
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server

from aiopravega.errors import HalfDoneError, PravegaError
from aiopravega.ledger import ClaimantState
from aiopravega.ledger.commits import keys as commit_keys
from aiopravega.ledger.intervals import cut_record

OUTPUTS: Final = ("one", "two")
# What only the commits of one write ask is searched in `writes`.
_INSTANT: Final = INSTANT | NOTES | {"getSegments", "pingTransaction", "checkTransactionState"}
_TURNS: Final = 4


@dataclass
class Claims(Scenario):
    """Tasks at the same time, each of an interval of one consumer, that copy what they read into `outputs`.

    The first `taken` of them have their ranges when the search begins, and only they die, if there are any.
    `gives_up`: what the host says of a run that it gives up; None: it does not. `wakes_up`: such a run is not dead.
    `died`: tasks that have died before, after they had declared a sink. `asleep`: the `taken` have done so, are given
    up, and wake up. `closed`: the last task has closed that sink, and has not taken the range over yet.
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
    asleep: bool = False
    closed: bool = False

    def server(self) -> World:
        server = World(tables={"cut-ledger": cut_record.KEY_LENGTH, "commit-ledger": commit_keys.KEY_LENGTH})
        for task in self.died:
            _ask_until(self._process(server, task.run, task), b'"sink":')
            server.runs[task.run] = ClaimantState.FAILED
        return server

    def start(self, server: Server) -> list[Process]:
        return [self._process(server, f"{task.run} again" if task.again else task.run, task) for task in self.tasks]

    def begin(self, processes: dict[str, Process]) -> None:
        for process in list(processes.values())[: self.taken]:
            _ask_until(process, b'"sink":' if self.asleep else f'"run":"{process.name}"'.encode())
            if self.asleep:
                _give_up(process.server, process.name, ClaimantState.FAILED)
        if self.closed:
            _ask_until(list(processes.values())[-1], b'"state":"closed"')

    def _process(self, server: Server, name: str, task: Task) -> Process:
        assert isinstance(server, World)
        server.runs.setdefault(task.run, ClaimantState.RUNNING)
        return Process(name, server, lambda process: run_task(process, task, self.outputs), instant=_INSTANT)

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
        doubled = [each for each, times in Counter(server.visible).items() if times > 1]
        assert not doubled, f"doubled: {doubled}"
        for process in processes:
            if process.ended:
                self._check_result(server, process.name, process.result)

    def _check_result(self, server: Server, run: str, result: object) -> None:
        match result:
            case Copied(start, end):
                wanted = {row(output, event) for output in self.outputs for event in range(start, end)}
                assert wanted <= set(server.visible), f"lost: {run} has succeeded with {start}-{end}: {server.visible}"
            case Waits(words, None):
                assert "not yet" in words, f"{run} waits and does not say for what: {words}"
            case Waits(words, waits_for, state):
                assert state in (ClaimantState.RUNNING, ClaimantState.UNKNOWN), f"{run} waits in vain: {words}"
                for word in (str(waits_for), CONSUMER, "since", "pravega cuts"):
                    assert word in words, f"{run} waits, and does not say {word!r}: {words}"
            case PravegaError():
                words = str(result)
                assert CONSUMER in words or "write" in words or "no answer" in words, f"{run} fails unnamed: {words}"
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
            times = {event: found[row(output, event)] for event in range(server.length // EVENT)}
            wrong = {event: count for event, count in times.items() if count != 1}
            assert not wrong, f"{when}, in {output}: " + ", ".join(
                f"event {event} is {'lost' if not count else 'doubled'}" for event, count in wrong.items()
            )


def _ask_until(process: Process, stored: bytes) -> None:
    """Answer a process until a ledger has a text."""
    while not any(stored in value for value, _ in process.server.entries.values()):
        question = process.first_question
        process.hear(question, question.ask(process.server, False), "before")


def _give_up(server: Server, run: str, state: ClaimantState) -> None:
    assert isinstance(server, World)
    server.runs[run] = state
