"""The record of an interval in the cut ledger: its range, its state, its author and the times."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict

from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError
from aiopravega.ledger.intervals.claimant import Claimant, Part
from aiopravega.ledger.stored_json import (
    StoredStream,
    StoredTime,
    has_version,
    myself,
    object_in,
    with_checksum,
    without_checksum,
)
from aiopravega.names import StreamName

VERSION: Final = 5
_READ: Final = (4, VERSION)
_UNSAID: Final = 2  # the version that left its own number out
# The name of the empty interval that begins a chain at the tail instead of the head.
BEGINNING: Final = "beginning"
_HALF_KEY: Final = 16  # bytes of a key for the consumer; as many for the interval
KEY_LENGTH: Final = 2 * _HALF_KEY
# Neighbours share a cut, so that nearly every second text has just been read.
_cut_of = lru_cache(maxsize=256)(StreamCut.from_text)


class IntervalState(StrEnum):
    """The state of an interval.

    OPEN: a run has its range and may be at work; DONE: its consumer reported that it has been processed; FAILED: its
    run reported that it failed, and why; SKIPPED: somebody has decided that it is not processed; GIVEN_BACK: the next
    interval of the chain has its range.
    """

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    GIVEN_BACK = "given back"


def first_key(consumer: str, stream: StreamName) -> bytes:
    """The first key that a consumer of a stream can have; its last range is there. All its others follow it."""
    return _digest("consumer", str(stream), consumer) + bytes(_HALF_KEY)


def chain_key_of(key: bytes) -> bytes:
    """The first key of the consumer that a key belongs to."""
    return key[:_HALF_KEY] + bytes(_HALF_KEY)


def last_key(consumer: str, stream: StreamName) -> bytes:
    """The last key that a consumer of a stream can have."""
    return _digest("consumer", str(stream), consumer) + b"\xff" * _HALF_KEY


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()[:_HALF_KEY]


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval as a scheduler names it: one run of one consumer of one stream.

    Raises:
        ConfigurationError: the consumer or the interval has no name.
    """

    consumer: str
    stream: StreamName
    name: str

    def __post_init__(self) -> None:
        if not self.consumer or not self.name:
            raise ConfigurationError(f"{self}: a consumer and an interval need names")

    @property
    def key(self) -> bytes:
        """The key of this interval's record."""
        return self.last_key[:_HALF_KEY] + _digest("interval", self.name)

    @property
    def last_key(self) -> bytes:
        """The key of the record of the consumer's last range."""
        return first_key(self.consumer, self.stream)

    def __str__(self) -> str:
        if self.name == BEGINNING:
            return f"the beginning of {self.consumer!r} on {self.stream}"
        return f"interval {self.name!r} of {self.consumer!r} on {self.stream}"


class CutRecord(BaseModel):
    """The record of an interval.

    `number` counts the intervals of a consumer in the order of the stream. `follows` says that the range starts where
    the one before it ended. `since` and `until` are the event times that the interval stands for, if it is one of time:
    the end is not included. `changed_by`, `changed_at` and `reason` belong to the last change of `state`, and `changes`
    counts the changes. `skipped_from` is the cut at which the range was to start, if the part from there to `start` was
    skipped because it was gone; `skipped_bytes` is the size of the part, if it was known, and `skipped_because` the
    reason why it was gone. `claimant` is the task that processes the interval, and `parts` are the parts of its work;
    records of version 4 have neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[4, 5]
    consumer: str
    stream: StoredStream
    interval: str
    start: str
    end: str
    number: int = 0
    follows: bool = False
    since: StoredTime | None = None
    until: StoredTime | None = None
    state: IntervalState = IntervalState.OPEN
    recorded_by: str
    recorded_at: StoredTime
    changed_by: str | None = None
    changed_at: StoredTime | None = None
    reason: str | None = None
    changes: int = 0
    skipped_from: str | None = None
    skipped_bytes: int | None = None
    skipped_because: str | None = None
    claimant: Claimant | None = None
    parts: tuple[Part, ...] = ()

    @classmethod
    def new(
        cls,
        interval: Interval,
        taken: StreamCutRange,
        *,
        by: str | None,
        number: int,
        follows: bool = False,
        times: tuple[datetime, datetime] | None = None,
        skipped: "SkippedPart | None" = None,
        claimant: Claimant | None = None,
    ) -> Self:
        """The record of an interval that gets its range now."""
        since, until = times or (None, None)
        return cls(
            version=VERSION,
            consumer=interval.consumer,
            stream=interval.stream,
            interval=interval.name,
            start=taken.start.to_text(),
            end=taken.end.to_text(),
            number=number,
            follows=follows,
            since=since,
            until=until,
            recorded_by=by or myself(),
            recorded_at=datetime.now(UTC),
            claimant=claimant,
            **(skipped.fields if skipped else {}),
        )

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """Read a value of the table.

        Raises:
            LedgerError: it is of another version, or not a record of a cut ledger.
        """
        found = object_in(value)
        version = None if found is None else _version_of(found)
        if found is not None and version is not None and not has_version(found, *_READ):
            raise LedgerError(
                f"a record of version {version} of a cut ledger, which another release has made: this one reads "
                f"version {VERSION}. Use that release, or another ledger"
            )
        try:
            if found is None:
                raise ValueError("it is not one JSON object with each name once")
            record = cls.model_validate_json(without_checksum(value), strict=True)
            _ = record.identity, record.range
            return record
        except ValueError as error:  # of pydantic, of a cut, of a name
            raise LedgerError(
                f"not a record of a cut ledger of version {VERSION} ({error}): is it of another release, or is this "
                "table used for something else?"
            ) from None

    def to_json(self) -> bytes:
        """A value of the table."""
        return with_checksum(self.model_dump_json(exclude_defaults=True))

    def changed(self, state: IntervalState, by: str | None, reason: str | None = None, **fields: object) -> Self:
        """This record in another state from now on."""
        change = {"changed_by": by or myself(), "changed_at": datetime.now(UTC), "reason": reason}
        return self._with(state=state, **change, **fields)

    def expecting(self, names: Sequence[str], claimant: Claimant | None) -> Self:
        """This record with the parts that its claimant has to do; the parts of an earlier try stay.

        It is another record in any case: a take-over that has judged the earlier try starts again.
        """
        known = {part.name: part for part in self.parts} if claimant == self.claimant else {}
        parts = tuple(known.get(name) or Part(name=name) for name in names)
        parts += tuple(part for name, part in known.items() if name not in names)
        return self._with(parts=parts, claimant=claimant)

    def with_part(self, part: Part) -> Self:
        """This record with a part instead of the one of its name."""
        if part.name not in {each.name for each in self.parts}:
            return self._with(parts=(*self.parts, part))
        return self._with(parts=tuple(part if each.name == part.name else each for each in self.parts))

    def part(self, name: str) -> Part:
        """The part of this name; a new one if the record does not have it."""
        return next((part for part in self.parts if part.name == name), Part(name=name))

    def _with(self, **fields: object) -> Self:
        return self.model_copy(update={"version": VERSION, "changes": self.changes + 1, **fields})

    @property
    def identity(self) -> Interval:
        """The interval that this is the record of."""
        return Interval(self.consumer, self.stream, self.interval)

    @property
    def range(self) -> StreamCutRange:
        """The range of the interval."""
        return StreamCutRange(_cut_of(self.start), _cut_of(self.end))

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """The event times that the interval stands for, if it is one of time."""
        return None if self.since is None or self.until is None else (self.since, self.until)

    @property
    def is_done(self) -> bool:
        """True if the interval has been processed."""
        return self.state is IntervalState.DONE

    @property
    def is_waiting(self) -> bool:
        """True if the interval is still to be processed: it is open, or has failed."""
        return self.state in (IntervalState.OPEN, IntervalState.FAILED)

    @property
    def state_since(self) -> datetime:
        """Since when it is in its state."""
        return self.changed_at or self.recorded_at

    @property
    def sort_key(self) -> tuple[datetime, int, datetime]:
        """The key that puts the records of a consumer in order: event times if it has them, otherwise numbers."""
        return self.since or datetime.min.replace(tzinfo=UTC), self.number, self.recorded_at


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A part that a range leaves out at its beginning, because it is gone: its start, its bytes, and the reason."""

    start: StreamCut
    size: int | None
    reason: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a record for the part."""
        return {"skipped_from": self.start.to_text(), "skipped_bytes": self.size, "skipped_because": self.reason}


def _version_of(found: dict[str, Any]) -> object:
    """The version that a value of the table names; None: the value is not a record of a cut ledger."""
    return found.get("version", _UNSAID) if found.keys() & {"version", "consumer"} else None
