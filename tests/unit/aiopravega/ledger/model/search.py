"""A search through all orders in which the messages of some processes can arrive, with a bounded number of faults.

It is depth first, with the fewest faults first. A state is what the servers hold, what each process has heard, and what
is still under way; the code is deterministic, so that a process that has heard the same is in the same state. To come
back to a state, all processes are started again and hear the same again.

A process that dies needs no step of its own: it is one that is never heard of again, and every state is checked as if
everybody had died in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import Message
from tests.unit.aiopravega.ledger.model.machine import Process, Question
from tests.unit.aiopravega.ledger.model.scenario import Scenario
from tests.unit.aiopravega.ledger.model.server import UNDER_WAY, Server

from aiopravega import wire

Step = tuple[str, ...]
_TOO_LONG: Final = 400


class ViolationError(AssertionError):
    """Something is lost, doubled, or cannot be completed; with the steps that lead there."""


@dataclass
class Counts:
    """What a search has visited."""

    states: int = 0
    schedules: int = 0
    recoveries: int = 0
    steps: int = 0
    ends: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return f"{self.states:,} states, {self.schedules:,} orders, {self.recoveries:,} recoveries; {self.ends}"


class Run:
    """The processes of a scenario on the way through one order of messages."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.server = scenario.server()
        self.processes = {process.name: process for process in scenario.start(self.server)}
        self.late: dict[str, Question] = {}
        self.dead: set[str] = set()
        scenario.begin(self.processes)

    @property
    def processes_left(self) -> bool:
        return any(not process.ended for process in self.alive)

    @property
    def alive(self) -> list[Process]:
        return [process for name, process in self.processes.items() if name not in self.dead]

    def key(self) -> tuple[int, ...]:
        heard = (hash((name, name in self.dead or process.heard)) for name, process in self.processes.items())
        return self.server.key(), hash(frozenset(self.late)), *heard

    def steps(self, may_fail: bool) -> Iterator[tuple[Step, int]]:
        """What can happen next, and how many faults it is."""
        events = list(self.scenario.events(self.server)) if may_fail else []
        for process in self.alive:
            for question in process.questions.values():
                if question.txn is None:
                    continue
                held = self.server.transactions.get(question.txn)
                if held is None or held.state != "OPEN":
                    if not (may_fail and self.scenario.changes_ended):
                        yield from self._outcomes(process, question, may_fail)
                        return
                elif question.about == "pingTransaction" and not self.server.names(question.txn):
                    yield from self._outcomes(process, question, may_fail)
                    yield from (((("event", event.name), 1)) for event in events if question.txn in event.ends)
                    return
        for process in self._who():
            for question in process.next_questions(self.scenario.in_turn):
                yield from self._outcomes(process, question, may_fail)
        for name in self.late:
            yield ("late", name), 0
        for event in events:
            yield ("event", event.name), 1

    def _who(self) -> list[Process]:
        """Those that may be heard next. Of processes that differ in their names only, the first one begins."""
        processes = self.alive
        if not self.scenario.alike or any(process.heard for process in processes):
            return processes
        return processes[:1]

    def _outcomes(self, process: Process, question: Question, may_fail: bool) -> Iterator[tuple[Step, int]]:
        yield ("deliver", process.name, question.name), 0
        if may_fail and self.scenario.loses_messages:
            # A process that asks much at once waits for all, and fails with the first failure: no matter which one.
            if question.changes or question.txn is None or question is process.first_question:
                yield ("give up", process.name, question.name), 1
            if question.changes:
                yield ("lose", process.name, question.name), 1
            elif question.txn is not None and question.about == "checkTransactionState":
                held = self.server.transactions.get(question.txn)
                if held is not None and held.state in UNDER_WAY:
                    yield ("slow", process.name, question.name), 1

    def take(self, step: Step) -> None:
        match step:
            case ("event", name):
                event = next(event for event in self.scenario.events(self.server) if event.name == name)
                event.happen(self.server)
                if event.kills is not None:
                    self.dead.add(event.kills)
                    self._leave(self.processes[event.kills])
            case ("late", name):
                self.late.pop(name).ask(self.server, False)
            case (kind, process_name, name):
                process = self.processes[process_name]
                question = process.questions[name]
                if kind in ("deliver", "slow"):
                    answer = question.ask(self.server, kind == "slow")
                    process.hear(question, answer, spelled(answer))
                    while self.scenario.reads_at_once and not question.changes and process.questions:
                        question = process.first_question
                        if question.changes:
                            return
                        answer = question.ask(self.server, False)
                        process.hear(question, answer, spelled(answer))
                    return
                if question.changes:
                    self._leave(process, name)
                process.lose(question, again=kind == "lose")

    def _leave(self, process: Process, *names: str) -> None:
        """Of these questions, or all, nobody hears the answers: the changes may still arrive, at any time."""
        for name in names or process.questions:
            if process.questions[name].changes:
                self.late[f"{process.name}{name}"] = process.questions[name]

    def described(self, step: Step) -> str:
        """A step in words; before it is taken."""
        if step[0] == "event":
            return step[1]
        if step[0] == "late":
            return f"late: {self.late[step[1]].words}"
        question = self.processes[step[1]].questions[step[2]]
        what = question.words if question.changes else "asks"
        return f"{step[1]}: {what}" + ("" if step[0] == "deliver" else f": {step[0]}")


def spelled(answer: Any) -> object:
    """What is unique about an answer."""
    if isinstance(answer, Message):
        return answer.SerializeToString()
    return answer if isinstance(answer, wire.Reply) else repr(answer)


def search(scenario: Scenario) -> Counts:
    """Visit every state of a scenario.

    Raises:
        ViolationError: in one of them something is not as it must be.
    """
    counts = Counts()
    known: set[tuple[int, ...]] = set()
    recovered: set[tuple[int, int]] = set()
    waiting: list[list[tuple[Step, ...]]] = [[] for _ in range(scenario.faults + 1)]
    waiting[0].append(())
    for faults, paths in enumerate(waiting):
        while paths:
            path = paths.pop()
            run = Run(scenario)
            try:
                for step in path:
                    run.take(step)
                counts.schedules += 1
                _go_on(run, list(path), faults, known, recovered, waiting, counts)
            except AssertionError as error:
                raise ViolationError(f"{scenario.name}: {error}\n{_story(scenario, error, path)}") from error
    return counts


def _go_on(
    run: Run,
    path: list[Step],
    faults: int,
    known: set[tuple[int, ...]],
    recovered: set[tuple[int, int]],
    waiting: list[list[tuple[Step, ...]]],
    counts: Counts,
) -> None:
    """Follow one order of messages to a state that is known, or to its end."""
    try:
        while (key := run.key()) not in known:
            known.add(key)
            counts.states += 1
            run.scenario.check(run.server, run.alive)
            left = run.scenario.left_behind(run.server), key[1]
            if left not in recovered:
                recovered.add(left)
                counts.recoveries += 1
                try:
                    run.scenario.recover(run.server.copy(), list(run.late.values()))
                except AssertionError as error:
                    error.all_die = True  # type: ignore[attr-defined]  # for the story
                    raise
            steps = list(run.steps(faults < run.scenario.faults))
            free = next((step for step, costs in steps if not costs), None)
            for step, costs in steps:
                if step is not free:
                    waiting[faults + costs].append((*path, step))
            if not run.processes_left:
                for process in run.alive:
                    end = f"{process.name}: {_word(process.result)}"
                    counts.ends[end] = counts.ends.get(end, 0) + 1
            if free is None:
                return
            path.append(free)
            if len(path) > _TOO_LONG:
                raise AssertionError("it does not end")
            counts.steps += 1
            run.take(path[-1])
    except AssertionError as error:
        error.path = tuple(path)  # type: ignore[attr-defined]  # for the story
        raise


def _word(result: object) -> str:
    return type(result).__name__ if isinstance(result, Exception) else str(result)


def _story(scenario: Scenario, error: AssertionError, path: tuple[Step, ...]) -> str:
    run = Run(scenario)
    lines: list[str] = []
    for step in getattr(error, "path", path):
        described = run.described(step)
        if lines[-1:] != [described]:  # of questions in a row, one is described
            lines.append(described)
        run.take(step)
    if hasattr(error, "all_die"):
        lines.append("all that run are dead, and the work continues with new ones")
    return "\n".join(lines)


def run_to_end(server: Server, process: Process) -> Any:
    """Have one process do its work alone, without a fault; returns its result."""
    for _ in range(_TOO_LONG):
        if process.ended:
            return process.result
        question = next(iter(process.questions.values()))
        answer = question.ask(server, False)
        process.hear(question, answer, "")
    raise AssertionError(f"{process.name} does not end alone")


def open_transactions(server: Server) -> list[Any]:
    """The transactions whose leases can run out."""
    return [txn for txn, held in server.transactions.items() if held.state == "OPEN"]
