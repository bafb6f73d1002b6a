"""Fields of schemas as columns to show."""

import json

import pytest

from aiopravega.catalog import Column, columns_of
from aiopravega.gates.candidates import from_file
from aiopravega.schema import SchemaFormat, SchemaInfo

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long", "doc": "its number"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "sizes", "type": {"type": "map", "values": "int"}},
        {"name": "who", "type": {"type": "record", "name": "Person", "fields": []}},
        {"name": "what", "type": ["int", "string"]},
    ],
}
JSON = {
    "type": "object",
    "required": ["id", "maybe"],
    "properties": {
        "id": {"type": "integer", "description": "its number"},
        "maybe": {"type": ["string", "null"]},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "kind": {"enum": ["a", "b"]},
        "who": {"$ref": "#/$defs/Person"},
        "choice": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        "anything": True,
    },
}
PROTO = """
syntax = "proto3";
package shop;
message Order {
  message Line { int32 pieces = 1; }
  int64 id = 1;
  optional string note = 2;
  repeated Line lines = 3;
  map<string, int32> sizes = 4;
  Line best = 5;
  oneof what { string text = 6; int32 number = 7; }
}
message Other {}
"""


def shown(schema: SchemaInfo) -> list[tuple[str, str, bool]]:
    return [(column.name, column.type, column.nullable) for column in columns_of(schema)]


def test_fields_of_avro() -> None:
    schema = SchemaInfo.of(SchemaFormat.AVRO, "Order", json.dumps(AVRO))
    assert columns_of(schema)[0] == Column("id", "long", nullable=False, description="its number")
    assert shown(schema)[1:] == [
        ("note", "string", True),
        ("at", "timestamp-micros", False),
        ("price", "decimal(10, 2)", False),
        ("tags", "array<string>", False),
        ("sizes", "map<string, int>", False),
        ("who", "record Person", False),
        ("what", "int | string", False),
    ]


def test_fields_of_a_json_schema() -> None:
    schema = SchemaInfo.of(SchemaFormat.JSON, "Order", json.dumps(JSON))
    assert columns_of(schema)[0] == Column("id", "integer", nullable=False, description="its number")
    assert shown(schema)[1:] == [
        ("maybe", "string", True),
        ("at", "date-time", True),
        ("tags", "array<string>", True),
        ("kind", "enum", True),
        ("who", "Person", True),
        ("choice", "number", True),
        ("anything", "any", True),
    ]


def test_fields_of_a_message(tmp_path) -> None:
    (tmp_path / "order.proto").write_text(PROTO)
    assert shown(from_file(tmp_path / "order.proto", "shop.Order")) == [
        ("id", "int64", False),
        ("note", "string", True),
        ("lines", "repeated shop.Order.Line", False),
        ("sizes", "map<string, int32>", False),
        ("best", "shop.Order.Line", True),
        ("text", "string", True),
        ("number", "int32", True),
    ]


@pytest.mark.parametrize(
    "schema",
    [
        SchemaInfo.of(SchemaFormat.AVRO, "id", '"string"'),
        SchemaInfo.of(SchemaFormat.AVRO, "id", "{"),
        SchemaInfo.of(SchemaFormat.JSON, "id", '{"type": "string"}'),
        SchemaInfo.of(SchemaFormat.JSON, "id", "true"),
        SchemaInfo.of(SchemaFormat.PROTOBUF, "id", b"nonsense"),
        SchemaInfo.of(SchemaFormat.CUSTOM, "id", b"\0"),
    ],
)
def test_what_has_no_fields_has_no_columns(schema) -> None:
    assert columns_of(schema) == ()
