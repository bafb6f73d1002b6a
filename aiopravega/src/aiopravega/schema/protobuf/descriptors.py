"""Message types from descriptor sets: the registry's form of Protobuf schemas. This module does not need Arrow."""

from importlib import import_module
from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from aiopravega.errors import ConfigurationError

_OF_THE_RUNTIME: Final = frozenset(
    f"google/protobuf/{name}.proto"
    for name in (
        *("any", "api", "descriptor", "duration", "empty", "field_mask"),
        *("source_context", "struct", "timestamp", "type", "wrappers"),
    )
)


def only_message(descriptors: bytes) -> str:
    """The name of the message type, if a descriptor set has a single one.

    Raises:
        ConfigurationError: it has none, or several.
    """
    files = parse(descriptors).file
    names = [f"{file.package}.{one.name}".lstrip(".") for file in files for one in file.message_type]
    if len(names) != 1:
        raise ConfigurationError(
            f"the descriptor set has the messages {', '.join(names) or 'none'}: name one with option 'schema_type'"
        )
    return names[0]


def parse(descriptors: bytes) -> descriptor_pb2.FileDescriptorSet:
    """A parsed descriptor set.

    Raises:
        ConfigurationError: the bytes are not a descriptor set.
    """
    try:
        return descriptor_pb2.FileDescriptorSet.FromString(descriptors)
    except DecodeError:
        raise ConfigurationError(
            "the Protobuf schema is not a descriptor set: make one with protoc --include_imports --descriptor_set_out"
        ) from None


def descriptor_of(descriptors: bytes, name: str) -> Descriptor:
    """A message type from a descriptor set.

    Raises:
        ConfigurationError: the descriptor set cannot be parsed, is not whole, or has no such message.
    """
    pool = descriptor_pool.DescriptorPool()
    files = {file.name: file for file in parse(descriptors).file}
    added: set[str] = set()

    def add(file_name: str) -> None:
        if file_name in added:
            return
        added.add(file_name)
        file = files.get(file_name) or _of_the_runtime(file_name)
        for dependency in file.dependency:
            add(dependency)
        pool.Add(file)

    try:
        for file_name in files:
            add(file_name)
        return pool.FindMessageTypeByName(name)
    except TypeError as error:
        raise ConfigurationError(f"the Protobuf descriptor set is not whole: {error}") from None
    except KeyError:
        known = sorted(f"{file.package}.{one.name}".lstrip(".") for file in files.values() for one in file.message_type)
        raise ConfigurationError(f"the descriptor set has no message {name}; it has {', '.join(known)}") from None


def _of_the_runtime(file_name: str) -> descriptor_pb2.FileDescriptorProto:
    """A file that comes with Protobuf, such as google/protobuf/timestamp.proto.

    Java's serializers describe a class by its own file alone: their schemas lack even these.
    """
    if file_name not in _OF_THE_RUNTIME:
        raise ConfigurationError(
            f"the descriptor set lacks {file_name}, which it imports: make it with protoc --include_imports. "
            "In Java, give it to ProtobufSchema.of beside the class, which alone has no imports"
        )
    module = import_module(f"{file_name.removesuffix('.proto').replace('/', '.')}_pb2")
    return descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
