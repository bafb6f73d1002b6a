"""What encoding ids stand for, remembered: the registry is asked once for each, never for every event.

A group that is deleted and made again gives out the same ids anew, so a group is known by when its first schema was
added, too.
"""

from dataclasses import dataclass

from aiopravega.schema.model import Encoding, HistoryRecord
from aiopravega.schema.registry import SchemaRegistry


@dataclass(frozen=True, slots=True)
class GroupId:
    """A group in one of its lives. `created` is when its first schema was added, in ms since 1970; None: not yet."""

    group: str
    namespace: str
    created: int | None

    @classmethod
    def of(cls, group: str, namespace: str, history: list[HistoryRecord]) -> "GroupId":
        """The group whose history this is."""
        return cls(group, namespace, min((record.timestamp for record in history), default=None))


class EncodingCache:
    """Remembers the encodings of one registry."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._known: dict[tuple[GroupId, int], Encoding] = {}

    async def get(self, group: GroupId, encoding_id: int) -> Encoding:
        """What an id stands for.

        Raises:
            SchemaNotFoundError: the group has no such id.
            PravegaError: the registry cannot be asked.
        """
        key = group, encoding_id
        if key not in self._known:
            self._known[key] = await self._registry.encoding(group.group, encoding_id, group.namespace)
        return self._known[key]
