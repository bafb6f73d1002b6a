"""The record of one write in the commit ledger, and its JSON in the table. No I/O.

A record has a version. A reader that meets a version that it does not know stops: a guess at the meaning of a newer
release could write a job twice. Version 1 has no hashes of rows, so that its rows cannot be compared by them. Version 2
has neither cuts nor earlier generations, and no checksum of the record. Version 3 has no claimant. Version 4 has one
stream only, and no errors.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import LedgerError
from aiopravega.ledger.commits.contents import CommitState, OtherSink, PartitionCommit, TableSink, WriteErrors
from aiopravega.ledger.commits.fingerprint import Fingerprint
from aiopravega.ledger.commits.keys import described
from aiopravega.ledger.stored_json import (
    StoredStream,
    StoredTime,
    has_version,
    object_in,
    with_checksum,
    without_checksum,
)
from aiopravega.names import StreamName

RECORD_VERSION: Literal[5] = 5
# The first version that has a checksum, and is read as it is.
_CHECKED_VERSION: Literal[3] = 3
_READ_VERSIONS: Final = (1, 2, _CHECKED_VERSION, 4, RECORD_VERSION)
# Values of Pravega's tables are at most 1 MiB less 8 KiB for the key (`TableSegment.MAXIMUM_VALUE_LENGTH`).
LARGEST_RECORD = 1024 * 1024 - 8192
# The longest text of a cut that a record takes: a stream of some thousands of segments has it.
LONGEST_CUT: Final = 32 * 1024
# A record grows by so many bytes for each stream when it is done: its end, and the time.
_GROWTH: Final = LONGEST_CUT + 1024


def _as_of_now(_: int) -> Literal[5]:
    """The version in which a record that was read is stored again."""
    return RECORD_VERSION


class CommitRecord(BaseModel):
    """One write, decided: from `prepared` on, its transactions are to be committed.

    `sink` is its stream. A write into several streams is decided by one record, that of the first stream by name;
    `others` are the further ones, each with a record in the state `part`, whose `main` is the first stream. `tables`
    get their rows after it is decided.

    `incarnation` is the number of the stream's first segment. It distinguishes a stream from a deleted one of the same
    name, whose events are not in this one. `attempt` distinguishes two runs of the same write. `by` is the author of
    the decision. `claimant` is the work that made it, a text of the caller such as a run and its step, by which a later
    try recognises its own write; None: it was not said. `resolved` says that a person has decided about the write: then
    it may differ from the job's rows. `retain` is the number of seconds for which it is remembered after it is done,
    None: forever. `witnessed_at` is a time of the servers' clock before it was decided.

    `start` and `end` are texts of the cuts before and after its events: the stream's tail before it was decided, and
    after all was visible; None: it was not noted. `errors` are the errors of the source of the first stream's rows, if
    they are kept. `earlier` are the records of the earlier generations of the write, the first one first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[Literal[3, 4, 5], AfterValidator(_as_of_now)] = RECORD_VERSION
    state: CommitState
    sink: StoredStream
    incarnation: int
    write_id: str = Field(min_length=1)
    attempt: UUID
    partitions: tuple[PartitionCommit, ...]
    prepared_at: StoredTime
    done_at: StoredTime | None = None
    by: str = ""
    claimant: str | None = None
    resolved: bool = False
    retain: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    witnessed_at: StoredTime | None = None
    start: str | None = None
    end: str | None = None
    errors: WriteErrors | None = None
    earlier: tuple["CommitRecord", ...] = ()
    others: tuple[OtherSink, ...] = ()
    main: StoredStream | None = None
    tables: tuple[TableSink, ...] = ()

    @model_validator(mode="after")
    def _check_earlier(self) -> Self:
        for record in self.earlier:
            same = (record.incarnations, record.write_id) == (self.incarnations, self.write_id)
            if not same or record.earlier or record.state is not CommitState.DONE:
                raise ValueError(f"{record.name}, {record.attempt}, is not an earlier generation of {self.name}")
        if len(set(self.streams)) != len(self.streams):
            raise ValueError(f"{self.name} has a stream twice")
        if strange := {part.stream or self.sink for part in self.partitions}.difference(self.streams):
            raise ValueError(f"{self.name} has a partition in {min(strange)}")
        return self

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The streams of the write, in the order of their names."""
        return (self.sink, *(other.stream for other in self.others))

    @property
    def incarnations(self) -> dict[StreamName, int]:
        """The incarnation of each stream."""
        return {self.sink: self.incarnation} | {other.stream: other.incarnation for other in self.others}

    @property
    def starts(self) -> tuple[str | None, ...]:
        """The cuts before its events, in the order of its streams."""
        return (self.start, *(other.start for other in self.others))

    def of(self, stream: StreamName) -> Self:
        """The part of a stream, as the record of a write to that stream alone.

        Raises:
            LedgerError: the write has no part in the stream.
        """
        if not self.others and stream == self.sink:
            return self
        mine = next((other for other in self.others if other.stream == stream), None)
        if mine is None and stream != self.sink:
            raise LedgerError(f"{self.name} has no part in {stream}")
        parts = tuple(
            part.model_copy(update={"stream": None}) for part in self.partitions if (part.stream or self.sink) == stream
        )
        changes: dict[str, object] = {
            "partitions": parts,
            "others": (),
            "tables": (),
            "earlier": tuple(record.of(stream) for record in self.earlier),
        }
        if mine is not None:
            changes |= {name: getattr(mine, name) for name in ("incarnation", "start", "end", "errors")}
            changes["sink"] = stream
        return self.model_copy(update=changes)

    @property
    def waiting_tables(self) -> tuple[str, ...]:
        """The locations of the tables that do not have their rows, as far as is known."""
        return tuple(table.target for table in self.tables if table.landed_at is None)

    def landed(self, at: datetime) -> Self:
        """The same record with the rows in all of its tables."""
        tables = [each.model_copy(update={"landed_at": each.landed_at or at}) for each in self.tables]
        return self.model_copy(update={"tables": tuple(tables)})

    @property
    def generation(self) -> int:
        """The number of this generation of the write, from 1 on."""
        return len(self.earlier) + 1

    @property
    def generations(self) -> "tuple[CommitRecord, ...]":
        """All generations of the write up to this one, the first one first."""
        older = (record.model_copy(update={"earlier": self.earlier[:i]}) for i, record in enumerate(self.earlier))
        return (*older, self)

    @property
    def cuts(self) -> StreamCutRange | None:
        """The range of its events, and perhaps of others that were written meanwhile; None: it was not noted.

        An end that is not bounded was not noted.

        Raises:
            InvalidStreamCutError: the record is damaged.
        """
        if self.start is None and self.end is None:
            return None
        texts = (self.start, self.end)
        return StreamCutRange(*(UNBOUNDED if text is None else StreamCut.from_text(text) for text in texts))

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint of its rows; None if a partition was written by a release that made no hashes."""
        total = Fingerprint()
        for part in self.partitions:
            if part.hashes is None:
                return None
            total += Fingerprint(part.events, part.bytes, part.hashes)
        return total

    @property
    def total_events(self) -> int:
        """Events of all partitions."""
        return sum(partition.events for partition in self.partitions)

    @property
    def total_bytes(self) -> int:
        """Bytes of all partitions, event headers included."""
        return sum(partition.bytes for partition in self.partitions)

    @property
    def amount(self) -> str:
        """Its events and bytes, for messages."""
        return Fingerprint(self.total_events, self.total_bytes).amount

    @property
    def transactions(self) -> frozenset[UUID]:
        """The transactions of all partitions."""
        return frozenset(partition.txn_id for partition in self.partitions)

    @property
    def name(self) -> str:
        """The write and its generation, for messages."""
        return described(self.streams, self.write_id, self.generation)

    @property
    def expires_at(self) -> datetime | None:
        """The time from which it may be forgotten, with all earlier generations; None: never by itself.

        It counts from the later time of two clocks, the finisher's and the servers': a clock that is behind shortens
        nothing. A write that no server has witnessed is kept, unless it has no rows: then nothing can double.
        """
        times = [_expiry(record) for record in (*self.earlier, self)]
        known = [time for time in times if time is not None]
        return max(known) if len(known) == len(times) else None

    def done(self, at: datetime, *ends: str | None) -> Self:
        """The same record after the last commit, at the cuts `ends` of its streams; none: they were not noted."""
        return self.ending(*ends).model_copy(update={"state": CommitState.DONE, "done_at": at})

    def ending(self, *ends: str | None) -> Self:
        """The same record with these cuts after its events, in the order of its streams."""
        end, *rest = ends or [None] * len(self.streams)
        others = [other.model_copy(update={"end": its}) for other, its in zip(self.others, rest, strict=True)]
        return self.model_copy(update={"end": end, "others": tuple(others)})

    def to_json(self) -> bytes:
        """The value for the table.

        Raises:
            LedgerError: the record is larger than a table takes: too many partitions.
        """
        value = with_checksum(self.model_dump_json(exclude_none=True))
        largest = LARGEST_RECORD - (_GROWTH * len(self.streams) if self.state is CommitState.PREPARED else 0)
        if len(value) > largest:
            partitions = sum(len(record.partitions) for record in (*self.earlier, self))
            raise LedgerError(
                f"{self.name}: a record of {partitions:,} partitions, earlier generations included, has "
                f"{len(value):,} bytes, and the ledger takes {largest:,}; nothing was committed. Write fewer "
                "partitions (coalesce)."
            )
        return value

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """Read a value of the table.

        Raises:
            LedgerError: it is a record of another version, or no record at all.
        """
        found = object_in(value)
        if found is None or "version" not in found:
            raise LedgerError(
                f"not a record of a commit ledger: {value[:80]!r}; is this table used for something else?"
            )
        if not has_version(found, *_READ_VERSIONS):
            raise LedgerError(
                f"a ledger record of version {found['version']!r:.80}, but this release reads up to {RECORD_VERSION}: "
                "use the release that wrote it, or a newer one"
            )
        try:
            if found["version"] >= _CHECKED_VERSION:
                content = without_checksum(value)
            else:
                content = json.dumps(found | {"version": _CHECKED_VERSION}).encode()
            record = cls.model_validate_json(content, strict=True)
        except ValueError as error:  # pydantic's are
            raise LedgerError(f"a damaged ledger record: {error}") from None
        if (record.state is CommitState.DONE) != (record.done_at is not None):
            raise LedgerError(f"a damaged ledger record: it is {record.state.value}, and ended at {record.done_at}")
        if len({part.partition for part in record.partitions}) != len(record.partitions):
            raise LedgerError("a damaged ledger record: a partition is in it twice")
        return record


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """A record as it was found, with the `version` that a conditional update has to meet."""

    record: CommitRecord
    version: int


def _expiry(record: CommitRecord) -> datetime | None:
    """The time from which a generation may be forgotten, by its own record."""
    is_unwitnessed = record.witnessed_at is None and record.total_events
    if record.done_at is None or record.retain is None or record.waiting_tables or is_unwitnessed:
        return None
    try:
        return max(record.done_at, record.witnessed_at or record.done_at) + timedelta(seconds=record.retain)
    except OverflowError:  # after all times that there are
        return None
