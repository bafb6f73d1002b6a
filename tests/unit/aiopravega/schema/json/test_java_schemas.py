"""JSON Schemas as Java's serializers write them, and names of properties that look like keywords."""

import json
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.aiopravega.schema.changes import version

from aiopravega.errors import ConfigurationError, InvalidSchemaError, MalformedEventError
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.json.columns.types import columns_of
from aiopravega.schema.open import check
from aiopravega.schema.serializers import JsonFormat

OLDER = "http://json-schema.org/draft-07/schema#"
MODERN = "https://json-schema.org/draft/2020-12/schema"
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
# As Jackson describes a class that is used twice: with its identifier first, then by it.
ORDER: dict[str, Any] = {
    "type": "object",
    "id": "urn:jsonschema:shop:Order",
    "properties": {
        "id": {"type": "integer", "required": True},
        "note": {"type": "string", "required": False},
        "from": {
            "type": "object",
            "id": "urn:jsonschema:shop:Address",
            "properties": {"city": {"type": "string", "required": True}, "tags": {"type": "array", "items": TEXT}},
        },
        "to": {"type": "object", "$ref": "urn:jsonschema:shop:Address"},
    },
}


def rules(old: Any, new: Any) -> list[str]:
    schemas = [SchemaInfo.of(SchemaFormat.JSON, "t", json.dumps(each)) for each in (old, new)]
    report = check(schemas[1], [version(schemas[0])], Compatibility(policy="Backward"))
    return [violation.rule for violation in report.violations]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"id": TEXT, "$id": WHOLE, "$ref": TEXT, "$anchor": TEXT, "required": {"type": "boolean"}}},
        {"properties": {"a": {"$ref": "#/definitions/id"}}, "definitions": {"id": {"properties": {"id": TEXT}}}},
        {"properties": {"a": {"default": {"id": 1, "$ref": 5}, "enum": [{"id": 2}], "const": {"$id": {}}}}},
        {"properties": {"id": TEXT}, "dependencies": {"id": ["name"], "$id": {"required": ["id"]}}},
        {"patternProperties": {"id": WHOLE}, "examples": [{"$id": [1]}], "$defs": {"$id": {"type": "object"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"id": TEXT}, "definitions": {"id": TEXT}},
        {"$schema": OLDER, "properties": {"a": {"$ref": "#/more/id"}}, "more": {"id": {"properties": {"$id": TEXT}}}},
        ORDER,
    ],
)
def test_names_that_look_like_keywords_are_names(schema):
    assert rules(schema, schema) == []
    later = json.loads(json.dumps(schema))
    later.setdefault("properties", {})["more"] = TEXT
    assert rules(schema, {**later, "type": "string"}) != []


def test_values_that_look_like_schemas_are_compared_as_values():
    first, second = ({"const": {"title": text}} for text in "ab")
    assert rules(first, first) == []
    assert rules(first, second) != []


def test_required_properties_of_jackson_are_required():
    with_note = json.loads(json.dumps(ORDER))
    with_note["properties"]["note"]["required"] = True
    assert rules(ORDER, with_note) == ["required-narrowed"]
    assert rules(with_note, ORDER) == []


ADDRESS, AGAIN = ORDER["properties"]["from"], ORDER["properties"]["to"]
BOX = {"type": "object", "id": "urn:jsonschema:shop:Box", "properties": {"inside": ADDRESS}}


@pytest.mark.parametrize(
    "first",
    [
        {"at": ADDRESS},
        {"to": ADDRESS},
        {"box": BOX},
        {"stops": {"type": "array", "items": ADDRESS}},
        {"homes": {"type": "object", "additionalProperties": ADDRESS}},
    ],
)
def test_a_class_that_is_described_at_another_place_is_the_same(first):
    # Jackson describes a class where it comes first: a new field above moves it.
    rest = {name: AGAIN if name in ("from", "to") else kind for name, kind in ORDER["properties"].items()}
    moved = {**ORDER, "properties": {**first, **{name: kind for name, kind in rest.items() if name not in first}}}
    added = [] if "to" in first else ["properties-narrowed"]
    assert (rules(ORDER, moved), rules(moved, ORDER)) == (added, [])
    changed = json.loads(json.dumps(moved).replace('"city": {"type": "string"', '"city": {"type": "integer"'))
    assert set(rules(ORDER, changed)) >= {"type-narrowed"}


def test_values_of_jackson_are_validated():
    read = JsonFormat(ORDER, "shop.Order", validate=True).reader()
    home = {"city": "Oslo"}
    assert read(json.dumps({"id": 1, "from": home, "to": home}).encode())["to"] == home
    for wrong in ({"note": "x"}, {"id": 1, "to": {"tags": []}}, {"id": 1, "from": {"city": 5}}):
        with pytest.raises(MalformedEventError, match="does not fit its JSON Schema"):
            read(json.dumps(wrong).encode())


def test_a_class_that_is_used_twice_has_its_columns_twice():
    address = pa.struct([("city", pa.string()), ("tags", pa.list_(pa.string()))])
    found = columns_of(ORDER)
    assert found.names == ["id", "note", "from", "to"]
    assert found.field("to").type == found.field("from").type
    assert found.field("to").type.field("city") == address.field("city")


BASE = {"type": "object", "properties": {"id": WHOLE}}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"properties": {"name": TEXT}, "allOf": [{"$ref": "#/$defs/base"}]}, ["name", "id"]),
        ({"properties": {"name": TEXT}, "anyOf": [{"$ref": "#/$defs/base"}, {"type": "null"}]}, ["name", "id"]),
        ({"type": ["object", "null"], "oneOf": [{"$ref": "#/$defs/base"}]}, ["id"]),
        ({"$schema": MODERN, "properties": {"name": TEXT}, "$ref": "#/$defs/base"}, ["id", "name"]),
        ({"$schema": MODERN, "properties": {"id": WHOLE}, "$ref": "#/$defs/base"}, ["id"]),
        (
            {"$schema": OLDER, "properties": {"x": TEXT}, "$ref": "#/$defs/base"},
            ["id"],
        ),
    ],
)
def test_properties_beside_other_parts_are_columns(schema, names):
    assert sorted(columns_of({**schema, "$defs": {"base": BASE}}).names) == sorted(names)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"id": TEXT}, "allOf": [BASE]}, "at id: one part of the schema says string, another one int64"),
        ({"properties": {"a": {"type": "string", "allOf": [BASE]}}}, "at a: one part of the schema says string"),
        ({"properties": {"a": {"$ref": "urn:jsonschema:shop:Other"}}}, "is outside of the schema"),
    ],
)
def test_parts_that_contradict_each_other_are_refused_by_name(schema, said):
    with pytest.raises(ConfigurationError, match=said):
        columns_of({"type": "object", **schema})


def test_a_circle_behind_an_unusual_reference_is_refused():
    more = {"a": {"properties": {"x": {"$ref": "#/more/b"}}}, "b": {"$ref": "#/more/c"}, "c": {"$ref": "#/more/b"}}
    with pytest.raises(InvalidSchemaError, match="refers to itself without end"):
        rules({"$ref": "#/more/a", "more": more}, {"$ref": "#/more/a", "more": more})


@pytest.mark.parametrize("pattern", [r"(?<year>\d{4})", r"^\p{L}+$", r"[\w-.]+", r"\u{1F600}", "[^]"])
def test_patterns_of_javascript_pass_unchanged_and_are_undecided_changed(pattern):
    first = {"properties": {"a": {"type": "string", "pattern": pattern}}}
    assert rules(first, first) == []
    changed = rules({"properties": {"a": {"type": "string", "pattern": "^a$"}}}, first)
    assert changed == ([] if pattern == "[^]" else ["cannot-decide"])
    chosen = {"properties": {"a": {"enum": ["x", "1234"]}}}
    assert set(rules(chosen, first)) <= {"cannot-decide"}
