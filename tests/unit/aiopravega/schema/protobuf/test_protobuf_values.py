"""Every type of a field read as every other: what a report says, against what Protobuf's own runtime reads."""

import math
from itertools import product
from typing import Any

import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError, Message
from tests.unit.aiopravega.schema.changes import USER, descriptors, version

from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.open import check

WHOLE = [0, 1, 2, 127, 128, 2**31 - 1]
SIGNED = [*WHOLE, -1, -(2**31)]
VALUES: dict[str, list[Any]] = {
    "int32": SIGNED,
    "int64": [*SIGNED, 2**31, 2**63 - 1, -(2**63)],
    "uint32": [*WHOLE, 2**32 - 1],
    "uint64": [*WHOLE, 2**32, 2**64 - 1],
    "sint32": SIGNED,
    "sint64": [*SIGNED, 2**31, 2**63 - 1, -(2**63)],
    "fixed32": [*WHOLE, 2**32 - 1],
    "fixed64": [*WHOLE, 2**64 - 1],
    "sfixed32": SIGNED,
    "sfixed64": [*SIGNED, -(2**63)],
    "bool": [False, True],
    "float": [0.0, 1.0, -1.5],
    "double": [0.0, 1.0, -1.5, 1e300],
    "string": ["", "a", "\u00e4"],
    "bytes": [b"", b"a", b"\xff"],
}


def schema(kind: str, label: str = "optional", options: str = "") -> SchemaInfo:
    text = f'syntax = "proto3"; package demo; message User {{ {label} {kind} x = 1 {options}; }}'
    return SchemaInfo.of(SchemaFormat.PROTOBUF, USER, descriptors(text))


def message(of: SchemaInfo) -> type[Message]:
    pool = descriptor_pool.DescriptorPool()
    for file in FileDescriptorSet.FromString(of.schema_data).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(USER))


def is_read_as(value: Any, read: Any) -> bool:
    if isinstance(value, str) and isinstance(read, bytes):
        return value.encode() == read
    if isinstance(value, float) and isinstance(read, float):
        return math.isclose(value, read)
    return isinstance(value, str | bytes) == isinstance(read, str | bytes) and bool(value == read)


def reads_all(reader: SchemaInfo, writer: SchemaInfo, values: list[Any]) -> bool:
    for value in values:
        payload = message(writer)(x=value).SerializeToString()
        try:
            found = message(reader).FromString(payload)
        except DecodeError:
            return False
        if not found.HasField("x") or not is_read_as(value, found.x):  # type: ignore[attr-defined]  # made at run time
            return False
    return True


@pytest.mark.parametrize("written", VALUES)
def test_a_type_is_compatible_if_all_its_values_are_read_as_they_were(written):
    for read in VALUES:
        reader, writer = schema(read), schema(written)
        report = check(reader, [version(writer)], Compatibility(policy="Backward"))
        assert report.compatible == reads_all(reader, writer, VALUES[written]), f"{written} read as {read}"


def test_lists_are_read_packed_or_not_and_so_are_single_values():
    single, packed, plain = (
        schema("int32"),
        schema("int32", "repeated"),
        schema("int32", "repeated", "[packed = false]"),
    )
    for reader, writer in product([packed, plain], repeat=2):
        assert check(reader, [version(writer)], Compatibility(policy="Backward")).compatible
        payload = message(writer)(x=[1, 2]).SerializeToString()
        assert list(message(reader).FromString(payload).x) == [1, 2]  # type: ignore[attr-defined]  # made at run time
    assert check(packed, [version(single)], Compatibility(policy="Backward")).compatible
    assert not check(single, [version(packed)], Compatibility(policy="Backward")).compatible
