"""Rounds of kills: runs that bring events into a sink are killed, and at the end each event has to be there once.

After a kill comes an ordinary run, which knows nothing of the one before; now and then a run that has failed is
repeated, as people do: the run that the last error names, or the newest one. The host learns of the death mostly at
once, else after the next run.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.faults.hosts.flows import Flow
from tests.faults.hosts.found import Found
from tests.faults.hosts.host import Host

# A host that learns late, a run that is repeated, a kill at a moment instead of a step: one of so many.
_LATE_LEARNING = 6
_REPEATED = 5
_AT_A_MOMENT = 4
# The first run of all makes ledgers, so that the second one shows how long a run is.
_FIRST_RUNS = 2
# A run may end before it is killed.
_TRIES_FOR_A_KILL = 3
# Whole runs at the end, until one is right: the first may be the one that finds what a killed run has left.
_LAST_RUNS = 6
# The error whose way out is to repeat the run that it names.
_HALF_DONE = "HalfDoneError"


@dataclass
class Lengths:
    """How many steps a whole run has, and how long it takes, by what it does."""

    known: dict[tuple[str, ...], tuple[int, float]] = field(default_factory=dict)

    def of(self, flow: Flow) -> tuple[int, float] | None:
        return self.known.get(self._key(flow))

    def learn(self, flow: Flow, steps: int, seconds: float) -> None:
        self.known[self._key(flow)] = (steps, seconds)

    @staticmethod
    def _key(flow: Flow) -> tuple[str, ...]:
        return flow.host, flow.sink, flow.table.partition(":")[0], flow.master


class Round:
    """One flow on one host, and what is `found`."""

    def __init__(self, host: Host, flow: Flow, lengths: Lengths, chance: random.Random) -> None:
        self._host, self._flow, self._lengths, self._chance = host, flow, lengths, chance
        self.found = Found()
        self._failed: list[str] = []
        self._named = ""  # the failed run that has to continue, as the last error says

    def play(self, kills: int) -> str:
        """Kill so many runs, let the last ones be whole, and judge; the words for it."""
        flow = self._flow
        flow.make()
        endings = list(self._endings(kills))
        difference = flow.judge()
        self.found.judge(len(flow.events), difference)
        return (
            f"{' '.join(endings)}: {len(flow.events)} events, {difference.lost} lost, {difference.doubled} doubled"
            + (f", {difference.strange} strange" if difference.strange else "")
        )

    def _endings(self, kills: int) -> Iterator[str]:
        known = self._lengths.of(self._flow) is not None
        for _ in range(1 if known else _FIRST_RUNS):
            yield from self._run(None)
            self._host.learn()
        for _ in range(_TRIES_FOR_A_KILL * kills):
            if self.found.kills >= kills:
                break
            yield from self._run(self._plan())
            if self._chance.randrange(_LATE_LEARNING):
                self._host.learn()
            if self._failed and not self._chance.randrange(_REPEATED):
                self._host.learn()
                yield from self._run(
                    self._plan() if self._chance.randrange(2) else None, self._named or self._failed[-1]
                )
        for _ in range(_LAST_RUNS):
            self._host.learn()
            *_, last = endings = list(self._run(None))
            yield from endings
            if last == "ok":
                return
            if self._failed:
                yield from self._run(None, self._named or self._failed[-1])

    def _plan(self) -> tuple[int, float]:
        """The step at which a run is killed, and how many seconds after it."""
        steps, seconds = self._lengths.of(self._flow) or (1, 1.0)
        first = 1 if self._chance.randrange(2) else steps // 2
        step = self._chance.randint(first, steps)
        return step, 0.0 if self._chance.randrange(_AT_A_MOMENT) else self._chance.uniform(0.0, seconds / 2)

    def _run(self, plan: tuple[int, float] | None, again: str = "") -> Iterator[str]:
        self._flow.put(self._chance.randint(1, 40))
        self._host.steps.plan(*(plan or (None,)))
        begun = time.monotonic()
        ended = self._host.run(self._flow, again)
        if ended.ok and not (again or ended.killed):
            self._lengths.learn(self._flow, self._host.steps.number, time.monotonic() - begun)
        self.found.add(ended)
        others = [run for run in self._failed if run != ended.run]
        self._named = next((run for run in others if ended.error == _HALF_DONE and run in ended.said), "")
        if ended.ok and again in self._failed:
            self._failed.remove(again)
        elif not ended.ok and ended.run and ended.run not in self._failed:
            self._failed.append(ended.run)
        word = "late" if ended.late else "ok" if ended.ok else "killed" if ended.killed else ended.error or "failed"
        if ended.killed and plan is not None:
            word += f"@{plan[0]}" + (f"+{plan[1]:.1f}s" if plan[1] else "")
        yield ("again:" if again else "") + word
