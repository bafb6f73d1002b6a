"""The ledger of late events: how far a consumer's stream was searched, and what was found for each interval.

It is the key-value table `late-events` of the stream's scope. A consumer has one record of its last search, and one for
each interval with late events. The records of intervals are stored first, each with the cut up to which it counts, and
the record of the search last: a search that was killed in between is repeated, and counts no event twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.ledger import Interval
from aiopravega.ledger.intervals.cut_record import KEY_LENGTH, first_key, last_key
from aiopravega.ledger.stored_json import StoredStream, StoredTime, read_value, with_checksum

LATE_TABLE: Final = "late-events"
VERSION: Final = 1
Times: TypeAlias = tuple[datetime, datetime]
_MICROSECOND: Final = timedelta(microseconds=1)
# Records that are stored at once.
_PAGE: Final = 100


class IntervalRun(BaseModel):
    """Intervals of one length, each `step` after the one before; lengths and steps are in microseconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: StoredTime
    length: int = Field(gt=0)
    step: int = Field(ge=0)
    count: int = Field(ge=1)

    @property
    def times(self) -> Iterable[Times]:
        """The event times of its intervals."""
        for number in range(self.count):
            since = self.first + number * self.step * _MICROSECOND
            yield since, since + self.length * _MICROSECOND


def runs_of(intervals: Iterable[Times]) -> tuple[IntervalRun, ...]:
    """The runs that have these intervals: a year of hours is one."""
    runs: list[IntervalRun] = []
    for since, length in sorted(
        {(since, (until - since) // _MICROSECOND) for since, until in intervals}, key=_by_length
    ):
        last = runs[-1] if runs else None
        step = 0 if last is None else (since - last.first) // _MICROSECOND
        if last is not None and last.length == length and (last.count == 1 or step == last.step * last.count):
            step = step if last.count == 1 else last.step
            runs[-1] = last.model_copy(update={"step": step, "count": last.count + 1})
        else:
            runs.append(IntervalRun(first=since, length=length, step=0, count=1))
    return tuple(runs)


def _by_length(interval: tuple[datetime, int]) -> tuple[int, datetime]:
    since, length = interval
    return length, since


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = VERSION
    consumer: str
    stream: StoredStream
    end: str

    @property
    def cut(self) -> StreamCut:
        """The cut up to which the record counts."""
        return StreamCut.from_text(self.end)

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """Read a value of the table.

        Raises:
            LedgerError: it is damaged, or of another version.
        """
        return read_value(cls, value, VERSION, "a record of late events")

    def to_json(self) -> bytes:
        """A value of the table, with its version."""
        return with_checksum(self.model_dump_json())


class SearchRecord(_Stored):
    """The last search of a consumer's stream: up to `end` all late events of the intervals `known` are counted."""

    known: tuple[IntervalRun, ...]
    searched_at: StoredTime
    searched_by: str

    @property
    def intervals(self) -> frozenset[Times]:
        """The event times of the intervals that the search knew."""
        return frozenset(times for run in self.known for times in run.times)


class LateRecord(_Stored):
    """The late events of one interval, from the end of its newest claim to `end`.

    `claim` is the number of that claim. `first` and `last` are the texts of pointers, in the order of the search, and
    `found_at` is the moment at which the first event was found; all are None if there are no events.
    """

    interval: str
    since: StoredTime
    until: StoredTime
    claim: int = Field(ge=1)
    events: int = Field(ge=0)
    first: str | None = None
    last: str | None = None
    found_at: StoredTime | None = None


@dataclass(frozen=True, slots=True)
class SearchState:
    """All that the ledger has about a consumer: its last search, and records by the names of intervals."""

    search: SearchRecord | None = None
    late: Mapping[str, LateRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a search makes, in their order: records of intervals, removals, and the search itself."""

    put: Sequence[LateRecord]
    remove: Sequence[str]
    search: SearchRecord | None


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state as it was read, with the versions that a change has to meet."""

    state: SearchState
    versions: Mapping[bytes, int]


class LateLedger:
    """The ledger of late events of one consumer of a stream.

    Raises:
        LedgerError: on reading, a record is damaged, or of another version.
    """

    def __init__(self, client: PravegaClient, stream: StreamName, consumer: str) -> None:
        self._stream = stream
        self._consumer = consumer
        self._table = client.table(stream.scope, LATE_TABLE)

    async def read(self) -> StoredState:
        """The state of the consumer; the table is made if need be."""
        await self._table.create_if_missing(KEY_LENGTH)
        first, search = first_key(self._consumer, self._stream), None
        late: dict[str, LateRecord] = {}
        versions: dict[bytes, int] = {}
        async for entry in self._table.entries(first, last_key(self._consumer, self._stream)):
            versions[entry.key] = entry.version
            if entry.key == first:
                search = SearchRecord.from_json(entry.value)
            else:
                record = LateRecord.from_json(entry.value)
                late[record.interval] = record
        return StoredState(SearchState(search, late), versions)

    async def store(self, found: StoredState, changes: Changes) -> None:
        """Store the changes of a search that began with `found`; a repeated search stores what is missing.

        Raises:
            TableConflictError: another search has stored something meanwhile: begin again with `read`.
        """
        records = iter(changes.put)
        while some := list(islice(records, _PAGE)):
            keys = {self._key(record.interval): record.to_json() for record in some}
            await self._table.replace_all({key: (value, found.versions.get(key)) for key, value in keys.items()})
        for name in changes.remove:
            key = self._key(name)
            await self._table.remove(key, found.versions[key])
        if changes.search is not None:
            key = first_key(self._consumer, self._stream)
            await self._table.replace_all({key: (changes.search.to_json(), found.versions.get(key))})

    def _key(self, interval: str) -> bytes:
        return Interval(self._consumer, self._stream, interval).key
