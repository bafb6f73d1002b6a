"""What the registry has to know before events are written: the schema, the codec, and the id of both together."""

from dataclasses import dataclass
from typing import Final

from aiopravega.errors import CodecNotRegisteredError, ConfigurationError, SchemaNotFoundError, SchemaRefusedError
from aiopravega.schema.codecs import NONE, codec_named
from aiopravega.schema.header import header as head_of
from aiopravega.schema.model import CodecType, GroupProperties, SchemaFormat, SchemaInfo, VersionInfo
from aiopravega.schema.new_group import removed_if_refused
from aiopravega.schema.registry import SchemaRegistry

_SHOWN: Final = 8  # codecs in a message


@dataclass(frozen=True, slots=True)
class Registration:
    """How events are written. `encoding_id` is None if they have no header."""

    version: VersionInfo
    encoding_id: int | None
    codec: str = NONE

    @property
    def head(self) -> bytes:
        """The header of each event."""
        return b"" if self.encoding_id is None else head_of(self.encoding_id)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a user may say about it; see `open_serializer`."""

    namespace: str = ""
    codec: str = NONE
    header: bool = True
    register: bool = True
    create: GroupProperties | None = None


async def settle(registry: SchemaRegistry, group: str, schema: SchemaInfo, terms: Terms) -> Registration:
    """Have the registry know a schema.

    First comes what needs nobody, then what may be refused, then what may not: so of what is refused nothing stays.

    Raises:
        ConfigurationError: header, codec and format do not go together.
        GroupNotFoundError: there is no such group.
        SchemaRefusedError: the group's format, policy or types do not allow the schema.
        SchemaNotFoundError: the group lacks the schema, and nothing may be registered.
        CodecNotRegisteredError: the codec is not known here, or the group lacks it, and nothing may be registered.
        PravegaError: the registry cannot be asked.
    """
    _check_terms(schema, terms)
    made = terms.create is not None and await registry.create_group(group, terms.create, terms.namespace)
    async with removed_if_refused(registry, group, terms.namespace, made=made):
        _check_format(group, await registry.group(group, terms.namespace), schema)
        version = await (_added if terms.register else _found)(registry, group, schema, terms)
    if not terms.header:
        return Registration(version, None)
    encoding_id = await registry.encoding_id(group, version, terms.codec, terms.namespace)
    return Registration(version, encoding_id, terms.codec)


def _check_terms(schema: SchemaInfo, terms: Terms) -> None:
    if not terms.header and schema.format is SchemaFormat.AVRO:
        raise ConfigurationError("Avro needs a header: without its writer's schema a datum cannot be read")
    if not terms.header and terms.codec != NONE:
        raise ConfigurationError(f"the codec {terms.codec!r} needs a header, without which no reader knows of it")
    codec_named(terms.codec)


def _check_format(group: str, properties: GroupProperties, schema: SchemaInfo) -> None:
    wanted, found = properties.serialization_format, schema.serialization_format
    if wanted.serialization_format is SchemaFormat.ANY:
        return
    if wanted.serialization_format is not found.serialization_format or (
        found.serialization_format is SchemaFormat.CUSTOM and wanted.full_type_name != found.full_type_name
    ):
        raise SchemaRefusedError(
            f"group {group} is of format {wanted.full_type_name or wanted.serialization_format}, so it does not take "
            f"{schema.type} in format {schema.name_of_format}"
        )


async def _added(registry: SchemaRegistry, group: str, schema: SchemaInfo, terms: Terms) -> VersionInfo:
    version = await registry.add_schema(group, schema, terms.namespace)
    if terms.codec != NONE:
        await registry.add_codec(group, CodecType(name=terms.codec), terms.namespace)
    return version


async def _found(registry: SchemaRegistry, group: str, schema: SchemaInfo, terms: Terms) -> VersionInfo:
    if terms.codec != NONE:
        known = [one.name for one in await registry.codecs(group, terms.namespace)]
        if terms.codec not in known:
            raise CodecNotRegisteredError(
                f"group {group} does not allow the codec {terms.codec!r}, only {', '.join(known[:_SHOWN]) or 'none'}: "
                "add it with add_codec, or let it be registered with register=True"
            )
    try:
        return await registry.find_version(group, schema, terms.namespace)
    except SchemaNotFoundError as error:
        raise SchemaNotFoundError(f"{error}: add it with add_schema, or let it be with register=True") from None
