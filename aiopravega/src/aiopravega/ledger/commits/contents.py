"""The state of a write, and its contents: partitions, further streams, tables, the errors of its source. No I/O."""

from enum import StrEnum
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from aiopravega.ledger.stored_json import StoredStream, StoredTime


class CommitState(StrEnum):
    """The progress of a write. Before the first state it does not have a record.

    CLOSED: no attempt may decide it, because the range that it was for was taken over. REOPENED: attempts that begin
    from now on may. PART: its stream has a part of a write into several streams; the record of another one has it.
    """

    PREPARED = "prepared"
    DONE = "done"
    CLOSED = "closed"
    REOPENED = "reopened"
    PART = "part"


class PartitionCommit(BaseModel):
    """One partition of a write: its transaction and what is in it.

    `bytes` counts the events with their headers. `hashes` is the sum of the rows' hashes (`Fingerprint`), None in a
    record of an older release. `checksum` is made by the writer of the hashes in the order of the partition's rows, so
    that a repetition of the partition can be recognised. `stream` is the stream of the transaction, None: the first
    stream of the write, which most writes have only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    partition: int = Field(ge=0)
    txn_id: UUID
    events: int = Field(ge=0)
    bytes: int = Field(ge=0)
    checksum: str
    hashes: int | None = Field(default=None, ge=0, lt=1 << 64)
    stream: StoredStream | None = None


class WriteErrors(BaseModel):
    """The errors of a write: events of its source that could not become rows, in a stream of their own.

    They are written before the record of the write, under a name that is made of them. They count if the record names
    them: so one decision is for rows and errors.

    `sink` is the text of the errors stream, `stream:scope/name`. `consumer` and `interval` say whose work the write is
    a part of. `name` is None if there are no errors. `first` is a sample: the pointer and the reason of one of them.
    `replays` is the name of the errors that the write has mended as far as it could, if it is a replay: the errors
    under `name` are left of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sink: str = Field(min_length=1)
    consumer: str = Field(min_length=1)
    interval: str = Field(min_length=1)
    rows: int = Field(ge=0)
    name: str | None = None
    first: str | None = None
    replays: str | None = None

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if (self.name is None) != (self.rows == 0):
            raise ValueError(f"{self.rows} errors under the name {self.name!r}")
        return self


class OtherSink(BaseModel):
    """A further stream of a write into several: its incarnation, cuts before and after its events, and its errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stream: StoredStream
    incarnation: int
    start: str | None = None
    end: str | None = None
    errors: WriteErrors | None = None


class TableSink(BaseModel):
    """A table among the sinks of a write, which gets its rows when the write is decided, by the write's own job.

    `target` is the location of the table, without secrets; `consumer`, `interval` and `generation` name the rows that
    it holds then. `landed_at` is the time at which the job found them there; None: it has not, as far as is known.
    Others cannot do it, since only the job has the rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str = Field(min_length=1)
    consumer: str = Field(min_length=1)
    interval: str = Field(min_length=1)
    generation: int = Field(default=1, ge=1)
    landed_at: StoredTime | None = None
