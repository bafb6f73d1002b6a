"""Protobuf events become columns by a message type out of a descriptor set."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from aiopravega.errors import ConfigurationError
from aiopravega.schema.open.blocks.targets import ProtobufTarget

FIELDS = [
    ("id", 1, Field.TYPE_INT64, ""),
    ("name", 2, Field.TYPE_STRING, ""),
    ("small", 3, Field.TYPE_UINT32, ""),
    ("large", 4, Field.TYPE_UINT64, ""),
    ("colour", 5, Field.TYPE_ENUM, ".demo.Colour"),
    ("address", 6, Field.TYPE_MESSAGE, ".demo.Order.Address"),
    ("at", 7, Field.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
    ("tags", 8, Field.TYPE_STRING, ""),
    ("raw", 9, Field.TYPE_BYTES, ""),
]
COLUMNS = (
    "struct<id:bigint,name:string,small:bigint,large:decimal(20,0),colour:string,address:struct<city:string>,"
    "at:timestamp,tags:array<string>,raw:binary>"
)


def order_file(*names: str) -> FileDescriptorProto:
    file = FileDescriptorProto(name="order.proto", package="demo", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    colours = file.enum_type.add(name="Colour")
    for number, name in enumerate(["RED", "GREEN"]):
        colours.value.add(name=name, number=number)
    order = file.message_type.add(name="Order")
    address = order.nested_type.add(name="Address")
    address.field.add(name="city", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    for name, number, kind, type_name in FIELDS:
        if not names or name in names:
            label = Field.LABEL_REPEATED if name == "tags" else Field.LABEL_OPTIONAL
            order.field.add(name=name, number=number, type=kind, type_name=type_name or None, label=label)
    return file


def descriptors(*files: FileDescriptorProto) -> bytes:
    return FileDescriptorSet(file=files).SerializeToString()


def message(file: FileDescriptorProto):
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("demo.Order"))


ORDER = message(order_file())
SET = descriptors(order_file())


def decoded(payloads, target=None):
    target = target or ProtobufTarget.of(SET, "demo.Order")
    block = target.decoder(None).decode(payloads)
    batch = pa.RecordBatch.from_arrays(block.columns, schema=target.schema)
    batch.validate(full=True)
    return batch.to_pylist(), block.bad


def test_every_field_is_a_column(payloads, as_spark):
    order = ORDER(id=-1, name="ä", small=2**32 - 1, large=2**64 - 1, colour=1, tags=["a", "b"], raw=b"\xff")
    order.address.city = "Rome"
    order.at.FromDatetime(datetime(2024, 1, 2, tzinfo=UTC) + timedelta(microseconds=5))

    rows, bad = decoded(payloads(order.SerializeToString()))

    assert not bad
    assert rows == [
        {
            "id": -1,
            "name": "ä",
            "small": 2**32 - 1,
            "large": Decimal(2**64 - 1),
            "colour": "GREEN",
            "address": {"city": "Rome"},
            "at": datetime(2024, 1, 2, 0, 0, 0, 5, UTC),
            "tags": ["a", "b"],
            "raw": b"\xff",
        }
    ]
    assert as_spark(ProtobufTarget.of(SET, "demo.Order").schema) == COLUMNS


def test_events_of_older_and_newer_versions_are_read(payloads):
    older = message(order_file("id"))(id=7).SerializeToString()
    newer = ORDER(id=8, name="x", small=3).SerializeToString()

    rows, _ = decoded(payloads(older, newer), ProtobufTarget.of(descriptors(order_file("id", "name")), None))

    assert rows == [{"id": 7, "name": ""}, {"id": 8, "name": "x"}]


def test_the_only_message_need_not_be_named():
    assert ProtobufTarget.of(SET, None).message == "demo.Order"


@pytest.mark.parametrize("event", [b"\x08", b"\xff" * 12, b"\x12\x7fab", b"\x00\x00", b"\x12\x02\xff\xfe"])
def test_a_malformed_event_is_found(payloads, event):
    good = ORDER(id=1).SerializeToString()

    rows, bad = decoded(payloads(good, event, good))

    assert [row["id"] for row in rows] == [1, 1]
    assert list(bad) == [1]
    assert bad[1]


@pytest.mark.parametrize("values", [{"id": 0, "raw": b"x\0\0"}, {"name": "x"}, {"large": 2**63}, {}])
def test_zeros_that_a_codec_left_are_not_taken_for_the_events_own(values):
    event = ORDER(**values).SerializeToString()

    assert ProtobufTarget.of(SET, None).decoder(None).trim(event + bytes(100)) == event


def test_what_cannot_be_columns_is_refused():
    recursive = order_file("id")
    recursive.message_type[0].field.add(
        name="next", number=20, type=Field.TYPE_MESSAGE, type_name=".demo.Order", label=Field.LABEL_OPTIONAL
    )
    unknown = order_file("id")
    unknown.dependency.append("other.proto")

    with pytest.raises(ConfigurationError, match=r"demo.Order.next: demo.Order contains itself"):
        ProtobufTarget.of(descriptors(recursive), "demo.Order")
    with pytest.raises(ConfigurationError, match="lacks other.proto, which it imports"):
        ProtobufTarget.of(descriptors(unknown), "demo.Order")
    with pytest.raises(ConfigurationError, match=r"no message demo.Nope; it has demo.Order"):
        ProtobufTarget.of(SET, "demo.Nope")
    with pytest.raises(ConfigurationError, match="not a descriptor set"):
        ProtobufTarget.of(b"\xff", "demo.Order")
