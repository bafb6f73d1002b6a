"""The catalog of a cluster: it lists streams, and makes and drops them together with their schemas."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiopravega.bounded import each
from aiopravega.catalog.columns import Column, columns_of
from aiopravega.client import PravegaClient
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import AlreadyExistsError, ConfigurationError, ScopeNotFoundError, StreamNotFoundError
from aiopravega.names import StreamName, check_name

if TYPE_CHECKING:
    from aiopravega.schema import GroupProperties, SchemaInfo, SchemaRegistry, SchemaVersion
    from aiopravega.schema.open import SchemaReport

# Streams that are described at a time; each takes about ten requests.
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class StreamGroup:
    """The Schema Registry's group of a stream; `latest` has the newest schema of each type."""

    name: str
    namespace: str
    properties: "GroupProperties"
    latest: "tuple[SchemaVersion, ...]"

    @property
    def policy(self) -> str:
        """The name of the group's compatibility policy."""
        return self.properties.compatibility.policy

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, with the schemas' types and versions."""
        return {
            "group": self.name,
            "namespace": self.namespace,
            "format": self.properties.format.value,
            "policy": self.policy,
            "schemas": [version.version_info.to_json() for version in self.latest],
        }


@dataclass(frozen=True, slots=True)
class StreamTable:
    """A stream as a table.

    `segments` is the present number, 0 if it is sealed. `size` is in bytes from head to tail, event headers included.
    `group` is None if no registry was asked, or if it has no group for the stream.
    """

    stream: StreamName
    segments: int
    scaling: ScalingPolicy
    retention: RetentionPolicy
    tags: tuple[str, ...]
    head: StreamCut
    tail: StreamCut
    size: int
    group: StreamGroup | None = None

    @property
    def is_sealed(self) -> bool:
        """True if the stream accepts no more events."""
        return self.segments == 0

    @property
    def schema(self) -> "SchemaVersion | None":
        """The newest schema; None if there is none, or if events of several types are mixed."""
        if self.group is None or len(self.group.latest) != 1:
            return None
        return self.group.latest[0]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The fields of `schema`; empty without a schema."""
        return columns_of(self.schema.schema_info) if self.schema else ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "stream": str(self.stream),
            "segments": self.segments,
            "sealed": self.is_sealed,
            "tags": list(self.tags),
            "head": self.head.to_text(),
            "tail": self.tail.to_text(),
            "bytes": self.size,
            "schema": None if self.group is None else self.group.to_json(),
            "columns": [
                {"name": one.name, "type": one.type, "nullable": one.nullable, "description": one.description}
                for one in self.columns
            ],
        }


class PravegaCatalog:
    """Scopes as namespaces, streams as tables.

    Args:
        client: of the cluster; it stays open.
        registry: the registry with the streams' schemas; None: the catalog has no schemas.
    """

    def __init__(self, client: PravegaClient, registry: "SchemaRegistry | None" = None) -> None:
        self._client = client
        self._registry = registry

    async def list_scopes(self) -> list[str]:
        """The names of all scopes that the credentials may see."""
        return await self._client.list_scopes()

    async def list_tables(self, scope: str, tag: str | None = None) -> list[StreamTable]:
        """The streams of a scope, by name; with `tag`, only streams with this tag.

        Raises:
            ScopeNotFoundError: there is no such scope.
            PravegaError: the cluster or the registry cannot be asked.
        """

        async def described(stream: StreamName) -> StreamTable | None:
            try:
                return await self.describe(stream)
            except StreamNotFoundError:  # deleted since it was listed
                return None

        tables = await each(described, await self._client.list_streams(scope, tag), _AT_ONCE)
        return [table for table in tables if table is not None]

    async def describe(self, stream: StreamName | str) -> StreamTable:
        """All about a stream.

        Raises:
            StreamNotFoundError: there is no such stream.
            PravegaError: the cluster or the registry cannot be asked.
        """
        name = self._name(stream)
        configuration = await self._client.controller.stream_configuration(name)
        head = await self._client.head(name)
        tail = await self._client.tail(name)
        return StreamTable(
            name,
            len(await self._client.controller.current_segments(name)),
            configuration.scaling,
            configuration.retention,
            configuration.tags,
            head,
            tail,
            sum(part.size for part in await self._client.plan(StreamCutRange(head, tail))),
            await self._group(name),
        )

    async def _group(self, stream: StreamName) -> StreamGroup | None:
        if self._registry is None:
            return None
        from aiopravega.schema.open import GroupAddress, find_group

        group = await find_group(self._registry, GroupAddress.of_stream(stream))
        if group is None:
            return None
        latest = await self._registry.latest(group.name, group.namespace)
        return StreamGroup(group.name, group.namespace, group.properties, tuple(latest))

    async def create(
        self,
        stream: StreamName | str,
        schema: "SchemaInfo | None" = None,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] = (),
        new_policy: str | None = None,
        declared_only: bool = False,
    ) -> StreamTable:
        """Make a stream, with the group and the schema of its events; if one of them cannot be made, none is.

        A group that exists already, from an earlier stream or another serializer, keeps its policy, and accepts the
        schema only if the policy allows it.

        Args:
            stream: `scope/stream`; the scope must exist.
            schema: of its events. It needs a registry.
            scaling: of the stream; by default one segment.
            retention: of the stream; by default its data stays forever.
            tags: of the stream.
            new_policy: of a new group; by default `BackwardTransitive` for Avro, JSON and Protobuf, `AllowAny` for
                custom formats.
            declared_only: of JSON, for an existing group; see `aiopravega.schema.open.ComparisonOptions`.

        Raises:
            AlreadyExistsError: there is such a stream.
            ScopeNotFoundError: there is no such scope.
            SchemaRefusedError: an existing group does not accept the schema.
            InvalidSchemaError: the schema cannot be parsed.
            ConfigurationError: there is no such policy, or this catalog has no registry.
            PravegaError: the cluster or the registry cannot be asked.
        """
        name = self._name(stream)
        check_name("stream", name.stream)
        if not await self._client.controller.scope_exists(name.scope):
            raise ScopeNotFoundError(f"cannot create stream {name}: there is no scope {name.scope}")
        if await self._client.stream_exists(name):
            raise AlreadyExistsError(f"there is a stream {name} already")
        made = await self._register(name, schema, new_policy, declared_only) if schema is not None else None
        try:
            created = await self._client.create_stream(name, scaling, retention, tags)
        except BaseException:
            await self._forget(made)
            raise
        if not created:  # somebody else made it in the meantime, with the group that it has now
            raise AlreadyExistsError(f"there is a stream {name} already: another program has just made it")
        return await self.describe(name)

    async def _register(
        self, name: StreamName, schema: "SchemaInfo", new_policy: str | None, declared_only: bool
    ) -> "SchemaReport | None":
        """Put a schema into the stream's group; returns the report of the registration."""
        if self._registry is None:
            raise ConfigurationError(f"stream {name} cannot have a schema: this catalog has no Schema Registry")
        from aiopravega.schema.open import register_schema

        return await register_schema(self._registry, name, schema, new_policy=new_policy, declared_only=declared_only)

    async def _forget(self, made: "SchemaReport | None") -> None:
        """Delete a group that was made for a stream that could not be made."""
        if made is not None and made.made_group and self._registry is not None:
            await self._registry.delete_group(made.group, made.namespace)

    async def drop(self, stream: StreamName | str, *, keep_schemas: bool = False) -> bool:
        """Delete a stream with all its events, and its schemas; returns False if there was neither.

        Schemas are deleted if the group is in the namespace of the scope. A group in the default namespace may belong
        to streams of other scopes that have the same name: it stays.

        Raises:
            PravegaError: the cluster or the registry cannot be asked; a second call continues.
        """
        name = self._name(stream)
        dropped = await self._client.delete_stream(name)
        if self._registry is None or keep_schemas:
            return dropped
        from aiopravega.schema.open import GroupAddress, find_group

        if await find_group(self._registry, GroupAddress.of_stream(name, namespace=name.scope)) is None:
            return dropped
        await self._registry.delete_group(name.stream, name.scope)
        return True

    def _name(self, stream: StreamName | str) -> StreamName:
        return stream if isinstance(stream, StreamName) else StreamName.parse(stream, self._client.config.scope)
