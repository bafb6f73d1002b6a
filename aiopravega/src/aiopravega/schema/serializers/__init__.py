"""Serializers of single events. They read the events of the registry's Java clients, which read theirs.

A format says what a value is: `AvroFormat` (extra `avro`), `JsonFormat`, `ProtobufFormat` or `CustomFormat`.
`open_serializer` and `open_deserializer` ask the registry once; then values become events without further requests.
Whole blocks of events are in `aiopravega.schema.open.blocks`.
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
