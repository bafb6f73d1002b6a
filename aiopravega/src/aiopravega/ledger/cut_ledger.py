"""The cut ledger: which range of a stream belongs to which interval of a consumer, in a key-value table.

A consumer takes a stream range by range, one for each interval that its scheduler names. An interval that comes
again finds its range; a new one can start where the last one ended. Two keys hold this: one per interval, and one per
consumer for the last range. The last one is put first and decides; whoever comes next completes the interval's own
record, so that a crash between the two puts loses nothing. Schedulers are not known here.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import LedgerError
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

CUT_TABLE: Final = "cut-ledger"
_KEY_LENGTH: Final = hashlib.sha256().digest_size
# A ledger sees a few updates per run of a task: one partition is plenty.
_PARTITIONS: Final = 1


@dataclass(frozen=True, slots=True)
class Interval:
    """What a scheduler names: one run of one consumer of one stream."""

    consumer: str
    stream: StreamName
    name: str

    @property
    def key(self) -> bytes:
        """The key of this interval's range."""
        return hashlib.sha256(f"interval\0{self.stream}\0{self.consumer}\0{self.name}".encode()).digest()

    @property
    def last_key(self) -> bytes:
        """The key of the consumer's last range."""
        return hashlib.sha256(f"last\0{self.stream}\0{self.consumer}".encode()).digest()

    def __str__(self) -> str:
        return f"interval {self.name!r} of {self.consumer!r} on {self.stream}"


class _Record(BaseModel):
    """A value of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    consumer: str
    stream: StreamName
    interval: str
    start: str
    end: str
    recorded_at: AwareDatetime

    @classmethod
    def of(cls, interval: Interval, taken: StreamCutRange) -> Self:
        return cls(
            consumer=interval.consumer,
            stream=interval.stream,
            interval=interval.name,
            start=taken.start.to_text(),
            end=taken.end.to_text(),
            recorded_at=datetime.now(UTC),
        )

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        try:
            return cls.model_validate_json(value)
        except ValidationError as error:
            raise LedgerError(
                f"not a record of a cut ledger of version 1 ({error}): is it of a newer release, or the table used "
                "for else?"
            ) from None

    @property
    def range(self) -> StreamCutRange:
        return StreamCutRange(StreamCut.from_text(self.start), StreamCut.from_text(self.end))


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A consumer's last range as it was found; `version` is what a conditional update has to meet."""

    interval: str
    range: StreamCutRange
    version: int


class CutLedger:
    """The ranges of intervals in the table `scope/table`."""

    def __init__(self, controller: Controller, store: SegmentStore, scope: str, table: str = CUT_TABLE) -> None:
        self.scope = scope
        self.table = table
        self._controller = controller
        self._table = KeyValueTable(controller, store, scope, table)

    async def create(self) -> bool:
        """Make the table; returns False if it exists already.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        return await self._controller.create_table(self.scope, self.table, _PARTITIONS, _KEY_LENGTH)

    async def recorded(self, interval: Interval) -> StreamCutRange | None:
        """The range of an interval, or None: it has none yet.

        Raises:
            TableNotFoundError: there is no ledger at this place.
            LedgerError: the record is of another version.
        """
        last = await self.last(interval)
        if last is not None and last.interval == interval.name:
            return last.range
        entry = await self._table.get(interval.key)
        return None if entry is None else _Record.from_json(entry.value).range

    async def last(self, interval: Interval) -> StoredRange | None:
        """The range that the interval's consumer took last, in whatever interval; None: it never took one.

        Raises:
            TableNotFoundError: there is no ledger at this place.
            LedgerError: the record is of another version.
        """
        entry = await self._table.get(interval.last_key)
        if entry is None:
            return None
        record = _Record.from_json(entry.value)
        return StoredRange(record.interval, record.range, entry.version)

    async def record(self, interval: Interval, taken: StreamCutRange, after: StoredRange | None) -> None:
        """Record the range of an interval; it becomes the consumer's last one. An older one of the interval goes.

        `after` is what `last` found before the range was chosen.

        Raises:
            TableConflictError: the consumer took another range meanwhile: nothing is recorded. Look again.
        """
        if after is not None and after.interval != interval.name:
            # Whoever recorded it may have died before its own record.
            previous = Interval(interval.consumer, interval.stream, after.interval)
            await self._table.put(previous.key, _Record.of(previous, after.range).model_dump_json().encode())
        value = _Record.of(interval, taken).model_dump_json().encode()
        if after is None:
            await self._table.put_if_absent(interval.last_key, value)
        else:
            await self._table.replace(interval.last_key, value, after.version)
        await self._table.put(interval.key, value)
