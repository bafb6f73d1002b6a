"""The command `pravega schema columns` on files: the columns of a schema, and the reason of each field without one."""

import json

import pytest

from aiopravega.commands.main import main

AVRO = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "next", "type": ["null", "User"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "uuid", "type": {"type": "record", "name": "UUID", "fields": []}},  # as Java's reflection has it
    ],
}
JSON = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "any": {},
        "same": {"$ref": "#/properties/names"},
        "names": {"type": "array", "items": {"type": "string"}},
    },
}
PROTO = """syntax = "proto3"; package p;
message M {
  int32 id = 1;
  M next = 2;
  oneof which { string a = 3; int32 b = 4; }
  optional string note = 5;
  message In { M up = 1; }
  In inner = 6;
  map<string, int32> sizes = 7;
}"""
MAP = "map<string, int32>"


@pytest.mark.parametrize(
    ("name", "text", "columns", "reasons"),
    [
        (
            "a.avsc",
            AVRO,
            {"id": "int32", "at": "timestamp[us, tz=UTC]", "uuid": "struct<>"},
            {"next": "User, which contains itself"},
        ),
        (
            "a.json",
            JSON,
            {"id": "int64", "names": "list<element: string>", "same": "list<element: string>"},
            {"any": "at any: the type is null"},
        ),
        (
            "a.proto",
            PROTO,
            {"id": "int32", "a": "string", "b": "int32", "note": "string", "sizes": MAP},
            {"next": "p.M contains itself", "inner": "p.M.inner.up: p.M contains itself"},
        ),
    ],
)
def test_fields_without_a_column_have_their_reason(tmp_path, capsys, name, text, columns, reasons):
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    kind = ["--type", "p.M"] if name == "a.proto" else []

    assert main(["schema", "columns", str(file), "--json", *kind]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {one["name"]: one["type"] for one in found if one["reason"] is None} == columns
    assert {one["name"] for one in found if one["type"] is None} == reasons.keys()
    for one in found:
        assert reasons.get(one["name"], "") in (one["reason"] or "")


def test_a_schema_whose_fields_are_columns_is_a_table_and_status_0(tmp_path, capsys):
    file = tmp_path / "a.avsc"
    file.write_text(json.dumps(AVRO | {"fields": AVRO["fields"][::3]}))
    assert main(["schema", "columns", str(file)]) == 0
    assert capsys.readouterr().out.split() == ["field", "column", "reason", "id", "int32", "uuid", "struct<>"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "is not JSON"), ('{"type": "string"}', "does not describe objects"), ("true", "is not an object")],
)
def test_a_schema_without_fields_is_an_error(tmp_path, capsys, text, said):
    file = tmp_path / "a.json"
    file.write_text(text)
    assert main(["schema", "columns", str(file)]) == 2
    assert said in capsys.readouterr().err
