"""The blocking form of `aiopravega.schema.serializers`.

Serializers send no requests, so they are the same; a deserializer asks the registry for each encoding id once. Whole
blocks of events are in `aiopravega.blocking.blocks`.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from aiopravega.blocking.bridge import Face, mirrors, waits
from aiopravega.errors import MalformedEventError
from aiopravega.schema import serializers as aio
from aiopravega.schema.registry.codecs import HEADER_BYTES

__all__ = ["Deserializer", "open_deserializer", "open_multi_serializer", "open_serializer"]


class Deserializer(Face[aio.Deserializer]):
    """Makes values of the events of one group; events with known encoding ids are read without the loop's thread.

    A group that is deleted and made again gives out the same encoding ids again. If an event does not fit what is
    known, the group is read again, but at most every half minute; `refresh` reads it at once.
    """

    @mirrors(aio.Deserializer.deserialize)
    def deserialize(self, event: bytes) -> Any:
        readers = self.asynchronous.readers
        read = readers.known.get(event[:HEADER_BYTES])
        with suppress(MalformedEventError):  # it is raised again below, if its reason has not passed
            if read is not None:
                return read(event)
        return self.run(self.asynchronous.deserialize(event))

    @mirrors(aio.Deserializer.deserialize_many)
    def deserialize_many(self, events: Iterable[bytes]) -> list[Any]:
        listed = events if isinstance(events, list) else list(events)
        if (read_all := self.asynchronous.readers.list_reader(listed)) is not None:
            with suppress(MalformedEventError):  # it is raised again below
                return read_all(listed)
        return [self.deserialize(event) for event in listed]

    deserialize_each = waits(aio.Deserializer.deserialize_each)
    encoding = waits(aio.Deserializer.encoding)
    refresh = waits(aio.Deserializer.refresh)


open_serializer = waits(aio.open_serializer)
open_multi_serializer = waits(aio.open_multi_serializer)
open_deserializer = waits(aio.open_deserializer, Deserializer)
