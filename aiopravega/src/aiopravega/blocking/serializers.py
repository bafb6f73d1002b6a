"""The blocking form of `aiopravega.schema.serializers`.

Serializers ask nobody, so they are the same; a deserializer asks the registry for each encoding id once.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import MalformedEventError
from aiopravega.schema import Encoding, SchemaInfo, serializers
from aiopravega.schema.codecs import LARGEST_PAYLOAD, NONE
from aiopravega.schema.header import HEADER_BYTES
from aiopravega.schema.serializers import EventFormat, MultiSerializer, Serializer
from aiopravega.schema.serializers.reading import Readers

if TYPE_CHECKING:
    from aiopravega.schema.formats.deserializer import BlockDeserializer
    from aiopravega.schema.formats.serializer import BlockSerializer
    from aiopravega.schema.formats.targets import Target


def open_serializer(
    registry: SchemaRegistry,
    group: str,
    form: EventFormat,
    *,
    namespace: str = "",
    codec: str = NONE,
    header: bool = True,
    register: bool = True,
    new_policy: str | None = None,
    declared_only: bool = False,
) -> Serializer:
    """See `aiopravega.schema.serializers.open_serializer`."""
    return registry.run(
        serializers.open_serializer(
            registry.asynchronous,
            group,
            form,
            namespace=namespace,
            codec=codec,
            header=header,
            register=register,
            new_policy=new_policy,
            declared_only=declared_only,
        )
    )


def open_multi_serializer(
    registry: SchemaRegistry,
    group: str,
    forms: Sequence[EventFormat],
    *,
    namespace: str = "",
    codec: str = NONE,
    register: bool = True,
    new_policy: str | None = None,
    declared_only: bool = False,
) -> MultiSerializer:
    """See `aiopravega.schema.serializers.open_multi_serializer`."""
    return registry.run(
        serializers.open_multi_serializer(
            registry.asynchronous,
            group,
            forms,
            namespace=namespace,
            codec=codec,
            register=register,
            new_policy=new_policy,
            declared_only=declared_only,
        )
    )


class Deserializer:
    """See `aiopravega.schema.serializers.Deserializer`."""

    def __init__(self, registry: SchemaRegistry, readers: Readers) -> None:
        self._registry = registry
        self._readers = readers
        self._known = readers.known

    def deserialize(self, event: bytes) -> Any:
        """The value of an event."""
        read = self._known.get(event[:HEADER_BYTES])
        if read is None:
            read = self._registry.run(self._readers.learn(event))
        try:
            return read(event)
        except MalformedEventError as error:
            if not self._registry.run(self._readers.made_again()):
                raise self._readers.told(error) from error.__cause__
        return self._registry.run(self._readers.learn(event))(event)

    def deserialize_many(self, events: Iterable[bytes]) -> list[Any]:
        """The values of some events."""
        listed = events if isinstance(events, list) else list(events)
        if (read_all := self._readers.list_reader(listed)) is not None:
            with suppress(MalformedEventError):  # which is then met again
                return read_all(listed)
        return [self.deserialize(event) for event in listed]

    def encoding(self, event: bytes) -> Encoding:
        """The schema and the codec of an event."""
        return self._registry.run(self._readers.encoding(event))

    def refresh(self) -> bool:
        """Look whether the group was made again since it was opened, and forget what was known if it was."""
        return self._registry.run(self._readers.refresh())


def open_deserializer(
    registry: SchemaRegistry,
    group: str,
    *forms: EventFormat,
    namespace: str = "",
    limit: int = LARGEST_PAYLOAD,
) -> Deserializer:
    """See `aiopravega.schema.serializers.open_deserializer`."""

    async def readers() -> Readers:
        known = await registry.asynchronous.encodings.identify(group, namespace)
        return Readers(registry.asynchronous, known, forms, limit)

    return Deserializer(registry, registry.run(readers()))


def open_block_serializer(
    registry: SchemaRegistry,
    group: str,
    schema: SchemaInfo,
    columns: Any,
    *,
    namespace: str = "",
    codec: str = NONE,
    header: bool = True,
    register: bool = True,
    new_policy: str | None = None,
    declared_only: bool = False,
) -> "BlockSerializer":
    """See `aiopravega.schema.formats.opening.open_block_serializer`; `columns` is a schema of Arrow."""
    from aiopravega.schema.formats import opening

    return registry.run(
        opening.open_block_serializer(
            registry.asynchronous,
            group,
            schema,
            columns,
            namespace=namespace,
            codec=codec,
            header=header,
            register=register,
            new_policy=new_policy,
            declared_only=declared_only,
        )
    )


def open_block_deserializer(
    registry: SchemaRegistry,
    group: str,
    *,
    namespace: str = "",
    type_name: str | None = None,
    target: "Target | None" = None,
    limit: int = LARGEST_PAYLOAD,
) -> "BlockDeserializer":
    """See `aiopravega.schema.formats.opening.open_block_reader`; it needs the extra `arrow`."""
    from aiopravega.schema.formats.deserializer import BlockDeserializer
    from aiopravega.schema.formats.opening import wanted

    found = registry.run(wanted(registry.asynchronous, group, namespace, type_name, target))
    return BlockDeserializer(
        found.target, lambda encoding_id: registry.encoding(found.group, encoding_id), found.type_name, limit
    )
