"""The ledger of copies of topics: for each stream its topic, the steps with their offsets and cuts, and groups' cuts.

It is the key-value table `kafka-copies` of the stream's scope. The entry of a step has the end offsets of its records,
and is stored before any of them is read: the first writer decides, and the next caller finishes the step with the same
offsets. The events of a step are one exactly-once write, whose id is derived from the entry. When that is done, the
entry gets the cuts before and after its events. A stream has one copy; a stream that is made again has none.
"""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from aiopravega import PravegaClient, StreamCut, StreamName, blocking
from aiopravega.errors import TableConflictError, TableNotFoundError, TopicCopyError
from aiopravega.ledger import CommitRecord
from aiopravega.ledger.stored_json import StoredStream, StoredTime, myself, read_value, with_checksum
from pravega_jobs.kafka.cluster import Offsets, Topic
from pravega_jobs.kafka.events import CopyOptions

COPY_TABLE: Final = "kafka-copies"
VERSION: Final = 1
_HALF_KEY: Final = 16
KEY_LENGTH: Final = 2 * _HALF_KEY
_HEADER: Final = bytes(_HALF_KEY)
_STEP: Final = b"\1"
_GROUP: Final = b"\2"
_LAST: Final = b"\xff" * _HALF_KEY


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = VERSION

    def to_json(self) -> bytes:
        """A value of the table."""
        return with_checksum(self.model_dump_json(exclude_none=True))


class CopyRecord(_Stored):
    """A copy: its topic and cluster with their ids, its options, and the first offset of each partition."""

    stream: StoredStream
    topic: str
    topic_id: str
    cluster: str
    options: CopyOptions
    commit_ledger: str
    starts: Offsets
    begun_at: StoredTime
    begun_by: str


class StepCuts(BaseModel):
    """The result of a step: the cuts before and after its events, which no reader of records changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: str
    end: str
    events: int = Field(ge=0)
    bytes: int = Field(ge=0)
    done_at: StoredTime


class CopyStep(_Stored):
    """A step of a copy: the records from `starts` on and before `ends`; `cuts` are None until it is done.

    A step that starts after the end of the one before it leaves out records that Kafka had deleted.
    """

    number: int = Field(ge=1)
    starts: Offsets
    ends: Offsets
    fixed_at: StoredTime
    fixed_by: str
    cuts: StepCuts | None = None

    def done(self, record: CommitRecord) -> "CopyStep":
        """This step with the cuts of its write.

        Raises:
            TopicCopyError: the write has no cuts.
        """
        if record.start is None or record.end is None or record.done_at is None:
            raise TopicCopyError(
                f"{record.name} has no cuts: its account may not read the stream. A copy needs them: allow READ_UPDATE"
            )
        cuts = StepCuts(
            start=record.start,
            end=record.end,
            events=record.total_events,
            bytes=record.total_bytes,
            done_at=record.done_at,
        )
        return self.model_copy(update={"cuts": cuts})

    @property
    def end(self) -> StreamCut:
        """The cut after its events, once it is done.

        Raises:
            TopicCopyError: it is not done.
        """
        if self.cuts is None:
            raise TopicCopyError(f"step {self.number} is not done: run the copy again, which finishes it")
        return StreamCut.from_text(self.cuts.end)


class GroupCut(_Stored):
    """The cut at which the consumers of a group continue in the stream, and their offsets in Kafka there.

    `repeats` is the number of records that the group had processed in Kafka and gets again.
    """

    group: str
    offsets: Offsets
    step: int
    cut: str
    repeats: int
    decided_at: StoredTime
    decided_by: str


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step as it was found, with the version that a change has to meet."""

    step: CopyStep
    version: int


@dataclass(frozen=True, slots=True)
class CopyState:
    """All that the ledger has about the copy into a stream: the copy, its steps, and the cuts of groups."""

    record: CopyRecord
    steps: tuple[CopyStep, ...]
    groups: tuple[GroupCut, ...]

    def to_json(self) -> dict[str, Any]:
        """The state as values of JSON."""
        return {
            "copy": self.record.model_dump(mode="json"),
            "steps": [step.model_dump(mode="json") for step in self.steps],
            "groups": [cut.model_dump(mode="json") for cut in self.groups],
        }


def copy_of(client: blocking.PravegaClient, stream: StreamName | str) -> CopyState:
    """The copy that a stream has.

    Raises:
        TopicCopyError: it has none.
        StreamNotFoundError: there is no such stream.
    """
    ledger = client.run(CopyLedger.of(client.asynchronous, StreamName.of(stream)))
    record = client.run(ledger.begun())
    if record is None:
        raise TopicCopyError(f"{stream} has no copy of a topic")
    return CopyState(record, tuple(client.run(ledger.steps())), tuple(client.run(ledger.groups())))


def cut_after(steps: Sequence[CopyStep], position: int) -> StreamCut:
    """The cut before all steps, at 0, or after that many of them."""
    if position:
        return steps[position - 1].end
    cuts = steps[0].cuts
    if cuts is None:
        raise TopicCopyError("the first step is not done: run the copy again, which finishes it")
    return StreamCut.from_text(cuts.start)


def later(one: Offsets, other: Offsets) -> Offsets:
    """The later of two offsets, partition by partition; partitions may have been added."""
    return tuple(max(pair) for pair in zip_longest(one, other, fillvalue=0))


class CopyLedger:
    """The entries of the copy into a stream.

    Raises:
        LedgerError: on reading, an entry is damaged, or of another version.
    """

    def __init__(self, client: PravegaClient, stream: StreamName, incarnation: int) -> None:
        self._stream = stream
        self._table = client.table(stream.scope, COPY_TABLE)
        identity = f"copy\0{stream}\0{incarnation}".encode()
        self._prefix = hashlib.sha256(identity).digest()[:_HALF_KEY]

    @classmethod
    async def of(cls, client: PravegaClient, stream: StreamName) -> "CopyLedger":
        """The ledger of the copy into a stream as it is now.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        return cls(client, stream, (await client.controller.first_segment(stream)).number)

    async def begun(self) -> CopyRecord | None:
        """The copy into the stream; None: there is none."""
        try:
            found = await self._table.get(self._prefix + _HEADER)
        except TableNotFoundError:
            return None
        return None if found is None else read_value(CopyRecord, found.value, VERSION, "a copy of a topic")

    async def begin(self, topic: Topic, options: CopyOptions, commit_ledger: str, starts: Offsets) -> CopyRecord:
        """Begin a copy, or find the one that was begun by anybody."""
        await self._table.create_if_missing(KEY_LENGTH)
        record = CopyRecord(
            stream=self._stream,
            topic=topic.name,
            topic_id=topic.id,
            cluster=topic.cluster,
            options=options,
            commit_ledger=commit_ledger,
            starts=starts,
            begun_at=datetime.now(UTC),
            begun_by=myself(),
        )
        with contextlib.suppress(TableConflictError):
            await self._table.put_if_absent(self._prefix + _HEADER, record.to_json())
        return await self.begun() or record

    async def last(self, known: int = 0) -> StoredStep | None:
        """The last step that was fixed; `known` is the number of one that is there, which makes it quicker."""
        number = known
        async for keys in self._table.key_pages(self._step_key(known), self._step_key(None)):
            number = max(number, *(int.from_bytes(key[_HALF_KEY + 1 :], "big") for key in keys))
        if not number:
            return None
        entry = await self._table.get(self._step_key(number))
        assert entry is not None
        return StoredStep(_step(entry.value), entry.version)

    async def steps(self) -> list[CopyStep]:
        """All steps in their order."""
        return sorted([step async for step in self._steps()], key=lambda step: step.number)

    async def fix(self, number: int, starts: Offsets, ends: Offsets) -> None:
        """Fix the offsets of the next step, unless another process has fixed it."""
        step = CopyStep(number=number, starts=starts, ends=ends, fixed_at=datetime.now(UTC), fixed_by=myself())
        with contextlib.suppress(TableConflictError):
            await self._table.put_if_absent(self._step_key(number), step.to_json())

    async def change(self, found: StoredStep, step: CopyStep) -> None:
        """Change a step, unless another process has changed it."""
        with contextlib.suppress(TableConflictError):
            await self._table.replace(self._step_key(step.number), step.to_json(), found.version)

    async def decide(self, cut: GroupCut) -> GroupCut:
        """Store the cut of a group, or find the one that was stored before."""
        with contextlib.suppress(TableConflictError):
            await self._table.put_if_absent(self._group_key(cut.group), cut.to_json())
        return await self.group(cut.group) or cut

    async def group(self, group: str) -> GroupCut | None:
        """The cut of a group, if it was decided."""
        found = await self._table.get(self._group_key(group))
        return None if found is None else _group(found.value)

    async def groups(self) -> list[GroupCut]:
        """The cuts of all groups."""
        entries = self._table.entries(self._prefix + _GROUP.ljust(_HALF_KEY, b"\0"), self._prefix + _LAST)
        return sorted([_group(entry.value) async for entry in entries], key=lambda cut: cut.group)

    async def forget_group(self, group: str) -> None:
        """Forget the cut of a group, because its consumers have gone back to Kafka."""
        await self._table.remove(self._group_key(group))

    async def _steps(self) -> AsyncIterator[CopyStep]:
        async for entry in self._table.entries(self._step_key(0), self._step_key(None)):
            yield _step(entry.value)

    def _step_key(self, number: int | None) -> bytes:
        """The key of a step; None: the last key that a step can have."""
        text = _LAST[1:] if number is None else number.to_bytes(_HALF_KEY - 1, "big")
        return self._prefix + _STEP + text

    def _group_key(self, group: str) -> bytes:
        return self._prefix + _GROUP + hashlib.sha256(group.encode()).digest()[: _HALF_KEY - 1]


def _step(value: bytes) -> CopyStep:
    return read_value(CopyStep, value, VERSION, "a step of a copy")


def _group(value: bytes) -> GroupCut:
    return read_value(GroupCut, value, VERSION, "the cut of a consumer group")
