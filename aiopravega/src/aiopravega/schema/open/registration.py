"""Registration before events are written: the schema, the codec, and the encoding id of both."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiopravega.errors import CodecNotRegisteredError, ConfigurationError, SchemaNotFoundError
from aiopravega.schema.open.compare import Question, known_version
from aiopravega.schema.open.groups import GroupAddress, NewGroup, need_group
from aiopravega.schema.open.register import offer_schema
from aiopravega.schema.registry.codecs import NONE, codec_named
from aiopravega.schema.registry.header import header as head_of
from aiopravega.schema.registry.model import CodecType, SchemaFormat, SchemaInfo, VersionInfo

if TYPE_CHECKING:
    from aiopravega.schema.registry.client import RegistryClient

_SHOWN: Final = 8  # codecs in a message


@dataclass(frozen=True, slots=True)
class Registration:
    """Schema version and encoding of written events. `encoding_id` is None if they have no header."""

    version: VersionInfo
    encoding_id: int | None
    codec: str = NONE

    @property
    def head(self) -> bytes:
        """The header of each event."""
        return b"" if self.encoding_id is None else head_of(self.encoding_id)


@dataclass(frozen=True, slots=True)
class RegistrationTerms:
    """A user's choices: the codec, a header or none, and the terms of registration and comparison."""

    codec: str = NONE
    header: bool = True
    register: bool = True
    new: NewGroup = field(default_factory=NewGroup)
    question: Question = field(default_factory=Question)


async def settle(
    registry: "RegistryClient", address: GroupAddress, schema: SchemaInfo, terms: RegistrationTerms
) -> Registration:
    """Make a schema and a codec known to the registry, or find them there.

    Steps without requests come first, then steps that may be refused, then the others: a refusal leaves nothing.

    Raises:
        ConfigurationError: header, codec and format do not go together; or as by `offer_schema`.
        GroupNotFoundError: there is no such group, and nothing may be registered.
        SchemaRefusedError: the group's format, policy or types do not allow the schema.
        SchemaNotFoundError: the group lacks the schema, and nothing may be registered.
        CodecNotRegisteredError: the codec is not known here, or the group lacks it, and nothing may be registered.
        PravegaError: the registry cannot be asked.
    """
    _check_terms(schema, terms)
    namespace, version = await (_registered if terms.register else _found)(registry, address, schema, terms)
    if not terms.header:
        return Registration(version, None)
    encoding_id = await registry.encoding_id(address.name, version, terms.codec, namespace)
    return Registration(version, encoding_id, terms.codec)


def _check_terms(schema: SchemaInfo, terms: RegistrationTerms) -> None:
    if not terms.header and schema.format is SchemaFormat.AVRO:
        raise ConfigurationError("Avro needs a header: without its writer's schema a datum cannot be read")
    if not terms.header and terms.codec != NONE:
        raise ConfigurationError(f"the codec {terms.codec!r} needs a header: only the header says which codec was used")
    codec_named(terms.codec)


async def _registered(
    registry: "RegistryClient", address: GroupAddress, schema: SchemaInfo, terms: RegistrationTerms
) -> tuple[str, VersionInfo]:
    """The group's namespace and the schema's version, after the schema and the codec were added."""
    report = (await offer_schema(registry, address, schema, terms.new, terms.question)).require()
    assert report.registered is not None
    if terms.codec != NONE:
        await registry.add_codec(report.group, CodecType(name=terms.codec), report.namespace)
    return report.namespace, report.registered


async def _found(
    registry: "RegistryClient", address: GroupAddress, schema: SchemaInfo, terms: RegistrationTerms
) -> tuple[str, VersionInfo]:
    """The group's namespace and the schema's version, if the group has the schema and allows the codec."""
    group = await need_group(registry, address)
    if terms.codec != NONE:
        allowed = [one.name for one in await registry.codecs(group.name, group.namespace)]
        if terms.codec not in allowed:
            raise CodecNotRegisteredError(
                f"group {group.name} does not allow the codec {terms.codec!r}, only "
                f"{', '.join(allowed[:_SHOWN]) or 'none'}: add it with add_codec, or let it be registered with "
                "register=True"
            )
    known = await known_version(registry, group, schema)
    if known is None:
        raise SchemaNotFoundError(
            f"group {group.name} does not have the schema of {schema.type or 'the events'}: add it with add_schema, or "
            "let it be registered with register=True"
        )
    return group.namespace, known
