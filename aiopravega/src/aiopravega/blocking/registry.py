"""The blocking form of the Schema Registry's client; needs the extra `schema`."""

from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from aiopravega import schema as asynchronous
from aiopravega.loop import LoopThread
from aiopravega.schema import (
    CodecType,
    Compatibility,
    Encoding,
    GroupId,
    GroupProperties,
    GroupsPage,
    HistoryRecord,
    RegistryConfig,
    SchemaFormat,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)

T = TypeVar("T")


class SchemaRegistry:
    """See `aiopravega.schema.SchemaRegistry`; use it with `with`."""

    def __init__(self, config: RegistryConfig) -> None:
        self.config = config
        self._loop = LoopThread.shared()
        self._registry = self._loop.run(self._make())

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

    @property
    def asynchronous(self) -> asynchronous.SchemaRegistry:
        """The client that does the work, for coroutines that `run` waits for."""
        return self._registry

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine that uses the asynchronous client, such as a check of `aiopravega.gates`."""
        return self._loop.run(coroutine)

    def ping(self) -> None:
        """Ask whether the registry is there, with these credentials."""
        self._loop.run(self._registry.ping())

    def groups(self, namespace: str = "", page: int = 100) -> Iterator[tuple[str, GroupProperties]]:
        """All groups that this account may read, with their properties; `page` at a time are asked for."""
        return self._loop.iterate(self._registry.groups(namespace, page), hop=page)

    def groups_page(self, namespace: str = "", limit: int = 100, token: str | None = None) -> GroupsPage:
        """Some of the groups; a page without any is the last one."""
        return self._loop.run(self._registry.groups_page(namespace, limit, token))

    def create_group(self, group: str, properties: GroupProperties, namespace: str = "") -> bool:
        """Make a group; returns False if it exists already."""
        return self._loop.run(self._registry.create_group(group, properties, namespace))

    def delete_group(self, group: str, namespace: str = "") -> None:
        """Delete a group and its schemas; it need not exist."""
        self._loop.run(self._registry.delete_group(group, namespace))

    def group(self, group: str, namespace: str = "") -> GroupProperties:
        """The properties of a group."""
        return self._loop.run(self._registry.group(group, namespace))

    def update_compatibility(
        self, group: str, compatibility: Compatibility, previous: Compatibility | None = None, namespace: str = ""
    ) -> None:
        """Change which schemas a group takes from now on; with `previous` only if that is what it asks for now."""
        self._loop.run(self._registry.update_compatibility(group, compatibility, previous, namespace))

    def history(self, group: str, namespace: str = "") -> list[HistoryRecord]:
        """The schemas of a group as they were added, oldest first, without deleted ones."""
        return self._loop.run(self._registry.history(group, namespace))

    def add_schema(
        self, group: str, schema: SchemaInfo, namespace: str = "", *, declared_only: bool = False
    ) -> VersionInfo:
        """Add a schema to a group whose policy allows it; one that is there already keeps its version."""
        return self._loop.run(self._registry.add_schema(group, schema, namespace, declared_only=declared_only))

    def latest(self, group: str, namespace: str = "", type_name: str | None = None) -> list[SchemaVersion]:
        """The newest schema of each type in a group, or of one type."""
        return self._loop.run(self._registry.latest(group, namespace, type_name))

    def versions(self, group: str, namespace: str = "", type_name: str | None = None) -> list[SchemaVersion]:
        """All schemas of a group, or of one type, oldest first, without deleted ones."""
        return self._loop.run(self._registry.versions(group, namespace, type_name))

    def schema(self, group: str, schema_id: int, namespace: str = "") -> SchemaInfo:
        """A schema by its id in the group, deleted or not."""
        return self._loop.run(self._registry.schema(group, schema_id, namespace))

    def schema_of_version(
        self, group: str, kind: SchemaFormat | str, type_name: str, version: int, namespace: str = ""
    ) -> SchemaInfo:
        """A schema by its format, type and version, deleted or not."""
        return self._loop.run(self._registry.schema_of_version(group, kind, type_name, version, namespace))

    def find_version(self, group: str, schema: SchemaInfo, namespace: str = "") -> VersionInfo:
        """The version of a schema, which has to be in the group."""
        return self._loop.run(self._registry.find_version(group, schema, namespace))

    def delete_schema(self, group: str, version: VersionInfo, namespace: str = "") -> None:
        """Delete a schema; it need not exist."""
        self._loop.run(self._registry.delete_schema(group, version, namespace))

    def delete_version(
        self, group: str, kind: SchemaFormat | str, type_name: str, version: int, namespace: str = ""
    ) -> None:
        """Delete a schema by its format, type and version."""
        self._loop.run(self._registry.delete_version(group, kind, type_name, version, namespace))

    def validate(
        self, group: str, schema: SchemaInfo, compatibility: Compatibility | None = None, namespace: str = ""
    ) -> bool:
        """Whether the registry would add a schema, by the group's policy or by another one; it adds nothing."""
        return self._loop.run(self._registry.validate(group, schema, compatibility, namespace))

    def can_read(self, group: str, schema: SchemaInfo, namespace: str = "") -> bool:
        """Whether the registry thinks that a reader with this schema can read the group's events."""
        return self._loop.run(self._registry.can_read(group, schema, namespace))

    def references(self, schema: SchemaInfo, namespace: str = "") -> dict[str, VersionInfo]:
        """In which groups of a namespace a schema is, and its version there."""
        return self._loop.run(self._registry.references(schema, namespace))

    def codecs(self, group: str, namespace: str = "") -> list[CodecType]:
        """The codecs that a group allows, beside none at all."""
        return self._loop.run(self._registry.codecs(group, namespace))

    def add_codec(self, group: str, codec: CodecType, namespace: str = "") -> None:
        """Allow a codec in a group."""
        self._loop.run(self._registry.add_codec(group, codec, namespace))

    def encoding_id(self, group: str, version: VersionInfo, codec: str = "", namespace: str = "") -> int:
        """The id of a schema with a codec, made if there is none yet."""
        return self._loop.run(self._registry.encoding_id(group, version, codec, namespace))

    def identify(self, group: str, namespace: str = "") -> GroupId:
        """The group in the life that it has now, by which its encodings are remembered."""
        return self._loop.run(self._registry.encodings.identify(group, namespace))

    def encoding(self, group: GroupId, encoding_id: int) -> Encoding:
        """What an encoding id stands for; asked once, then remembered."""
        return self._loop.run(self._registry.encodings.get(group, encoding_id))
