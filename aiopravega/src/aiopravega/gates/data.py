"""The gate for data: a check that events decode with the schemas that they claim.

An event claims a schema by the encoding id in its header. It is decoded with exactly that schema, not with the newest
one, and JSON is validated by its JSON Schema.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any, Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import CodecNotRegisteredError, MalformedEventError, SchemaNotFoundError
from aiopravega.gates.sampling import hold_sample, sampled_events
from aiopravega.names import StreamName
from aiopravega.read import Event, EventPointer
from aiopravega.schema import (
    EncodingCache,
    GroupId,
    SchemaFormat,
    SchemaInfo,
    SchemaRegistry,
    codec_named,
    split_header,
)
from aiopravega.schema.events import EventFormat, Read
from aiopravega.schema.open import GroupAddress, need_group
from aiopravega.schema.registry.codecs import HEADER_BYTES, NONE
from aiopravega.schema.serializers.reading import format_of

_MOST_FAILURES: Final = 20
_LONGEST_REASON: Final = 300  # characters
# Events that are decoded before the event loop can run other tasks.
_TURN: Final = 500


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
    """The report of the gate: the schemas that events of a range claim, or of a sample, and the events that fail.

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


async def check_data(
    client: PravegaClient,
    registry: SchemaRegistry,
    wanted: StreamCutRange,
    stream: StreamName | None = None,
    *,
    sample: int | None = 1000,
    group: str | None = None,
    namespace: str | None = None,
    without_header: SchemaInfo | None = None,
    forms: Iterable[EventFormat] = (),
    most_failures: int = _MOST_FAILURES,
) -> DataReport:
    """Decode events of a range, each with the schema that it claims.

    Args:
        client: of the cluster.
        registry: where the stream's group is.
        wanted: the range.
        stream: its stream; needed if both ends are unbounded.
        sample: the most events that are read, at several offsets of the range; None: all of them.
        group: name of the registry's group; by default the stream's.
        namespace: of the group; by default the scope's name, and if the group is not there, the default namespace.
        without_header: the schema of events that have no header; None: such events fail.
        forms: readers of types of custom formats.
        most_failures: the most failures that are reported with offset and reason; all are counted.

    Raises:
        GroupNotFoundError: the registry has no group for the stream.
        StreamNotFoundError: there is no such stream.
        InvalidRangeError: the range cannot be read.
        ConfigurationError: the sample is not a positive number, or a format's library is not installed.
        PravegaError: the cluster or the registry cannot be asked.
    """
    hold_sample(sample)
    resolved = await client.resolve(wanted, stream)
    name = resolved.start.stream
    assert name is not None  # it is resolved
    known_group = await need_group(registry, GroupAddress.of_stream(name, group, namespace))
    history = await registry.history(known_group.name, known_group.namespace)
    claims = _Claims(
        registry,
        GroupId.of(known_group.name, known_group.namespace, history),
        without_header,
        {form.info.type: form for form in forms},
    )
    report = _Tally(most_failures)
    async with aclosing(sampled_events(client, resolved, sample)) as events:
        async for event in events:
            report.add(event, *await claims.check(event))
            if report.events % _TURN == 0:
                await asyncio.sleep(0)
    return report.report(resolved, sampled=sample is not None)


class _Claims:
    """The schemas that the events of one group claim, by their encoding ids, and how to read each of them."""

    def __init__(
        self,
        registry: SchemaRegistry,
        group: GroupId,
        without_header: SchemaInfo | None,
        forms: dict[str, EventFormat],
    ) -> None:
        self._encodings = EncodingCache(registry)
        self._group = group
        self._without_header = without_header
        self._forms = forms
        self._known: dict[int | None, tuple[SchemaClaim, Read | str]] = {}

    async def check(self, event: Event) -> tuple[SchemaClaim, str | None]:
        """The schema that an event claims, and the reason why it does not decode with it; None: it decodes."""
        encoding_id, _ = split_header(event.data)
        if encoding_id not in self._known:
            self._known[encoding_id] = await self._learn(encoding_id)
        claim, read = self._known[encoding_id]
        if isinstance(read, str):
            return claim, read
        try:
            read(event.data)
        except MalformedEventError as error:
            return claim, str(error)
        return claim, None

    async def _learn(self, encoding_id: int | None) -> tuple[SchemaClaim, Read | str]:
        if encoding_id is None:
            info = self._without_header
            if info is None:
                return SchemaClaim(None), "it has no header of a Schema Registry, so it claims no schema"
            return SchemaClaim(None, info.type, info.format.value), self._reader(info, skip=0)
        try:
            encoding = await self._encodings.get(self._group, encoding_id)
        except SchemaNotFoundError as error:
            return SchemaClaim(encoding_id), str(error)
        info, version, codec = encoding.schema_info, encoding.version_info, encoding.codec_type.name
        claim = SchemaClaim(encoding_id, info.type, version.serialization_format, version.version, codec)
        if codec == NONE:
            return claim, self._reader(info, HEADER_BYTES)
        try:
            unpack = codec_named(codec).decompress
        except CodecNotRegisteredError as error:
            return claim, str(error)
        read = self._reader(info, skip=0)
        return claim, read if isinstance(read, str) else lambda event: read(unpack(event[HEADER_BYTES:]))

    def _reader(self, info: SchemaInfo, skip: int) -> Read | str:
        """A function that reads payloads of a schema, or the reason why there is none, as text."""
        if info.type in self._forms:
            return self._forms[info.type].reader(info, skip)
        if info.format is SchemaFormat.CUSTOM:
            return f"type {info.type} has a custom format: give a reader for it with forms="
        return format_of(info, validate=True).reader(None, skip)


class _Tally:
    """Counts, and keeps the first failures."""

    def __init__(self, most_failures: int) -> None:
        self.events = 0
        self._size = 0
        self._counts: dict[SchemaClaim, list[int]] = {}
        self._failures: list[EventFailure] = []
        self._most = most_failures

    def add(self, event: Event, claim: SchemaClaim, problem: str | None) -> None:
        """Count an event."""
        self.events += 1
        self._size += len(event.data)
        counts = self._counts.setdefault(claim, [0, 0])
        counts[0] += 1
        if problem is None:
            return
        counts[1] += 1
        if len(self._failures) < self._most:
            reason = " ".join(problem.split())[:_LONGEST_REASON]
            self._failures.append(EventFailure(EventPointer.of(event), claim.encoding_id, reason))

    def report(self, wanted: StreamCutRange, *, sampled: bool) -> DataReport:
        """The report of all counted events."""
        counts = {claim: (events, failed) for claim, (events, failed) in self._counts.items()}
        return DataReport(wanted, sampled, self.events, self._size, counts, tuple(self._failures))
