"""The blocking form of the Schema Registry's client; needs the extra `schema`."""

from types import TracebackType
from typing import Self

from aiopravega import schema as asynchronous
from aiopravega.loop import LoopThread
from aiopravega.schema import (
    CodecType,
    Encoding,
    EncodingCache,
    GroupId,
    GroupProperties,
    HistoryRecord,
    RegistryConfig,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)


class SchemaRegistry:
    """See `aiopravega.schema.SchemaRegistry`; use it with `with`."""

    def __init__(self, config: RegistryConfig) -> None:
        self.config = config
        self._loop = LoopThread.shared()
        self._registry = self._loop.run(self._make())
        self._encodings = EncodingCache(self._registry)

    async def _make(self) -> asynchronous.SchemaRegistry:
        return asynchronous.SchemaRegistry(self.config)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._loop.run(self._registry.close())

    def create_group(self, group: str, properties: GroupProperties, namespace: str = "") -> bool:
        """Make a group; returns False if it exists already."""
        return self._loop.run(self._registry.create_group(group, properties, namespace))

    def delete_group(self, group: str, namespace: str = "") -> None:
        """Delete a group and its schemas; it need not exist."""
        self._loop.run(self._registry.delete_group(group, namespace))

    def group(self, group: str, namespace: str = "") -> GroupProperties:
        """The properties of a group."""
        return self._loop.run(self._registry.group(group, namespace))

    def add_schema(self, group: str, schema: SchemaInfo, namespace: str = "") -> VersionInfo:
        """Add a schema to a group; one that is there already keeps its version."""
        return self._loop.run(self._registry.add_schema(group, schema, namespace))

    def latest(self, group: str, namespace: str = "") -> list[SchemaVersion]:
        """The newest schema of each type in a group."""
        return self._loop.run(self._registry.latest(group, namespace))

    def versions(self, group: str, namespace: str = "") -> list[SchemaVersion]:
        """All schemas of a group, oldest first, without deleted ones."""
        return self._loop.run(self._registry.versions(group, namespace))

    def history(self, group: str, namespace: str = "") -> list[HistoryRecord]:
        """All schemas of a group as they were added, oldest first, with deleted ones."""
        return self._loop.run(self._registry.history(group, namespace))

    def add_codec(self, group: str, codec: CodecType, namespace: str = "") -> None:
        """Allow a codec in a group."""
        self._loop.run(self._registry.add_codec(group, codec, namespace))

    def encoding_id(self, group: str, version: VersionInfo, codec: str = "", namespace: str = "") -> int:
        """The id of a schema with a codec, made if there is none yet."""
        return self._loop.run(self._registry.encoding_id(group, version, codec, namespace))

    def encoding(self, group: GroupId, encoding_id: int) -> Encoding:
        """What an encoding id stands for; asked once, then remembered."""
        return self._loop.run(self._encodings.get(group, encoding_id))
