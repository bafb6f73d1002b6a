"""Avro events become columns, whole batches at a time, as they would one by one."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema.avro.columns.types import columns_of
from aiopravega.schema.avro.parsing import parse
from aiopravega.schema.open.blocks.targets import AvroTarget


def record(*fields, name="demo.Order"):
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields]}


def of(kind):
    return record(("a", kind))


def decoded(schema, payloads, reader=None):
    """The rows of some payloads, and what was wrong with the others."""
    target = AvroTarget.of(json.dumps(reader or schema))
    block = target.decoder(json.dumps(schema).encode()).decode(payloads)
    batch = pa.RecordBatch.from_arrays(block.columns, schema=target.schema)
    batch.validate(full=True)
    return batch.to_pylist(), block.bad


def moment(logical):
    return {"type": "long", "logicalType": logical}


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LISTS = {"type": "array", "items": {"type": "array", "items": "int"}}
ENUM = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}
FIXED = {"type": "fixed", "name": "Two", "size": 2}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
WIDE = {"type": "fixed", "name": "Wide", "size": 20, "logicalType": "decimal", "precision": 20, "scale": 1}
MAP = {"type": "map", "values": ["null", "int"]}
ADDRESSES = {"type": "array", "items": record(("city", "string"), ("zip", ["null", "int"]), name="Address")}


@pytest.mark.parametrize(
    ("kind", "written", "read", "ddl"),
    [
        ("boolean", True, True, "boolean"),
        ("int", -(2**31), -(2**31), "int"),
        ("long", 2**63 - 1, 2**63 - 1, "bigint"),
        ("float", 1.5, 1.5, "float"),
        ("double", -2.25, -2.25, "double"),
        ("bytes", b"\x00\xff", b"\x00\xff", "binary"),
        ("string", "größer", "größer", "string"),
        (ENUM, "GREEN", "GREEN", "string"),
        (FIXED, b"ab", b"ab", "binary"),
        (MONEY, Decimal("-12.34"), Decimal("-12.34"), "decimal(9,2)"),
        (MONEY, Decimal("0.00"), Decimal("0.00"), "decimal(9,2)"),
        (WIDE, Decimal("-1234567890123456789.5"), Decimal("-1234567890123456789.5"), "decimal(20,1)"),
        ({"type": "int", "logicalType": "date"}, 19_000, date(2022, 1, 8), "date"),
        (moment("timestamp-millis"), 1, EPOCH + timedelta(milliseconds=1), "timestamp"),
        (moment("timestamp-micros"), -1, EPOCH - timedelta(microseconds=1), "timestamp"),
        (moment("timestamp-nanos"), 1999, EPOCH + timedelta(microseconds=1), "timestamp"),
        (moment("local-timestamp-micros"), 7, EPOCH.replace(microsecond=7, tzinfo=None), "timestamp_ntz"),
        ({"type": "int", "logicalType": "time-millis"}, 5, 5, "int"),
        ({"type": "string", "logicalType": "uuid"}, "x", "x", "string"),
        (["null", "long"], (0, None), None, "bigint"),
        (["string", "null"], (0, "x"), "x", "string"),
        (["int", "null", "long"], (2, 2**40), 2**40, "bigint"),
        (["float", "double"], (0, 0.5), 0.5, "double"),
        (["null", "string", "int"], (1, "x"), {"member0": "x", "member1": None}, "struct<member0:string,member1:int>"),
        ({"type": "array", "items": "long"}, [1, -2, 3, 4, 5], [1, -2, 3, 4, 5], "array<bigint>"),
        (LISTS, [[], [1], []], [[], [1], []], "array<array<int>>"),
        (MAP, {"k": (1, 7), "l": (0, None)}, [("k", 7), ("l", None)], "map<string,int>"),
        (
            ADDRESSES,
            [{"city": "Rome", "zip": (0, None)}, {"city": "Bonn", "zip": (1, 53111)}],
            [{"city": "Rome", "zip": None}, {"city": "Bonn", "zip": 53111}],
            "array<struct<city:string,zip:int>>",
        ),
    ],
)  # fmt: skip
def test_every_type_has_its_column(encode, payloads, as_spark, kind, written, read, ddl):
    schema = of(kind)

    rows, bad = decoded(schema, payloads(encode(schema, {"a": written})))

    assert (rows, bad) == ([{"a": read}], {})
    assert as_spark(columns_of(parse(json.dumps(schema)))) == f"struct<a:{ddl}>"


LONGS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200), st.sampled_from([2**55, -(2**56), 2**62]))
SCHEMA = record(
    ("id", "long"),
    ("name", "string"),
    ("note", ["null", "string"]),
    ("tags", {"type": "array", "items": "string"}),
    ("counts", {"type": "map", "values": "long"}),
    ("raw", "bytes"),
    ("ratio", "double"),
)
ORDERS = st.fixed_dictionaries(
    {
        "id": LONGS,
        "name": st.text(max_size=20),
        "note": st.one_of(st.just((0, None)), st.tuples(st.just(1), st.text(max_size=5))),
        "tags": st.lists(st.text(max_size=3), max_size=6),
        "counts": st.dictionaries(st.text(max_size=3), LONGS, max_size=3),
        "raw": st.binary(max_size=200),
        "ratio": st.floats(allow_nan=False),
    }
)


def as_read(order):
    return order | {"note": order["note"][1], "counts": list(order["counts"].items())}


@given(orders=st.lists(ORDERS, max_size=30))
def test_a_batch_is_read_as_its_events_one_by_one(encode, payloads, orders):
    rows, bad = decoded(SCHEMA, payloads(*(encode(SCHEMA, order) for order in orders)))

    assert not bad
    assert rows == [as_read(order) for order in orders]


@given(
    orders=st.lists(ORDERS, min_size=3, max_size=3),
    garbage=st.one_of(st.binary(max_size=60), st.integers(0, 40), st.binary(min_size=1, max_size=9).filter(any)),
    behind=st.booleans(),
)
def test_garbage_does_not_touch_its_neighbours(encode, payloads, orders, garbage, behind):
    first, second, third = (encode(SCHEMA, order) for order in orders)
    cut_off = isinstance(garbage, int)
    second = second[:-1][:garbage] if cut_off else second * behind + garbage

    rows, bad = decoded(SCHEMA, payloads(first, second, third))

    assert set(bad) <= {1}
    assert rows[0] == as_read(orders[0])
    assert rows[-1] == as_read(orders[2])
    assert len(rows) == 3 - len(bad)


@pytest.mark.parametrize(
    ("kind", "event", "reason"),
    [
        ("long", b"", "ends in the middle"),
        ("long", b"\xff" * 11, "more than 10 bytes"),
        ("long", b"\xff" * 6, "ends in the middle"),
        ("int", b"\xff" * 9 + b"\x01", "beyond 32 bits"),
        ("string", b"\x08abc", "length of a string"),
        ("string", b"\x01", "length of a string"),
        ("string", b"\x04\xff\xfe", "not UTF-8"),
        ("double", b"1234567", "ends in the middle"),
        ("boolean", b"\x02", "neither 0 nor 1"),
        (ENUM, b"\x04", "no such symbol"),
        (["null", "int"], b"\x04", "no such branch"),
        (MONEY, b"\x28" + b"\x7f" * 20, "more than 16 bytes"),
        (MONEY, b"\x0c" + b"\x7f" * 6, "more than 9 digits"),
        (MONEY, b"\x00", "no bytes"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\xff\xff\xff\x7f\x02", "more items than bytes"),
        (MAP, b"\x02\x02\xff\x00\x00", "not UTF-8"),
        ("int", b"\x02\x01", "bytes are left"),
    ],
)
def test_a_malformed_event_is_found_with_its_reason(payloads, kind, event, reason):
    neighbour = {"boolean": b"\x01", "double": bytes(8)}.get(kind if isinstance(kind, str) else "", b"\x00")
    good = b"\x02\x05" if kind == MONEY else neighbour

    rows, bad = decoded(of(kind), payloads(good, event, good))

    assert len(rows) == 2
    assert list(bad) == [1]
    assert reason in bad[1]


def test_zeros_after_an_event_are_accepted(payloads):
    assert decoded(of("int"), payloads(b"\x02" + bytes(100))) == ([{"a": 1}], {})


def test_a_batch_of_more_events_than_are_read_at_once_is_in_order(encode, payloads):
    schema = record(("a", "long"), ("b", "string"))
    events = [encode(schema, {"a": number, "b": str(number)}) for number in range(45_000)]

    rows, bad = decoded(schema, payloads(*events))

    assert not bad
    assert rows == [{"a": number, "b": str(number)} for number in range(45_000)]


def test_no_events_are_no_rows(payloads):
    assert decoded(SCHEMA, payloads()) == ([], {})


def test_what_is_not_a_record_is_one_column(encode, payloads):
    assert decoded("string", payloads(encode("string", "x"))) == ([{"value": "x"}], {})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ('{"type":"record","name":"R","fields":[{"name":"a","type":["null","R"]}]}', "a is a R, which contains itself"),
        ('{"type":"array","items":"null"}', "items without content"),
        ('{"type":"array","items":{"type":"fixed","name":"F","size":0}}', "items without content"),
        ('{"type":"bytes","logicalType":"decimal","precision":50}', "38 at most"),
    ],
)
def test_a_schema_that_cannot_be_columns_is_refused(schema, said):
    with pytest.raises(ConfigurationError, match=said):
        AvroTarget.of(schema)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "is not JSON"),
        (
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":NaN}]}',
            "NaN is not a number of JSON",
        ),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"Nope"}]}', "at a: unknown type 'Nope'"),
        ('{"type":"record","name":"R","fields":[{"name":"a"}]}', "is not a field"),
        ('{"type":"bytes","logicalType":"decimal"}', "a decimal of precision None"),
        ('{"type":"bytes","logicalType":"decimal","precision":0}', "a decimal of precision 0"),
        ('[["int"]]', "a union directly inside a union"),
        ("3", "3 is not an Avro type"),
    ],
)
def test_what_is_not_a_schema_is_refused(schema, said):
    with pytest.raises(InvalidSchemaError, match=said):
        AvroTarget.of(schema)


def test_named_types_are_found_by_full_name_and_in_their_namespace(as_spark):
    inner = record(("x", "int"), name="Inner")
    schema = record(("a", inner), ("b", "demo.Inner"), ("c", "Inner"))

    columns = columns_of(parse(json.dumps(schema)))

    assert as_spark(columns) == "struct<a:struct<x:int>,b:struct<x:int>,c:struct<x:int>>"
