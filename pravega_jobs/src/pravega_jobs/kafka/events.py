"""The event and the routing key that a record of Kafka becomes, by options that a copy keeps from its beginning.

With `events=value` an event is the value of a record, byte by byte. With `events=record` it is the whole record, in
Avro by `RECORD_SCHEMA`: key, value, headers, partition, offset and timestamp. Routing keys are texts, and are
not a part of an event.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message
from pydantic import BaseModel, ConfigDict, ValidationError

from aiopravega.errors import ConfigurationError, RecordRefusedError
from aiopravega.names import StreamName
from pravega_jobs.events.batches import EventBatch
from pravega_jobs.services.http_json import HttpServer

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

# Rewrites the value of a record.
Rewrite: TypeAlias = Callable[[Message, bytes], bytes]
RECORD_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "KafkaRecord",
        "fields": [
            {"name": "key", "type": ["null", "bytes"]},
            {"name": "value", "type": ["null", "bytes"]},
            {
                "name": "headers",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "KafkaHeader",
                        "fields": [{"name": "name", "type": "string"}, {"name": "value", "type": ["null", "bytes"]}],
                    },
                },
            },
            {"name": "partition", "type": "int"},
            {"name": "offset", "type": "long"},
            {"name": "timestamp", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        ],
    }
)


class CopiedPart(StrEnum):
    """The part of a record that becomes the event: its value, or all of it in Avro by `RECORD_SCHEMA`."""

    VALUE = "value"
    RECORD = "record"


class Routing(StrEnum):
    """The routing key of an event: its record's key as a text, the key in hexadecimal digits, or the partition.

    A record without a key is always routed by its partition.
    """

    KEY = "key"
    HEX = "hex"
    PARTITION = "partition"


class Unkept(StrEnum):
    """The rule for what the value alone does not have: refuse the record, or drop it."""

    REFUSE = "refuse"
    DROP = "drop"


class Schemas(StrEnum):
    """The schemas of values: bytes are kept as they are, or Confluent's header is rewritten to Pravega's registry."""

    RAW = "raw"
    REGISTRY = "registry"


class CopyOptions(BaseModel):
    """The rules by which records become events; all steps of a copy have the same.

    Attributes:
        events: the part of a record that becomes the event.
        routing: the routing key of an event.
        headers: with `events=value`, the rule for headers: refuse records that have some, or leave the headers out.
        tombstones: with `events=value`, the rule for records without a value: refuse them, or leave them out.
        schemas: `registry` copies the schemas of values from Confluent's registry, and rewrites the header of values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    events: CopiedPart = CopiedPart.VALUE
    routing: Routing = Routing.KEY
    headers: Unkept = Unkept.REFUSE
    tombstones: Unkept = Unkept.REFUSE
    schemas: Schemas = Schemas.RAW

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """The options of a mapping of texts.

        Raises:
            ConfigurationError: a name or a value is not known.
        """
        try:
            return cls.model_validate(dict(given))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            known = ", ".join(cls.model_fields)
            raise ConfigurationError(
                f"the option {'.'.join(map(str, first['loc']))} of the copy is {first['input']!r}: {first['msg']}. "
                f"Known are {known}"
            ) from None


def batch_of(records: Sequence[Message], options: CopyOptions, rewrite: Rewrite | None = None) -> EventBatch:
    """The events of some records, in their order, with their routing keys.

    Args:
        records: the records.
        options: of the copy.
        rewrite: rewrites the values that are there; None: they stay as they are.

    Raises:
        RecordRefusedError: a record has something that its event cannot keep; the message has the ways out.
    """
    whole = options.events is CopiedPart.RECORD
    key_of = _KEYS[options.routing]
    events: list[bytes] = []
    keys: list[str | None] = []
    for record in records:
        value = record.value()
        if rewrite is not None and value is not None:
            value = rewrite(record, value)
        event = _record(record, value) if whole else _value(record, value, options)
        if event is not None:
            events.append(event)
            keys.append(key_of(record))
    return EventBatch(events, keys)


def rewrite_of(
    options: CopyOptions, confluent: HttpServer | None, registry: "SchemaRegistry | None", stream: StreamName
) -> Rewrite | None:
    """The function that rewrites values as the options of a copy say; None: they stay as they are.

    Raises:
        ConfigurationError: a registry is missing.
    """
    if options.schemas is Schemas.RAW:
        return None
    if confluent is None or registry is None:
        missing = "Confluent's registry: set schema.registry.url beside the settings of Kafka"
        if confluent is not None:
            missing = "Pravega's registry: give it, or set PRAVEGA_SCHEMA_REGISTRY_URI"
        raise ConfigurationError(f"schemas='registry' needs {missing}")
    # Registries need libraries that raw copies do without.
    from pravega_jobs.kafka.confluent import ConfluentValues

    return ConfluentValues(confluent, registry, stream).rewritten


def _value(record: Message, value: bytes | None, options: CopyOptions) -> bytes | None:
    if value is None:
        if options.tombstones is Unkept.DROP:
            return None
        raise _refused(record, "has no value (a tombstone)", "tombstones='drop' leaves such records out")
    if options.headers is Unkept.REFUSE and record.headers():
        raise _refused(record, "has headers", "headers='drop' copies the value without them")
    return value


def _record(record: Message, value: bytes | None) -> bytes:
    """The whole record in Avro."""
    into = bytearray()
    _put_bytes(into, record.key())
    _put_bytes(into, value)
    given = record.headers() or []
    headers = given.items() if isinstance(given, dict) else given
    if headers:
        into += _long(len(headers))
        for name, given_value in headers:
            encoded = name.encode()
            into += _long(len(encoded)) + encoded
            _put_bytes(into, given_value.encode() if isinstance(given_value, str) else given_value)
    into += b"\0" + _long(record.partition() or 0) + _long(record.offset() or 0)
    kind, milliseconds = record.timestamp()
    into += b"\0" if kind == TIMESTAMP_NOT_AVAILABLE else b"\2" + _long(milliseconds)
    return bytes(into)


def _put_bytes(into: bytearray, value: bytes | None) -> None:
    if value is None:
        into += b"\0"
    else:
        into += b"\2" + _long(len(value)) + value


def _long(number: int) -> bytes:
    """A whole number of Avro: zigzag, seven bits a byte."""
    left = (number << 1) ^ (number >> 63)
    found = bytearray()
    while left >> 7:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def _partition(record: Message) -> str:
    return str(record.partition())


def _key(record: Message) -> str:
    key = record.key()
    try:
        return _partition(record) if key is None else key.decode()
    except UnicodeDecodeError:
        raise _refused(
            record,
            "has a key that is not a text in UTF-8",
            "routing='hex' routes by the hexadecimal digits of keys, routing='partition' by partitions",
            whole=False,
        ) from None


def _hex(record: Message) -> str:
    key = record.key()
    return _partition(record) if key is None else key.hex()


_KEYS: Final[dict[Routing, Callable[[Message], str]]] = {
    Routing.KEY: _key,
    Routing.HEX: _hex,
    Routing.PARTITION: _partition,
}


def _refused(record: Message, what: str, way: str, *, whole: bool = True) -> RecordRefusedError:
    kept = "; events='record' keeps all that a record has" if whole else ""
    return RecordRefusedError(
        f"the record at offset {record.offset()} of partition {record.partition()} of topic {record.topic()!r} {what}, "
        f"which its event cannot keep. Nothing of this step was copied. {way}{kept}. Once it has begun, a copy "
        "keeps its options: then copy into another stream, or into this one after it was deleted and made again"
    )
