"""The report of a gate for data: the schemas that events claim, and the events that do not decode with them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aiopravega.cuts import StreamCutRange
from aiopravega.read import EventPointer


@dataclass(frozen=True, slots=True)
class SchemaClaim:
    """The schema in the header of an event; None: there is no header, or the registry does not know its id."""

    encoding_id: int | None
    type: str | None = None
    format: str | None = None
    version: int | None = None
    codec: str | None = None

    def __str__(self) -> str:
        if self.type is None:
            return "no header" if self.encoding_id is None else f"unknown encoding id {self.encoding_id}"
        version = "" if self.version is None else f" v{self.version}"
        return f"{self.type}{version} ({', '.join(filter(None, (self.format, self.codec)))})"


@dataclass(frozen=True, slots=True)
class EventFailure:
    """An event that does not decode: its position, and the reason."""

    pointer: EventPointer
    encoding_id: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class DataReport:
    """The events of a range, or a sample of them.

    `size` is the bytes of the checked events, without frames. `counts` has for each claim the number of events and the
    number of failures. `failures` are the first failures.
    """

    range: StreamCutRange
    sampled: bool
    events: int
    size: int
    counts: Mapping[SchemaClaim, tuple[int, int]]
    failures: tuple[EventFailure, ...]

    @property
    def failed(self) -> int:
        """The number of events that failed."""
        return sum(failed for _, failed in self.counts.values())

    @property
    def passed(self) -> bool:
        """True if all events decode with the schemas that they claim."""
        return self.failed == 0

    def summary(self) -> str:
        """One line."""
        checked = f"{self.events:,} events{' of a sample' if self.sampled else ''} of {self.range.stream}"
        if self.passed:
            return f"passed: {checked} decode with the schemas that they claim"
        return f"refused: {self.failed:,} of {checked} do not decode with the schemas that they claim"

    def table(self) -> str:
        """All as text."""
        lines = [self.summary()]
        lines += [
            f"  {claim}: {events:,} checked, {failed:,} failed" for claim, (events, failed) in self.counts.items()
        ]
        lines += [f"  {failure.pointer}: {failure.reason}" for failure in self.failures]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "passed": self.passed,
            "summary": self.summary(),
            **self.range.to_json(),
            "sampled": self.sampled,
            "events": self.events,
            "failed": self.failed,
            "bytes": self.size,
            "schemas": [
                {**asdict(claim), "events": events, "failed": failed} for claim, (events, failed) in self.counts.items()
            ],
            "failures": [
                {"pointer": str(failure.pointer), "encoding_id": failure.encoding_id, "reason": failure.reason}
                for failure in self.failures
            ],
        }
