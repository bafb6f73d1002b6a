"""Values that begin with the header of Confluent's serializers, rewritten for Pravega's Schema Registry.

Confluent's header is a zero byte and the id of a schema, in four bytes; in Protobuf the path of the message's type
follows. The schemas of a subject are copied once, in their order, into the group of the stream, and values get the
header of that group. What follows the header has the same bytes in both registries.
"""

import base64
import binascii
from typing import Any, Final
from urllib.parse import quote

from confluent_kafka import Message

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import InvalidSchemaError, RecordRefusedError, SchemaRefusedError
from aiopravega.gates.candidates.files import text_schema
from aiopravega.names import StreamName
from aiopravega.schema import SchemaFormat, SchemaInfo
from aiopravega.schema.open.groups import GroupAddress, NewGroup
from aiopravega.schema.open.registration import RegistrationTerms, ensure_registered
from pravega_jobs.services.http_json import HttpServer

_MAGIC: Final = 0
_HEADER_BYTES: Final = 5
_NOT_FOUND: Final = 404


class ConfluentValues:
    """Rewrites values for the group of a stream.

    Args:
        confluent: Confluent's registry.
        registry: Pravega's registry.
        stream: the stream, whose group gets the schemas; it is made if it is missing.
    """

    def __init__(self, confluent: HttpServer, registry: SchemaRegistry, stream: StreamName) -> None:
        self._confluent = confluent
        self._registry = registry
        self._stream = stream
        self._schemas: dict[bytes, dict[str, Any]] = {}
        self._heads: dict[bytes, bytes] = {}

    def rewritten(self, record: Message, value: bytes) -> bytes:
        """The value of a record with the header of Pravega's registry.

        Raises:
            RecordRefusedError: the value has no header of Confluent, or its schema cannot be copied.
            PravegaError: a registry cannot be asked, or Pravega's refuses the schema.
        """
        if len(value) < _HEADER_BYTES or value[0] != _MAGIC:
            raise _refused(record, "has a value that does not begin with the header of Confluent's serializers")
        header = value[:_HEADER_BYTES]
        known = self._heads.get(header)
        if known is not None:
            return known + value[_HEADER_BYTES:]
        schema = self._schema(record, header)
        if schema.get("schemaType") != "PROTOBUF":
            self._register_versions(record, int.from_bytes(header[1:], "big"))
            if header not in self._heads:
                self._heads[header] = self._registered(_text_schema(record, schema, self._stream))
            return self._heads[header] + value[_HEADER_BYTES:]
        path, size = _message_path(record, value)
        key = value[:size]
        if key not in self._heads:
            self._heads[key] = self._registered(_protobuf_schema(record, schema, path))
        return self._heads[key] + value[size:]

    def _schema(self, record: Message, header: bytes) -> dict[str, Any]:
        """The schema of an id, as Confluent's registry has it; Protobuf as a descriptor."""
        if header in self._schemas:
            return self._schemas[header]
        number = int.from_bytes(header[1:], "big")
        status, found = self._confluent.get(f"/schemas/ids/{number}", (200, _NOT_FOUND))
        if status == 200 and found.get("schemaType") == "PROTOBUF":  # noqa: PLR2004  # of HTTP
            status, found = self._confluent.get(f"/schemas/ids/{number}?format=serialized", (200, _NOT_FOUND))
        if status == _NOT_FOUND:
            raise _refused(record, f"names schema {number}, which {self._confluent.uri} does not have")
        if found.get("references"):
            raise _refused(record, f"has a schema ({number}) that refers to others, which is not copied")
        self._schemas[header] = found
        return self._schemas[header]

    def _register_versions(self, record: Message, number: int) -> None:
        """Register all versions of the subject that has a schema, in their order: the newest is to be the newest here.

        A registry that does not say the subject of a schema has its schemas copied as their first records come.
        """
        status, named = self._confluent.get(f"/schemas/ids/{number}/versions", (200, _NOT_FOUND))
        if status == _NOT_FOUND or not named:
            return
        topic = str(record.topic())
        subject = max(
            (str(one["subject"]) for one in named),
            key=lambda name: (name == f"{topic}-value", name.startswith(f"{topic}-"), name),
        )
        where = f"/subjects/{quote(subject, safe='')}/versions"
        _, versions = self._confluent.get(where)
        for version in sorted(versions):
            _, found = self._confluent.get(f"{where}/{version}")
            if not found.get("references"):
                header = bytes([_MAGIC]) + int(found["id"]).to_bytes(4, "big")
                self._heads[header] = self._registered(_text_schema(record, found, self._stream))

    def _registered(self, schema: SchemaInfo) -> bytes:
        address = GroupAddress.of_stream(self._stream)
        terms = RegistrationTerms(new=NewGroup(multiple_types=schema.format is SchemaFormat.PROTOBUF))
        try:
            asked = ensure_registered(self._registry.asynchronous, address, schema, terms)
            return self._registry.run(asked).head
        except SchemaRefusedError as error:
            raise SchemaRefusedError(
                f"{error}. The group of {self._stream} refuses what Confluent's registry has accepted: make the group "
                "before the copy, with the policy AllowAny, and change the policy afterwards"
            ) from None


def _text_schema(record: Message, schema: dict[str, Any], stream: StreamName) -> SchemaInfo:
    kind = schema.get("schemaType", "AVRO")
    if kind not in ("AVRO", "JSON"):
        raise _refused(record, f"has a schema of the type {kind}, which is not known here")
    text = str(schema["schema"])
    name = None if kind == "AVRO" else stream.stream
    try:
        return text_schema(text.encode(), name, "the schema in Confluent's registry", avro=kind == "AVRO")
    except InvalidSchemaError as error:
        raise _refused(record, f"has a schema that is not one: {error}") from None


def _protobuf_schema(record: Message, schema: dict[str, Any], path: list[int]) -> SchemaInfo:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.message import DecodeError

    if len(path) > 1:
        raise _refused(record, "has a message of a type inside another type, which Pravega's registry does not take")
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(schema["schema"], validate=True))
        name = f"{file.package}.{file.message_type[path[0]].name}".lstrip(".")
    except (DecodeError, binascii.Error, IndexError):
        raise _refused(record, f"has a Protobuf schema without a message at {path}") from None
    return SchemaInfo.of(SchemaFormat.PROTOBUF, name, FileDescriptorSet(file=[file]).SerializeToString())


def _message_path(record: Message, value: bytes) -> tuple[list[int], int]:
    """The path of a message's type in its file, and the bytes of the header with it."""
    try:
        count, at = _long(value, _HEADER_BYTES)
        if not count:  # short for the first message
            return [0], at
        path = []
        for _ in range(count):
            number, at = _long(value, at)
            path.append(number)
    except IndexError:
        raise _refused(record, "has a header of Protobuf that ends early") from None
    return path, at


def _long(value: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, zigzag, and the position after it."""
    found = shift = 0
    while True:
        byte = value[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if not byte >> 7:
            return (found >> 1) ^ -(found & 1), at
        shift += 7


def _refused(record: Message, what: str) -> RecordRefusedError:
    return RecordRefusedError(
        f"the record at offset {record.offset()} of partition {record.partition()} of topic {record.topic()!r} {what}. "
        "Nothing of this step was copied. schemas='raw' copies values as they are. Once it has begun, a copy keeps its "
        "options"
    )
