"""Events into values: the registry is asked once for each encoding id, and its answer is remembered."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

from aiopravega.errors import (
    CodecNotRegisteredError,
    ConfigurationError,
    MalformedEventError,
    PravegaError,
    SchemaNotFoundError,
)
from aiopravega.schema.events import EventFormat, Read, ReadAll, all_by
from aiopravega.schema.open.register import SchemaRegistry
from aiopravega.schema.registry.codecs import HEADER_BYTES, NONE, PROTOCOL, codec_named, split_header
from aiopravega.schema.registry.encodings import GroupId
from aiopravega.schema.registry.model import Encoding, SchemaFormat, SchemaInfo
from aiopravega.sizes import LARGEST_PAYLOAD

# Errors of an event, not of the registry.
OF_ONE_EVENT: Final = (MalformedEventError, SchemaNotFoundError, CodecNotRegisteredError)
_HEAD_OF: Final = itemgetter(slice(HEADER_BYTES))
# An answer that something is wrong counts so long. Not every event that has an unknown id, or does not fit its schema,
# may ask the registry again.
_PATIENCE: Final = 30.0  # seconds


class Readers:
    """The functions that read the events of one group, by their headers; shared by all deserializers."""

    def __init__(
        self, registry: SchemaRegistry, group: GroupId, forms: Iterable[EventFormat] = (), limit: int = LARGEST_PAYLOAD
    ) -> None:
        self.known: dict[bytes, Read] = {}
        self._lists: dict[bytes, ReadAll] = {}
        self._registry, self._group, self._limit = registry, group, limit
        self._forms = {(form.info.type, form.info.name_of_format): form for form in forms}
        self._unknown: dict[bytes, tuple[float, SchemaNotFoundError]] = {}
        self._read_at = time.monotonic()
        self._lock = asyncio.Lock()

    async def learn(self, event: bytes) -> Read:
        """The function that reads events with the header of this one.

        Raises:
            MalformedEventError: it has no header that is known.
            SchemaNotFoundError: the group has no such encoding id.
            CodecNotRegisteredError: its codec is not known here.
            PravegaError: the registry cannot be asked.
        """
        head = event[:HEADER_BYTES]
        async with self._lock:
            if head not in self.known:
                self.known[head], self._lists[head] = self._reader(await self.encoding(event))
            return self.known[head]

    def list_reader(self, events: list[bytes]) -> ReadAll | None:
        """The function that reads all of these at once; None if they have several headers, or an unknown one."""
        heads = {*map(_HEAD_OF, events)}
        return self._lists.get(heads.pop()) if len(heads) == 1 else None

    async def encoding(self, event: bytes) -> Encoding:
        """The schema and the codec of an event, by its header; see `learn`."""
        encoding_id = split_header(event)[0]
        if encoding_id is None:
            raise self.malformed(_no_header(event))
        head = event[:HEADER_BYTES]
        since, error = self._unknown.get(head, (0.0, None))
        if error is not None and time.monotonic() - since < _PATIENCE:
            raise error
        if self._group.created is None:  # it was opened before the group had a schema
            self._group = await self._registry.encodings.identify(self._group.group, self._group.namespace)
        try:
            return await self._registry.encodings.get(self._group, encoding_id)
        except SchemaNotFoundError as missing:
            self._unknown[head] = time.monotonic(), missing
            raise

    def malformed(self, reason: object) -> MalformedEventError:
        """The error with the reason for which an event cannot be read, and its group."""
        inside = f" in namespace {self._group.namespace}" if self._group.namespace else ""
        return MalformedEventError(f"an event of group {self._group.group}{inside} cannot be read: {reason}")

    async def made_again(self) -> bool:
        """Return True if the group was deleted and made again; then its encodings are forgotten.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        if time.monotonic() - self._read_at < _PATIENCE:
            return False
        return await self.refresh()

    async def refresh(self) -> bool:
        """The same, even if the registry was asked a short time ago."""
        async with self._lock:
            self._read_at = time.monotonic()
            current = await self._registry.encodings.identify(self._group.group, self._group.namespace)
            if current == self._group:
                return False
            self._group = current
            self.known.clear()
            self._lists.clear()
            self._unknown.clear()
            return True

    def _reader(self, encoding: Encoding) -> tuple[Read, ReadAll]:
        info = encoding.schema_info
        form = self._forms.get((info.type, info.name_of_format)) or format_of(info)
        name = encoding.codec_type.name
        if name == NONE:
            return form.reader(info, HEADER_BYTES), form.list_reader(info, HEADER_BYTES)
        unpack, read, limit = codec_named(name).decompress, form.reader(info), self._limit

        def read_packed(event: bytes) -> Any:
            payload = unpack(event[HEADER_BYTES:], limit)
            if len(payload) > limit:  # by a codec that was registered, and has no limit
                raise MalformedEventError(f"it unpacks to more than the limit of {limit} bytes")
            return read(payload)

        return read_packed, all_by(read_packed)


class Deserializer:
    """Makes values of the events of one group; belongs to one event loop.

    A group that is deleted and made again gives out the same encoding ids again. If an event does not fit what is
    known, the group is read again, but at most every half minute; `refresh` reads it at once.

    Attributes:
        readers: the functions that read events, by their headers.
    """

    def __init__(self, readers: Readers) -> None:
        self.readers = readers
        self._known = readers.known

    async def deserialize(self, event: bytes) -> Any:
        """The value of an event.

        Raises:
            MalformedEventError: it has no header of the registry's serializers, does not fit its schema, or unpacks to
                more than the limit.
            SchemaNotFoundError: the group has no such encoding id.
            CodecNotRegisteredError: its codec is not known here.
            PravegaError: the registry cannot be asked.
        """
        read = self._known.get(event[:HEADER_BYTES])
        if read is None:
            read = await self.readers.learn(event)
        try:
            return read(event)
        except MalformedEventError as error:
            if not await self.readers.made_again():
                raise self.readers.malformed(error) from error.__cause__
        return (await self.readers.learn(event))(event)

    async def deserialize_many(self, events: Iterable[bytes]) -> list[Any]:
        """The values of some events; see `deserialize`. It costs less than one by one."""
        listed = events if isinstance(events, list) else list(events)
        if (read_all := self.readers.list_reader(listed)) is not None:
            with suppress(MalformedEventError):  # it is raised again below
                return read_all(listed)
        return [await self.deserialize(event) for event in listed]

    async def deserialize_each(self, events: Iterable[bytes]) -> tuple[list[Any], dict[int, PravegaError]]:
        """The values of the events that can be read, and the errors of the others: one bad event hides no good one.

        Returns:
            The values, in the order of the events; and the error of each other event, by its number among all events,
            from 0 on: a MalformedEventError, a SchemaNotFoundError or a CodecNotRegisteredError, as of `deserialize`.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        listed = events if isinstance(events, list) else list(events)
        values: list[Any] = []
        errors: dict[int, PravegaError] = {}
        with suppress(*OF_ONE_EVENT):  # the events are read one by one below
            return await self.deserialize_many(listed), errors
        for number, event in enumerate(listed):
            try:
                values.append(await self.deserialize(event))
            except OF_ONE_EVENT as error:
                errors[number] = error
        return values, errors

    async def encoding(self, event: bytes) -> Encoding:
        """The schema and the codec of an event.

        Raises:
            MalformedEventError: it has no header of the registry's serializers.
            SchemaNotFoundError: the group has no such encoding id.
            PravegaError: the registry cannot be asked.
        """
        return await self.readers.encoding(event)

    async def refresh(self) -> bool:
        """Check whether the group was made again since it was opened; if so, forget its encodings.

        Raises:
            GroupNotFoundError: it was deleted.
        """
        return await self.readers.refresh()


async def open_deserializer(
    registry: SchemaRegistry,
    group: str,
    *forms: EventFormat,
    namespace: str = "",
    limit: int = LARGEST_PAYLOAD,
) -> Deserializer:
    """A deserializer of a group's events.

    Args:
        registry: a client of it, which has to stay open.
        group: a stream's group is named after the stream.
        forms: formats of some types: the reader's schema of Avro, generated classes of Protobuf, models. Events of
            other types are read by the schema that they were written with: Avro as dictionaries, Protobuf as messages
            of a class that is made here.
        namespace: the group's namespace.
        limit: of a payload that was compressed, in bytes.

    Raises:
        GroupNotFoundError: there is no such group.
        PravegaError: the registry cannot be asked.
    """
    known = await registry.encodings.identify(group, namespace)
    return Deserializer(Readers(registry, known, forms, limit))


def format_of(info: SchemaInfo, *, validate: bool = False) -> EventFormat:
    """The format of a schema: Avro as dictionaries, Protobuf as messages of a class that is made here.

    The libraries of a format are imported with its first schema.

    Args:
        info: the schema.
        validate: check JSON values against their schema; Avro and Protobuf are always read by theirs.

    Raises:
        ConfigurationError: the format is a custom one, the schema cannot be parsed, or a library is not installed.
    """
    match info.format:
        case SchemaFormat.AVRO:
            from aiopravega.schema.avro.event_format import AvroFormat

            return AvroFormat(info.text)
        case SchemaFormat.JSON:
            from aiopravega.schema.json.event_format import JsonFormat

            return JsonFormat(info.text, info.type, validate=validate)
        case SchemaFormat.PROTOBUF:
            from aiopravega.schema.protobuf.event_format import ProtobufFormat

            return ProtobufFormat.of_descriptors(info.schema_data, info.type)
    raise ConfigurationError(
        f"events of type {info.type} are in format {info.name_of_format}: give a CustomFormat that reads them"
    )


def _no_header(event: bytes) -> str:
    if len(event) < HEADER_BYTES:
        return f"it has no header of a Schema Registry: it is of {len(event)} bytes"
    return (
        f"it has no header of a Schema Registry that is known: its first byte is {event[0]}, which would be the "
        f"header's version, and known is {PROTOCOL}. Events without header are read by the reader() of a format"
    )
