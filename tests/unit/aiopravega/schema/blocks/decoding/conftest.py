"""Avro datums written by the specification, event by event, and the types that columns have in Spark."""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from aiopravega.schema.arrow.arrays import values_of
from pyspark_pravega.arrow_types import arrow_schema

Encode = Callable[[Any, Any], bytes]


def long(value: int) -> bytes:
    left = (value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def blocks(items: list[bytes]) -> bytes:
    """Items in blocks of two, of which every second one says its size in bytes."""
    out = b""
    for number, first in enumerate(range(0, len(items), 2)):
        some = items[first : first + 2]
        content = b"".join(some)
        out += (long(-len(some)) + long(len(content)) if number % 2 else long(len(some))) + content
    return out + b"\0"


def encode(schema: Any, value: Any) -> bytes:
    """A datum; the value of a union is a pair of the branch's number and its value."""
    if isinstance(schema, list):
        return long(value[0]) + encode(schema[value[0]], value[1])
    kind = schema if isinstance(schema, str) else schema["type"]
    if isinstance(value, Decimal):
        whole = int(value.scaleb(schema["scale"]))
        size = schema.get("size") or (whole.bit_length() + 8) // 8
        raw = whole.to_bytes(size, "big", signed=True)
        return raw if kind == "fixed" else long(size) + raw
    match kind:
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return long(value)
        case "float":
            return struct.pack("<f", value)
        case "double":
            return struct.pack("<d", value)
        case "bytes":
            return long(len(value)) + bytes(value)
        case "string":
            return encode("bytes", value.encode())
        case "fixed":
            return bytes(value)
        case "enum":
            return long(schema["symbols"].index(value))
        case "array":
            return blocks([encode(schema["items"], item) for item in value])
        case "map":
            return blocks([encode("string", key) + encode(schema["values"], item) for key, item in value.items()])
    return b"".join(encode(field["type"], value[field["name"]]) for field in schema["fields"])


@pytest.fixture(scope="session", name="encode")
def give_encode() -> Encode:
    """Writes a value by a schema, both as in JSON."""
    return encode


@pytest.fixture(scope="session")
def payloads():
    """Makes an array of events."""
    return lambda *events: values_of(list(events), pa.binary())


@pytest.fixture(scope="session")
def as_spark():
    """Says columns in Spark's words, and that Spark expects them in just these types of Arrow."""

    def said(columns: pa.Schema) -> str:
        spark = from_arrow_schema(columns)
        assert arrow_schema(spark) == columns
        text: str = spark.simpleString()
        return text

    return said
