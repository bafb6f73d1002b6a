"""Rows become Protobuf messages that Protobuf's own runtime reads, and our reads give back."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from aiopravega.errors import ConfigurationError
from aiopravega.schema.open.blocks.targets import ProtobufTarget
from aiopravega.schema.protobuf.columns.encoder import message_of
from aiopravega.schema.protobuf.descriptors import descriptor_of

FIELDS = [
    ("id", Field.TYPE_INT64, "", False),
    ("signed", Field.TYPE_SINT32, "", False),
    ("small", Field.TYPE_UINT32, "", False),
    ("large", Field.TYPE_FIXED64, "", False),
    ("ratio", Field.TYPE_DOUBLE, "", False),
    ("flag", Field.TYPE_BOOL, "", False),
    ("name", Field.TYPE_STRING, "", False),
    ("raw", Field.TYPE_BYTES, "", False),
    ("colour", Field.TYPE_ENUM, ".demo.Colour", False),
    ("address", Field.TYPE_MESSAGE, ".demo.Order.Address", False),
    ("at", Field.TYPE_MESSAGE, ".google.protobuf.Timestamp", False),
    ("tags", Field.TYPE_STRING, "", True),
    ("numbers", Field.TYPE_INT32, "", True),
    ("stops", Field.TYPE_MESSAGE, ".demo.Order.Address", True),
    ("counts", Field.TYPE_MESSAGE, ".demo.Order.CountsEntry", True),
]
ROWS: list[dict[str, Any]] = [
    {
        "id": -7,
        "signed": -(2**31),
        "small": 2**32 - 1,
        "large": Decimal(2**64 - 1),
        "ratio": 0.1,
        "flag": True,
        "name": "x" * 200,
        "raw": b"\0",
        "colour": "GREEN",
        "address": {"city": "Rome"},
        "at": datetime(1960, 1, 1, 2, 3, 4, 5, tzinfo=UTC),
        "tags": ["a", "", "b"],
        "numbers": [1, -1, 300],
        "stops": [{"city": "A"}, {"city": "B"}],
        "counts": [("a", 1)],
    },
    dict.fromkeys([name for name, *_ in FIELDS]),
]


def order_file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="order.proto", package="demo", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    colours = file.enum_type.add(name="Colour")
    for number, name in enumerate(["RED", "GREEN"]):
        colours.value.add(name=name, number=number)
    order = file.message_type.add(name="Order")
    order.nested_type.add(name="Address").field.add(name="city", number=1, type=Field.TYPE_STRING, label=1)
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=Field.TYPE_INT64, label=1)
    for number, (name, kind, type_name, many) in enumerate(FIELDS, start=1):
        label = Field.LABEL_REPEATED if many else Field.LABEL_OPTIONAL
        order.field.add(name=name, number=number, type=kind, type_name=type_name or None, label=label)
    return file


def message(file: FileDescriptorProto):
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("demo.Order"))


SET = FileDescriptorSet(file=[order_file()]).SerializeToString()
ORDER = message(order_file())
TARGET = ProtobufTarget.of(SET, "demo.Order")


def encode(batch: pa.RecordBatch) -> pa.BinaryArray:
    return message_of(descriptor_of(SET, "demo.Order"), list(batch.schema)).columns(batch.columns, batch.num_rows)


@pytest.mark.parametrize("first", [0, 1])
def test_messages_are_what_protobuf_itself_reads(first):
    batch = pa.RecordBatch.from_pylist(ROWS, TARGET.schema).slice(first)

    orders = [ORDER.FromString(event) for event in encode(batch).to_pylist()]

    assert orders[-1] == ORDER()
    if first:
        return
    order, row = orders[0], ROWS[0]
    for name in ("id", "signed", "small", "large", "ratio", "flag", "name", "raw"):
        assert getattr(order, name) == row[name]
    assert order.colour == 1
    assert order.address.city == "Rome"
    assert order.at.ToDatetime(UTC) == row["at"]
    assert list(order.tags) == row["tags"]
    assert list(order.numbers) == row["numbers"]
    assert [stop.city for stop in order.stops] == ["A", "B"]
    assert dict(order.counts) == {"a": 1}


def test_a_read_gives_back_what_was_encoded():
    batch = pa.RecordBatch.from_pylist(ROWS[:1], TARGET.schema)

    block = TARGET.decoder(None).decode(encode(batch))

    assert [column.to_pylist() for column in block.columns] == [column.to_pylist() for column in batch.columns]


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ({"id": pa.array(["a"])}, "column id is string, which the Protobuf message has as int64"),
        ({"address": pa.array([1])}, "column address is int64.*demo.Order.Address"),
        ({"other": pa.array([1])}, "no field for the column other"),
        ({"colour": pa.array(["BLUE"])}, "colour is 'BLUE' in some rows.*RED, GREEN"),
        ({"tags": pa.array([["a", None]])}, "tags has a null in a list"),
    ],
)
def test_what_the_message_does_not_have_is_refused(column, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        encode(pa.record_batch(column))
