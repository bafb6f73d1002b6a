"""Values into events: the registry is asked once at the beginning, and not again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aiopravega.errors import ConfigurationError
from aiopravega.schema.events.format import EventFormat, Write, WriteAll, all_by
from aiopravega.schema.open.client import SchemaRegistry
from aiopravega.schema.open.compare import Question
from aiopravega.schema.open.groups import GroupAddress, NewGroup
from aiopravega.schema.open.registration import Registration, RegistrationTerms, settle
from aiopravega.schema.registry.codecs import NONE, codec_named
from aiopravega.schema.registry.model import SchemaFormat


class Serializer:
    """Makes events of values of one type.

    Attributes:
        serialize: makes an event of a value; raises `ConfigurationError` for a value that does not fit the schema.
        version: of the schema in its group.
        encoding_id: the id in the events' header; None if they have no header.
    """

    def __init__(self, serialize: Write, serialize_all: WriteAll, registration: Registration) -> None:
        self.serialize: Callable[[Any], bytes] = serialize
        self._all = serialize_all
        self.version = registration.version
        self.encoding_id = registration.encoding_id

    def serialize_many(self, values: Iterable[Any]) -> list[bytes]:
        """An event of each value; faster than one call for each.

        Raises:
            ConfigurationError: a value does not fit the schema.
        """
        return self._all(values if isinstance(values, list) else list(values))


class MultiSerializer:
    """Makes events of values of several types, each by its own serializer."""

    def __init__(self, serializers: Mapping[str, Serializer]) -> None:
        self.serializers = dict(serializers)

    def serialize(self, value: Any, type_name: str | None = None) -> bytes:
        """An event of a value; a Protobuf message knows its type, all others need `type_name`.

        Raises:
            ConfigurationError: there is no such type, or the value does not fit its schema.
        """
        if type_name is None:
            descriptor = getattr(value, "DESCRIPTOR", None)
            if descriptor is None:
                raise ConfigurationError(f"name the type of the value: {', '.join(self.serializers)}")
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
    new_policy: str | None = None,
    declared_only: bool = False,
) -> Serializer:
    """A serializer whose schema and codec the registry knows.

    Args:
        registry: a client of it; it is not needed any more when this returns.
        group: a stream's group is named after the stream.
        form: the format of the values.
        namespace: the group's namespace.
        codec: the codec of payloads: a name of `aiopravega.schema.registry.codecs`, or a registered one.
        header: begin each event with its encoding id. Without a header events have no codec, and Avro cannot be read.
        register: make the group, add the schema and allow the codec, if they are missing; False: they have to be there.
        new_policy: of a new group; by default `BackwardTransitive` for Avro, JSON and Protobuf, `AllowAny` for others.
        declared_only: of JSON, assume that no writer uses properties that a schema does not declare; then a property
            may be added with a type of its own.

    Raises:
        ConfigurationError: header, codec and format do not go together, there is no such policy, or the extra of the
            format is not installed.
        GroupNotFoundError: there is no such group, and `register` is false.
        SchemaRefusedError: the group's format, policy or types do not allow the schema.
        InvalidSchemaError: the schema cannot be parsed.
        SchemaNotFoundError: the group lacks the schema, and `register` is false.
        CodecNotRegisteredError: the codec is not known here, or the group lacks it, and `register` is false.
        PravegaError: the registry cannot be asked. After a refusal nothing is registered.
    """
    terms = RegistrationTerms(codec, header, register, NewGroup(new_policy), Question(declared_only=declared_only))
    return await _opened(registry, group, form, terms, namespace)


async def open_multi_serializer(
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
    """Serializers of several types of one group, whose events all have headers; see `open_serializer`.

    A new group takes several types, and if these are of several formats, it is of format `Any`.
    """
    formats = {form.info.name_of_format for form in forms}
    new = NewGroup(new_policy, multiple_types=True, format=SchemaFormat.ANY if len(formats) > 1 else None)
    terms = RegistrationTerms(codec, register=register, new=new, question=Question(declared_only=declared_only))
    return MultiSerializer({form.info.type: await _opened(registry, group, form, terms, namespace) for form in forms})


async def _opened(
    registry: SchemaRegistry, group: str, form: EventFormat, terms: RegistrationTerms, namespace: str
) -> Serializer:
    settled = await settle(registry, GroupAddress(group, (namespace,)), form.info, terms)
    if terms.codec == NONE:
        return Serializer(form.writer(settled.head), form.list_writer(settled.head), settled)
    head, write, compress = settled.head, form.writer(), codec_named(terms.codec).compress

    def serialize(value: Any) -> bytes:
        return head + compress(write(value))

    return Serializer(serialize, all_by(serialize), settled)
