"""Rows become Avro datums that are read back, by schemas that follow from the columns or that are given."""

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from aiopravega.errors import ConfigurationError
from aiopravega.schema.avro.columns.encoder import fields_of
from aiopravega.schema.avro.columns.types import schema_of
from aiopravega.schema.avro.model import Record
from aiopravega.schema.avro.parsing import parse
from aiopravega.schema.open.blocks.targets import AvroTarget


def encode(schema: str, batch: pa.RecordBatch) -> pa.BinaryArray:
    record = parse(schema)
    assert isinstance(record, Record)
    return fields_of(record, list(batch.schema)).columns(batch.columns, batch.num_rows)


def read_back(schema: str, events: pa.BinaryArray) -> list[list[Any]]:
    block = AvroTarget.of(schema).decoder(None).decode(events)
    assert not block.bad
    return [column.to_pylist() for column in block.columns]


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "demo.Row", "fields": list(fields)})


def test_every_type_is_read_again_by_the_schema_made_of_the_columns(rows):
    schema = schema_of(rows.schema, "my-stream.1")

    assert read_back(schema, encode(schema, rows)) == [column.to_pylist() for column in rows.columns]


def test_a_datum_is_laid_out_as_the_specification_says():
    schema = record({"name": "id", "type": "long"}, {"name": "name", "type": "string"})

    events = encode(schema, pa.record_batch({"name": pa.array(["alice"]), "id": pa.array([7])}))

    assert events.to_pylist() == [bytes.fromhex("0e0a616c696365")]


def test_fixed_enumerations_and_shorter_decimals_are_encoded():
    schema = record(
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
        {
            "name": "price",
            "type": {"type": "fixed", "name": "P", "size": 3, "logicalType": "decimal", "precision": 6, "scale": 2},
        },
    )
    prices = pa.array([Decimal("-12.34"), Decimal("99.99")], pa.decimal128(4, 2))
    batch = pa.record_batch({"colour": pa.array(["GREEN", "RED"]), "hash": pa.array([b"ab", b"cd"]), "price": prices})

    assert read_back(schema, encode(schema, batch)) == [
        ["GREEN", "RED"],
        [b"ab", b"cd"],
        [Decimal("-12.34"), Decimal("99.99")],
    ]


def test_a_field_without_a_column_is_null_if_it_may_be():
    schema = record({"name": "id", "type": "long"}, {"name": "vip", "type": ["null", "boolean"], "default": None})

    assert read_back(schema, encode(schema, pa.record_batch({"id": pa.array([7])}))) == [[7], [None]]


@pytest.mark.parametrize(
    ("kind", "column", "complaint"),
    [
        ("int", pa.array([1], pa.int64()), "column x is int64, which the Avro schema has as int"),
        ("string", pa.array([1]), "column x is int64, which the Avro schema has as string"),
        (["int", "string"], pa.array([1]), "a union of several types"),
        ({"type": "array", "items": "int"}, pa.array(["a"]), "column x is string.*an array"),
    ],
)
def test_a_column_of_another_type_is_refused_before_anything_is_written(kind, column, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        encode(record({"name": "x", "type": kind}), pa.record_batch({"x": column}))


def test_columns_and_fields_must_meet():
    schema = record({"name": "id", "type": "long"})

    with pytest.raises(ConfigurationError, match="no field for the column name"):
        encode(schema, pa.record_batch({"id": pa.array([1]), "name": pa.array(["a"])}))
    with pytest.raises(ConfigurationError, match="no column for the field id"):
        encode(schema, pa.record_batch({}))


def test_values_that_the_schema_does_not_have_are_refused():
    colour = {"name": "x", "type": {"type": "enum", "name": "Colour", "symbols": ["RED"]}}

    with pytest.raises(
        ConfigurationError, match="x is 'BLUE' in some rows, which is not a symbol of demo.Colour: it has RED"
    ):
        encode(record(colour), pa.record_batch({"x": pa.array(["BLUE"])}))
    with pytest.raises(ConfigurationError, match="x is null in 1 of 2 rows, the first is row 1"):
        encode(record({"name": "x", "type": "long"}), pa.record_batch({"x": pa.array([1, None])}))


def test_a_column_that_cannot_be_a_field_is_named():
    with pytest.raises(ConfigurationError, match="column 'a b' cannot be a field of Avro"):
        schema_of(pa.schema([("a b", pa.int64())]), "stream")


UNION = ["null", "string", {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}, "int"]
MEMBERS = pa.struct(
    [("member0", pa.string()), ("member1", pa.struct([("city", pa.string())])), ("member2", pa.int32())]
)


def of_union(*branches):
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": list(branches)}]})


def test_a_union_of_several_types_is_written_from_the_members_of_a_read():
    rows: list[dict[str, Any] | None] = [{"member0": "x"}, {"member1": {"city": "Rome"}}, None, {"member2": -5}, {}]
    batch = pa.RecordBatch.from_arrays([pa.array(rows, MEMBERS)], ["a"])

    for shown in (batch, batch.slice(1)):
        found = read_back(of_union(*UNION), encode(of_union(*UNION), shown))[0]
        full = [{"member0": None, "member1": None, "member2": None} | row if row else None for row in rows]
        assert found == full[len(rows) - shown.num_rows :]


def test_a_column_that_fits_a_branch_of_a_union_is_written_as_that():
    strings = pa.RecordBatch.from_arrays([pa.array(["x", None])], ["a"])
    assert read_back(of_union(*UNION), encode(of_union(*UNION), strings))[0] == [
        {"member0": "x", "member1": None, "member2": None},
        None,
    ]
    longs = pa.RecordBatch.from_arrays([pa.array([2**40, None])], ["a"])
    numbers = of_union("int", "null", "long")
    assert read_back(numbers, encode(numbers, longs))[0] == [2**40, None]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([1.5]), "a is double.*a struct of member0, member1, member2"),
        (pa.array([{"member0": "x", "member2": 1}], MEMBERS), "several members in row 0"),
        (pa.array([{"member0": "x"}]), "a struct of member0, member1, member2"),
    ],
)
def test_what_no_branch_of_a_union_holds_is_refused(column, said):
    with pytest.raises(ConfigurationError, match=said):
        encode(of_union(*UNION), pa.RecordBatch.from_arrays([column], ["a"]))


def test_null_in_a_union_without_null_is_refused():
    with pytest.raises(ConfigurationError, match="a is null in 1 of 2 rows"):
        encode(of_union("string", "int"), pa.RecordBatch.from_arrays([pa.array(["x", None])], ["a"]))
