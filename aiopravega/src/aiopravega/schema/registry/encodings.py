"""The meanings of encoding ids, remembered: the registry is asked once for each id, never for every event.

A group that is deleted and made again gives out the same ids again. A group is therefore identified by its name and by
the time at which its first schema was added.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from aiopravega.schema.registry.model import Encoding, HistoryRecord


class EncodingSource(Protocol):
    """A registry that is asked for encodings."""

    async def history(self, group: str, namespace: str = "") -> list[HistoryRecord]:
        """The schemas of a group, with the times when they were added."""

    async def encoding(self, group: str, encoding_id: int, namespace: str = "") -> Encoding:
        """The schema and codec of an encoding id."""


@dataclass(frozen=True, slots=True)
class GroupId:
    """A group between its making and its deletion.

    `created` is the time at which its first schema was added, in ms since 1970; None if it has no schema. If that
    schema is deleted, the group passes for another one, which costs requests, but is never wrong.
    """

    group: str
    namespace: str
    created: int | None

    @classmethod
    def of(cls, group: str, namespace: str, history: list[HistoryRecord]) -> "GroupId":
        """The group with this history."""
        return cls(group, namespace, min((record.timestamp for record in history), default=None))


class EncodingCache:
    """Remembers the encodings of one registry; belongs to one event loop."""

    def __init__(self, registry: EncodingSource) -> None:
        self._registry = registry
        self._known: dict[tuple[GroupId, int], Encoding] = {}
        self._asking: dict[tuple[GroupId, int], asyncio.Lock] = {}

    async def identify(self, group: str, namespace: str = "") -> GroupId:
        """The group as it exists now; the encodings of deleted groups of that name are forgotten.

        Raises:
            GroupNotFoundError: there is no such group.
            PravegaError: the registry cannot be asked.
        """
        found = GroupId.of(group, namespace, await self._registry.history(group, namespace))
        for key in [key for key in self._known if (key[0].group, key[0].namespace) == (group, namespace)]:
            if key[0] != found:
                del self._known[key]
        return found

    async def get(self, group: GroupId, encoding_id: int) -> Encoding:
        """The schema and the codec of an id. Callers that ask at the same time wait for the same answer.

        Raises:
            SchemaNotFoundError: the group has no such id.
            PravegaError: the registry cannot be asked.
        """
        key = group, encoding_id
        if key not in self._known:
            async with self._asking.setdefault(key, asyncio.Lock()):
                if key not in self._known:
                    self._known[key] = await self._registry.encoding(group.group, encoding_id, group.namespace)
            self._asking.pop(key, None)
        return self._known[key]
