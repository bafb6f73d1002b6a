"""What cannot be parsed, is not decided, or lacks a library, is said."""

import json
import subprocess
import sys

import pytest
from tests.unit.aiopravega.schema.changes import USER, descriptors, version

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.open import check

ALLOW, FULL = Compatibility(policy="AllowAny"), Compatibility(policy="Full")
GOOD: dict[SchemaFormat, str | bytes] = {
    SchemaFormat.AVRO: '{"type": "record", "name": "User", "fields": []}',
    SchemaFormat.JSON: "{}",
    SchemaFormat.PROTOBUF: descriptors('syntax = "proto3"; package demo; message User {}'),
}


def field(kind: object, **more: object) -> str:
    return json.dumps({"type": "record", "name": "User", "fields": [{"name": "a", "type": kind} | more]})


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (SchemaFormat.AVRO, "{", "is not JSON"),
        (SchemaFormat.AVRO, "3", "3 is not an Avro type"),
        (SchemaFormat.AVRO, field("Nope"), "at demo.User.a: unknown type 'Nope'"),
        (SchemaFormat.AVRO, field({"type": "array"}), "this array has no 'items'"),
        (SchemaFormat.AVRO, field(["null", ["int"]]), "a union directly inside a union"),
        (SchemaFormat.AVRO, field(["int", "int"]), "the union has 'int' twice"),
        (SchemaFormat.AVRO, field("int", default="x"), "the default x does not fit the type int"),
        (SchemaFormat.AVRO, field("int", default=2**31), "does not fit the type int"),
        (SchemaFormat.AVRO, field("int", aliases="b"), "b is not a list of names"),
        (SchemaFormat.AVRO, field({"type": "enum", "name": "E", "symbols": ["A", "A"]}), "is there twice"),
        (
            SchemaFormat.AVRO,
            field({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}),
            "'B' is not a symbol",
        ),
        (SchemaFormat.AVRO, field({"type": "fixed", "name": "F"}), "has the size None"),
        (SchemaFormat.AVRO, field({"type": "bytes", "logicalType": "decimal", "precision": 1, "scale": 2}), "scale 2"),
        (SchemaFormat.AVRO, '{"type": "record", "name": "1"}', "'1' is not a name of a type"),
        (SchemaFormat.AVRO, '{"type": "record", "name": "A"}', "has no list of fields"),
        (SchemaFormat.AVRO, '{"type": "record", "name": "A", "fields": [{"name": "a"}]}', "needs a name and a type"),
        (SchemaFormat.JSON, "{", "is not JSON"),
        (SchemaFormat.JSON, "[]", "is list, not an object"),
        (SchemaFormat.JSON, '{"minimum": NaN}', "NaN is not a number of JSON"),
        (SchemaFormat.JSON, '{"properties": {"a": {"type": "text"}}}', r"at $.properties.a.type: 'text' is not valid"),
        (SchemaFormat.JSON, '{"$ref": "#"}', "refers to itself without end by '#'"),
        (SchemaFormat.JSON, '{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}', "without end by '#/$defs/a'"),
        (SchemaFormat.JSON, '{"items":' * 5000 + "{}" + "}" * 5000, "nested too deeply"),
        (SchemaFormat.AVRO, '{"type":"array","items":' * 5000 + '"int"' + "}" * 5000, "nested too deeply"),
        (SchemaFormat.PROTOBUF, b"\xff", "not a descriptor set"),
        (SchemaFormat.PROTOBUF, descriptors('syntax = "proto3"; message Other {}'), "has no message demo.User"),
    ],
)
def test_a_schema_that_cannot_be_parsed_is_refused_as_new_and_as_old(kind, data: str | bytes, message):
    bad, good = SchemaInfo.of(kind, USER, data), SchemaInfo.of(kind, USER, GOOD[kind])
    for new, old, policy in ((bad, good, ALLOW), (good, bad, FULL)):
        with pytest.raises(InvalidSchemaError) as raised:
            check(new, [version(old)], policy)
        assert message in str(raised.value)


def json_rules(old: object, new: object, **more: bool) -> list[tuple[str, str]]:
    schemas = [SchemaInfo.of(SchemaFormat.JSON, USER, json.dumps(each)) for each in (old, new)]
    report = check(schemas[1], [version(schemas[0])], Compatibility(policy="Backward"), **more)
    return [(violation.path, violation.rule) for violation in report.violations]


def test_a_schema_with_too_many_combinations_is_not_decided():
    parts = [{"anyOf": [{"required": [f"a{at}"]}, {"required": [f"b{at}"]}]} for at in range(12)]
    assert json_rules({"allOf": parts}, {"allOf": parts, "minProperties": 1}) == [("$", "cannot-decide")]


def test_a_pattern_that_would_take_long_is_not_decided():
    old, new = {"pattern": "^(a|b)*aa(a|b){11}$"}, {"pattern": "^(a|b)*a(a|b){12}$"}
    assert json_rules(old, new) == [("$", "cannot-decide")]


def test_properties_are_taken_to_be_declared_if_one_says_so():
    old = {"type": "object", "properties": {"id": {"type": "integer"}}}
    new = {"type": "object", "properties": {"id": {"type": "integer"}, "email": {"type": "string"}}}
    assert json_rules(old, new) == [("$.email", "properties-narrowed")]
    assert json_rules(old, new, declared_only=True) == []
    assert json_rules(old | {"additionalProperties": True}, new, declared_only=True) == [("$.email", "type-narrowed")]
    assert json_rules({"type": "object"}, new, declared_only=True) != []


def test_a_schema_of_java_without_a_dialect_is_draft_4():
    """Jackson writes no $schema; its id and references are those of draft 4."""
    old = {
        "type": "object",
        "id": "urn:jsonschema:User",
        "properties": {"next": {"type": "object", "$ref": "urn:jsonschema:User"}},
    }
    assert ("$.next", "required-narrowed") in json_rules(old, old | {"required": ["next"]})


def test_without_its_libraries_only_json_schema_is_refused():
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['jsonschema', 'fastavro', 'ptars', 'pyarrow']))\n"
        "from aiopravega.errors import ConfigurationError\n"
        "from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo\n"
        "from aiopravega.schema.open.check import check\n"
        "allow = Compatibility(policy='AllowAny')\n"
        "check(SchemaInfo.of(SchemaFormat.AVRO, 't', '\"int\"'), [], allow)\n"
        "try:\n"
        "    check(SchemaInfo.of(SchemaFormat.JSON, 't', '{}'), [], allow)\n"
        "except ConfigurationError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "comparing Json schemas needs the package jsonschema: pip install 'aiopravega[json]'\n"
