"""Values into events: what the registry has to know is settled first, then nobody is asked any more."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from aiopravega.errors import CodecNotRegisteredError, ConfigurationError, SchemaNotFoundError, SchemaRefusedError
from aiopravega.schema.codecs import NONE, codec_named
from aiopravega.schema.header import header as head_of
from aiopravega.schema.model import CodecType, GroupProperties, SchemaFormat, VersionInfo
from aiopravega.schema.registry import SchemaRegistry
from aiopravega.schema.serializers.format import EventFormat, Write

_SHOWN: Final = 8  # codecs in a message


class Serializer:
    """Makes events of values of one type.

    Attributes:
        serialize: makes an event of a value; raises `ConfigurationError` for a value that does not fit the schema.
        version: of the schema in its group.
        encoding_id: what the events' header says, None if they have none.
    """

    def __init__(self, serialize: Write, version: VersionInfo, encoding_id: int | None) -> None:
        self.serialize: Callable[[Any], bytes] = serialize
        self.version = version
        self.encoding_id = encoding_id

    def serialize_many(self, values: Iterable[Any]) -> list[bytes]:
        """An event of each value.

        Raises:
            ConfigurationError: a value does not fit the schema.
        """
        return [*map(self.serialize, values)]


class MultiSerializer:
    """Makes events of values of several types, each by its own serializer."""

    def __init__(self, serializers: Mapping[str, Serializer]) -> None:
        self.serializers = dict(serializers)

    def serialize(self, value: Any, type_name: str | None = None) -> bytes:
        """An event of a value; a Protobuf message knows its type, for all others it is given.

        Raises:
            ConfigurationError: there is no such type, or the value does not fit its schema.
        """
        if type_name is None:
            descriptor = getattr(value, "DESCRIPTOR", None)
            if descriptor is None:
                raise ConfigurationError(f"say of which type the value is: {', '.join(self.serializers)}")
            type_name = str(descriptor.full_name)
        serializer = self.serializers.get(type_name)
        if serializer is None:
            raise ConfigurationError(f"there is no serializer for {type_name}, only for {', '.join(self.serializers)}")
        return serializer.serialize(value)


async def open_serializer(
    registry: SchemaRegistry,
    group: str,
    form: EventFormat,
    *,
    namespace: str = "",
    codec: str = NONE,
    header: bool = True,
    register: bool = True,
    create: GroupProperties | None = None,
) -> Serializer:
    """A serializer whose schema and codec the registry knows.

    Args:
        registry: a client of it; it is not needed any more when this returns.
        group: that of a stream is named after the stream.
        form: what values are.
        namespace: in which the group is.
        codec: how payloads are compressed: a name of `aiopravega.schema.codecs`, or one that was registered there.
        header: begin each event with its encoding id. Without it events have no codec, and Avro cannot be read.
        register: add the schema, and allow the codec, if the group lacks them; False: they have to be there.
        create: make the group with these properties if there is none.

    Raises:
        ConfigurationError: header, codec and format do not go together.
        GroupNotFoundError: there is no such group.
        SchemaRefusedError: the group's format, policy or types do not allow the schema.
        SchemaNotFoundError: the group lacks the schema, and `register` is false.
        CodecNotRegisteredError: the codec is not known here, or the group lacks it, and `register` is false.
        PravegaError: the registry cannot be asked. Nothing is registered of what is refused.
    """
    compress = _compression(form, codec, header)
    if create is not None:
        await registry.create_group(group, create, namespace)
    _check_format(group, await registry.group(group, namespace), form)
    version = await _version(registry, group, form, namespace, codec, register)
    encoding_id = await registry.encoding_id(group, version, codec, namespace) if header else None
    head = b"" if encoding_id is None else head_of(encoding_id)
    if compress is None:
        return Serializer(form.writer(head), version, encoding_id)
    write = form.writer()

    def serialize(value: Any) -> bytes:
        return head + compress(write(value))

    return Serializer(serialize, version, encoding_id)


async def open_multi_serializer(
    registry: SchemaRegistry,
    group: str,
    forms: Sequence[EventFormat],
    *,
    namespace: str = "",
    codec: str = NONE,
    register: bool = True,
    create: GroupProperties | None = None,
) -> MultiSerializer:
    """Serializers of several types of one group, whose events all have headers; see `open_serializer`."""
    opened = {}
    for form in forms:
        opened[form.info.type] = await open_serializer(
            registry, group, form, namespace=namespace, codec=codec, register=register, create=create
        )
    return MultiSerializer(opened)


def _compression(form: EventFormat, codec: str, with_header: bool) -> Callable[[bytes], bytes] | None:
    """What compresses payloads, found before anything is asked."""
    if not with_header and form.info.format is SchemaFormat.AVRO:
        raise ConfigurationError("Avro needs a header: without its writer's schema a datum cannot be read")
    if codec == NONE:
        return None
    if not with_header:
        raise ConfigurationError(f"the codec {codec!r} needs a header, without which no reader knows of it")
    return codec_named(codec).compress


def _check_format(group: str, properties: GroupProperties, form: EventFormat) -> None:
    wanted, found = properties.serialization_format, form.info.serialization_format
    if wanted.serialization_format is SchemaFormat.ANY:
        return
    if wanted.serialization_format is not found.serialization_format or (
        found.serialization_format is SchemaFormat.CUSTOM and wanted.full_type_name != found.full_type_name
    ):
        raise SchemaRefusedError(
            f"group {group} is of format {wanted.full_type_name or wanted.serialization_format}, so it does not take "
            f"{form.info.type} in format {form.info.name_of_format}"
        )


async def _version(
    registry: SchemaRegistry, group: str, form: EventFormat, namespace: str, codec: str, register: bool
) -> VersionInfo:
    """The schema's version, with the codec allowed, too: first what may be refused, then what may not."""
    if register:
        version = await registry.add_schema(group, form.info, namespace)
        if codec != NONE:
            await registry.add_codec(group, CodecType(name=codec), namespace)
        return version
    if codec != NONE:
        known = [one.name for one in await registry.codecs(group, namespace)]
        if codec not in known:
            raise CodecNotRegisteredError(
                f"group {group} does not allow the codec {codec!r}, only {', '.join(known[:_SHOWN]) or 'none'}: add it "
                "with add_codec, or open the serializer with register=True"
            )
    try:
        return await registry.find_version(group, form.info, namespace)
    except SchemaNotFoundError as error:
        raise SchemaNotFoundError(f"{error}: register it with add_schema, or open it with register=True") from None
