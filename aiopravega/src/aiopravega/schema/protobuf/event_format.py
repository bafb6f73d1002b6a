"""Protobuf messages one by one, by its own runtime."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Self

from google.protobuf import message_factory
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError, EncodeError, Message

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema.events.format import Read, ReadAll, Write, WriteAll, all_by
from aiopravega.schema.protobuf.descriptors import descriptor_of, only_message
from aiopravega.schema.protobuf.padding import without_padding
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo


class ProtobufFormat:
    """Messages of a class that `protoc` generated, or that is made here from a descriptor set.

    Args:
        message: a generated class.
    """

    def __init__(self, message: type[Message]) -> None:
        files: dict[str, FileDescriptorProto] = {}
        file: Any = message.DESCRIPTOR.file
        _collect(file, files)
        self._class = message
        descriptors = FileDescriptorSet(file=files.values()).SerializeToString()
        self.info = SchemaInfo.of(SchemaFormat.PROTOBUF, message.DESCRIPTOR.full_name, descriptors)

    @classmethod
    def of_descriptors(cls, descriptors: bytes, message: str | None = None) -> Self:
        """A message type from a descriptor set; `message` is needed if the set has several.

        Raises:
            ConfigurationError: the descriptor set cannot be parsed, is not whole, or has no such message.
        """
        descriptor = descriptor_of(descriptors, message or only_message(descriptors))
        made = cls(message_factory.GetMessageClass(descriptor))
        made.info = SchemaInfo.of(
            SchemaFormat.PROTOBUF, descriptor.full_name, descriptors
        )  # the order of files stays as it is
        return made

    @property
    def message(self) -> type[Message]:
        """The class of the messages."""
        return self._class

    def writer(self, head: bytes = b"") -> Write:
        wanted, name = self._class, self.info.type

        def write(value: Any) -> bytes:
            if type(value) is not wanted and not _is(value, name):
                raise ConfigurationError(f"a value does not fit its schema: it is {type(value).__name__}, not {name}")
            try:
                event: bytes = head + value.SerializeToString()
            except EncodeError as error:
                raise ConfigurationError(f"a message of type {name} cannot be written: {error}") from None
            return event

        return write

    def reader(self, written: SchemaInfo | None = None, skip: int = 0) -> Read:
        """See `EventFormat`; fields are found by their numbers; the writer's schema does not matter."""
        parse, name = self._class.FromString, self.info.type

        def read(event: bytes) -> Message:
            payload = event[skip:]
            try:
                return parse(payload)
            except DecodeError as error:
                if payload.endswith(b"\0") and len(whole := without_padding(payload)) < len(payload):
                    return read(event[:skip] + whole)
                raise MalformedEventError(f"it is not a message of type {name}: {error}") from None

        return read

    def list_writer(self, head: bytes = b"") -> WriteAll:
        """See `EventFormat`. Writing a message is so fast that one step of Python for each would double the time."""
        serialize: Any = self._class.SerializeToString  # the method of the class refuses messages of other classes
        one_by_one = all_by(self.writer(head))

        def write_all(values: Sequence[Any]) -> list[bytes]:
            try:
                return [*map(head.__add__, map(serialize, values))]
            except (TypeError, EncodeError):
                return one_by_one(values)  # it raises the error with the reason, if there is one

        return write_all

    def list_reader(self, written: SchemaInfo | None = None, skip: int = 0) -> ReadAll:
        parse, payload_of = self._class.FromString, itemgetter(slice(skip, None))
        one_by_one = all_by(self.reader(written, skip))

        def read_all(events: Sequence[bytes]) -> list[Any]:
            try:
                return [*map(parse, map(payload_of, events))]
            except DecodeError:
                return one_by_one(events)

        return read_all


def _is(value: Any, name: str) -> bool:
    """True if a value is a message of this name; its class does not matter."""
    return isinstance(value, Message) and value.DESCRIPTOR.full_name == name


def _collect(file: FileDescriptor, files: dict[str, FileDescriptorProto]) -> None:
    """Add a file to `files`, after the files that it imports."""
    if file.name in files:
        return
    for dependency in file.dependencies:
        _collect(dependency, files)
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    files[file.name] = proto
