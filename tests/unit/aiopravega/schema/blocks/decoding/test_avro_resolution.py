"""Events of one Avro schema are read with another, by the rules of the specification."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema.open.blocks.targets import AvroTarget


def record(*fields):
    return {"type": "record", "name": "Order", "fields": list(fields)}


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def read_as(encode, payloads, writer, reader, value):
    """The row that a value becomes, or why it does not."""
    target = AvroTarget.of(json.dumps(reader))
    block = target.decoder(json.dumps(writer).encode()).decode(payloads(encode(writer, value)))
    batch = pa.RecordBatch.from_arrays(block.columns, schema=target.schema)
    batch.validate(full=True)
    return block.bad[0] if block.bad else batch.to_pylist()[0]


def test_fields_are_matched_by_name_and_the_writers_own_are_skipped(encode, payloads):
    writer = record(field("a", "int"), field("gone", {"type": "array", "items": "string"}), field("b", "string"))
    reader = record(field("b", "string"), field("a", "int"))

    row = read_as(encode, payloads, writer, reader, {"a": 1, "gone": ["x", "y", "z"], "b": "two"})

    assert row == {"b": "two", "a": 1}


def test_fields_that_the_writer_lacks_have_their_defaults(encode, payloads):
    money = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}
    address = {"type": "record", "name": "P", "fields": [field("city", "string"), field("zip", "int", default=9)]}
    reader = record(
        field("a", "int"),
        field("none", ["null", "string"], default=None),
        field("text", "string", default="new"),
        field("raw", "bytes", default="ÿ"),
        field("fixed", {"type": "fixed", "name": "F", "size": 2}, default="ab"),
        field("kind", {"type": "enum", "name": "K", "symbols": ["A", "B"]}, default="B"),
        field("flag", "boolean", default=True),
        field("ratio", "double", default=1),
        field("large", "long", default=-(2**40)),
        field("money", money, default="\u0019"),
        field("list", {"type": "array", "items": "int"}, default=[1, 2]),
        field("map", {"type": "map", "values": "int"}, default={"k": 1}),
        field("address", address, default={"city": "Rome"}),
        field("choice", ["int", "null"], default=3),
    )

    assert read_as(encode, payloads, record(field("a", "int")), reader, {"a": 1}) == {
        "a": 1,
        "none": None,
        "text": "new",
        "raw": b"\xff",
        "fixed": b"ab",
        "kind": "B",
        "flag": True,
        "ratio": 1.0,
        "large": -(2**40),
        "money": Decimal("2.5"),
        "list": [1, 2],
        "map": [("k", 1)],
        "address": {"city": "Rome", "zip": 9},
        "choice": 3,
    }


@pytest.mark.parametrize(
    ("writer", "reader", "value", "read"),
    [
        ("int", "long", 7, 7),
        ("int", "double", 7, 7.0),
        ("long", "float", 7, 7.0),
        ("float", "double", 0.5, 0.5),
        ("string", "bytes", "x", b"x"),
        ("bytes", "string", b"x", "x"),
        ("int", ["null", "long"], 7, 7),
        (["null", "int"], ["null", "long"], (1, 7), 7),
        (["int", "string"], "string", (1, "x"), "x"),
        ("string", ["int", "string"], "x", {"member0": None, "member1": "x"}),
        (["null", "int"], "int", (1, 7), 7),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, [1], [1]),
    ],
)
def test_types_widen(encode, payloads, writer, reader, value, read):
    row = read_as(encode, payloads, record(field("a", writer)), record(field("a", reader)), {"a": value})

    assert row == {"a": read}


def test_a_renamed_field_is_found_by_its_alias(encode, payloads):
    reader = record(field("customer", "string", aliases=["client"]))

    assert read_as(encode, payloads, record(field("client", "string")), reader, {"client": "x"}) == {"customer": "x"}


def test_timestamps_keep_their_moment_whatever_their_unit(encode, payloads):
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    micros = {"type": "long", "logicalType": "timestamp-micros"}

    row = read_as(encode, payloads, record(field("a", millis)), record(field("a", micros)), {"a": 1500})

    assert row["a"].timestamp() == 1.5


@pytest.mark.parametrize(
    ("writer", "reader", "value", "reason"),
    [
        ("string", "int", "x", "a is written as string, but read as int"),
        ("long", "int", 1, "a is written as long, but read as int"),
        (["null", "int"], "int", (0, None), "a is null, which the schema that is read with does not allow"),
        (["int", "string"], "string", (0, 5), "a is written as int, but read as string"),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["A"]},
            "B",
            "a symbol of an enumeration is not in the schema",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1},
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            Decimal("1.5"),
            "written with scale 1, but read with scale 2",
        ),
    ],
)
def test_what_does_not_fit_is_reported(encode, payloads, writer, reader, value, reason):
    row = read_as(encode, payloads, record(field("a", writer)), record(field("a", reader)), {"a": value})

    assert reason in row


def test_an_unknown_symbol_becomes_the_default(encode, payloads):
    writer = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    reader = {"type": "enum", "name": "E", "symbols": ["A", "OTHER"], "default": "OTHER"}

    assert read_as(encode, payloads, record(field("a", writer)), record(field("a", reader)), {"a": "B"})["a"] == "OTHER"


def test_a_field_without_default_that_the_writer_lacks_is_reported(encode, payloads):
    reader = record(field("a", "int"), field("b", "int"))

    reason = read_as(encode, payloads, record(field("a", "int")), reader, {"a": 1})

    assert "does not fit the one that is read with: Order.b is read, but not written, and has no default" in reason


def test_a_default_that_does_not_fit_its_type_is_reported(encode, payloads):
    reader = record(field("a", "int"), field("b", ["null", "int"], default="x"))

    with pytest.raises(InvalidSchemaError, match=r"at b: the default x does not fit the type \["):
        read_as(encode, payloads, record(field("a", "int")), reader, {"a": 1})
