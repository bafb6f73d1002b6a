"""Values into events: what the registry has to know is settled first, then nobody is asked any more."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aiopravega.errors import ConfigurationError
from aiopravega.schema.codecs import NONE, codec_named
from aiopravega.schema.model import GroupProperties
from aiopravega.schema.registry import SchemaRegistry
from aiopravega.schema.serializers.format import EventFormat, Write, WriteAll, all_by
from aiopravega.schema.serializers.registering import Registration, Terms, settle


class Serializer:
    """Makes events of values of one type.

    Attributes:
        serialize: makes an event of a value; raises `ConfigurationError` for a value that does not fit the schema.
        version: of the schema in its group.
        encoding_id: what the events' header says, None if they have none.
    """

    def __init__(self, serialize: Write, serialize_all: WriteAll, registration: Registration) -> None:
        self.serialize: Callable[[Any], bytes] = serialize
        self._all = serialize_all
        self.version = registration.version
        self.encoding_id = registration.encoding_id

    def serialize_many(self, values: Iterable[Any]) -> list[bytes]:
        """An event of each value, which costs less than one by one.

        Raises:
            ConfigurationError: a value does not fit the schema.
        """
        return self._all(values if isinstance(values, list) else list(values))


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
    settled = await settle(registry, group, form.info, Terms(namespace, codec, header, register, create))
    if codec == NONE:
        return Serializer(form.writer(settled.head), form.list_writer(settled.head), settled)
    head, write, compress = settled.head, form.writer(), codec_named(codec).compress

    def serialize(value: Any) -> bytes:
        return head + compress(write(value))

    return Serializer(serialize, all_by(serialize), settled)


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
