"""Serializers of single events, as those of the registry's Java clients: what they write is read, and the reverse.

A format says what a value is: `AvroFormat` (extra `avro`), `JsonFormat`, `ProtobufFormat` or `CustomFormat`. With it
`open_serializer` and `open_deserializer` ask the registry what they need to know; then values become events without it.
Whole blocks of events are the business of `aiopravega.schema.open.blocks`.
"""

from aiopravega.schema.avro.event_format import AvroFormat
from aiopravega.schema.events.custom import CustomFormat
from aiopravega.schema.events.format import EventFormat
from aiopravega.schema.json.event_format import JsonFormat
from aiopravega.schema.protobuf.event_format import ProtobufFormat
from aiopravega.schema.serializers.reading import Deserializer, open_deserializer
from aiopravega.schema.serializers.writing import MultiSerializer, Serializer, open_multi_serializer, open_serializer

__all__ = [
    "AvroFormat",
    "CustomFormat",
    "Deserializer",
    "EventFormat",
    "JsonFormat",
    "MultiSerializer",
    "ProtobufFormat",
    "Serializer",
    "open_deserializer",
    "open_multi_serializer",
    "open_serializer",
]
