"""Schemas and true events of them, to begin with."""

import json
from typing import Final

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import CutRecord, Interval
from pravega_jobs.landing import Holding, Landing

AVRO_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "counts", "type": {"type": "map", "values": "int"}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}},
            {"name": "ratio", "type": "double"},
        ],
    }
)
# id 7, note "hi", tags "a" and "b", counts k: 1, price 1.23, GREEN, 0.0; and one with as little as possible.
AVRO_EVENTS: Final = (
    b"\x0e\x02\x04hi\x04\x02a\x02b\x00\x02\x02k\x02\x00\x02\x7b\x02" + bytes(8),
    b"\x00\x00\x00\x00\x02\x00\x00" + bytes(8),
)

JSON_SCHEMA: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(9, 2)),
        ("tags", pa.list_(pa.string())),
        ("address", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
    ]
)
JSON_EVENTS: Final = (
    b'{"id":7,"name":"a","at":"2013-01-01T00:00:00Z","price":"1.23","tags":["x"],"address":{"city":"B","zip":1}}',
    b'{"id":null}',
    b' {"id":8, "more": [1.5e3, {"a": "\\u00e4"}]}\n',
)


def _order() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="demo", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    order = file.message_type.add(name="Order")
    order.nested_type.add(name="Address").field.add(
        name="city", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL
    )
    for number, (name, kind, of) in enumerate(
        [
            ("id", Field.TYPE_INT64, None),
            ("name", Field.TYPE_STRING, None),
            ("large", Field.TYPE_UINT64, None),
            ("address", Field.TYPE_MESSAGE, ".demo.Order.Address"),
            ("at", Field.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
        ]
    ):
        order.field.add(name=name, number=number + 1, type=kind, type_name=of, label=Field.LABEL_OPTIONAL)
    order.field.add(name="tags", number=8, type=Field.TYPE_STRING, label=Field.LABEL_REPEATED)
    return file


DESCRIPTORS: Final = descriptor_pb2.FileDescriptorSet(file=[_order()]).SerializeToString()


def protobuf_events() -> tuple[bytes, ...]:
    """A message with all fields, and one with none."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(_order())
    order = message_factory.GetMessageClass(pool.FindMessageTypeByName("demo.Order"))
    whole = order(id=-1, name="ä", large=2**64 - 1, address={"city": "Bonn"}, at={"seconds": 1, "nanos": 2}, tags=["a"])
    return whole.SerializeToString(), order().SerializeToString()


def records() -> tuple[bytes, ...]:
    """Records as the ledgers keep them."""
    stream = StreamName("examples", "orders")
    cuts = StreamCutRange(*(StreamCut(stream, {SegmentId(stream, 0, 0): offset}) for offset in (0, 10)))
    interval = Interval("consumer", stream, "2013-01-01")
    return (
        CutRecord.new(interval, cuts, by="fuzz", number=1).to_json(),
        Holding.of(Landing(interval, cuts), 5).to_json(),
    )
