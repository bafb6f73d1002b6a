"""The findings of rounds that kill runs of a host, and their table."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tests.faults.rows import Difference

_NUMBERS = ("rounds", "runs", "kills", "events", "lost", "doubled", "strange", "waits", "unexplained")


@dataclass(frozen=True)
class Ended:
    """The end of a run; its id is empty if it died before it had one.

    `late`: it did not end within the limit, and was ended. `error` is the name of the error with which it failed.
    `said` is all that it has logged.
    """

    run: str
    ok: bool
    killed: bool
    late: bool
    error: str
    said: str

    @property
    def explained(self) -> bool:
        """True if it has warned that it waits."""
        return any("warning" in line and "waiting for" in line for line in self.said.lower().splitlines())


@dataclass
class Found:
    """The findings of rounds with one sink of one host, in numbers.

    `refused` counts, by the names of errors, runs that failed without being killed. `waits` counts runs that did not
    end by themselves, `unexplained` those of them that did not warn for whom they wait.
    """

    rounds: int = 0
    runs: int = 0
    kills: int = 0
    events: int = 0
    lost: int = 0
    doubled: int = 0
    strange: int = 0
    waits: int = 0
    unexplained: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def is_right(self) -> bool:
        """True if nothing is lost or doubled, and no run waits without an explanation."""
        return not (self.lost or self.doubled or self.strange or self.unexplained)

    def __iadd__(self, other: "Found") -> Self:
        for name in (*_NUMBERS, "refused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def add(self, ended: Ended) -> None:
        """Count a run."""
        self.runs += 1
        self.kills += ended.killed
        if ended.late:
            self.waits += 1
            self.unexplained += not ended.explained
        elif not ended.ok and not ended.killed:
            self.refused[ended.error or "no error"] += 1

    def judge(self, events: int, difference: Difference) -> None:
        """Count what is in the sinks at the end of a round."""
        self.rounds += 1
        self.events += events
        self.lost += difference.lost
        self.doubled += difference.doubled
        self.strange += difference.strange


Table = dict[str, Found]


def stored(table: Mapping[str, Found]) -> dict[str, Any]:
    """The table as JSON."""
    return {name: asdict(found) | {"refused": dict(found.refused)} for name, found in table.items()}


def restored(text: Mapping[str, Any]) -> Table:
    """The table that was stored."""
    return {name: Found(**{**found, "refused": Counter(found["refused"])}) for name, found in text.items()}


def lines(table: Mapping[str, Found]) -> Iterator[str]:
    """The lines of the table, for people."""
    total = Found()
    for found in table.values():
        total += found
    yield (
        f"Of {total.runs} runs, {total.kills} were killed, in {total.rounds} rounds with {total.events:,} events: "
        f"{total.lost} lost, {total.doubled + total.strange} doubled, {total.unexplained} waits without an explanation."
    )
    yield ""
    yield f"| host, sink, seed | {' | '.join(_NUMBERS)} | refused |"
    yield "|---" * (len(_NUMBERS) + 2) + "|"
    for name, found in sorted(table.items()):
        numbers = " | ".join(str(getattr(found, each)) for each in _NUMBERS)
        yield f"| {name} | {numbers} | {_refused(found)} |"


def _refused(found: Found) -> str:
    return ", ".join(f"{times} {name}" for name, times in sorted(found.refused.items()))
