"""JSON Schemas as people and tools write them: models that refer to each other, discriminated unions, old drafts."""

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from tests.unit.aiopravega.schema.changes import version

from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.open import check

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}


def rules(old: Any, new: Any, **more: bool) -> list[tuple[str, str]]:
    schemas = [SchemaInfo.of(SchemaFormat.JSON, "t", json.dumps(each)) for each in (old, new)]
    report = check(schemas[1], [version(schemas[0])], Compatibility(policy="Backward"), **more)
    return [(violation.path, violation.rule) for violation in report.violations]


def models(changed: bool) -> dict[str, Any]:
    """Twenty models, each of which refers to two others, or to none."""

    def maybe(number: int) -> dict[str, Any]:
        return {"anyOf": [{"$ref": f"#/$defs/M{number % 20}"}, {"type": "null"}]}

    found: dict[str, Any] = {
        f"M{at}": {"type": "object", "properties": {"next": maybe(at + 1), "other": maybe(at * 7 + 3), "x": maybe(at)}}
        for at in range(20)
    }
    if changed:
        found["M9"]["properties"]["x"] = {"$ref": "#/$defs/M9"}
    return {"$defs": found, "$ref": "#/$defs/M0"}


def test_models_that_refer_to_each_other_are_compared_once_each():
    assert rules(models(changed=False), models(changed=False)) == []
    found = rules(models(changed=False), models(changed=True))
    assert found
    assert {rule for _, rule in found} == {"type-narrowed"}
    assert all(path.endswith(".x") or ".x." in path for path, _ in found)


class Card(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["card"]
    number: str


class Cash(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["cash"]


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: int = Field(ge=0)
    payment: Card | Cash = Field(discriminator="kind")
    note: str | None = None


def test_pydantic_s_models_are_compared_with_their_discriminated_unions():
    old = Order.model_json_schema()
    more = old["properties"] | {"gift": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None}}
    assert rules(old, old | {"properties": more}) == []
    assert rules(old | {"properties": more}, old) == [("$.gift", "additional-properties-narrowed")]

    stricter = json.loads(json.dumps(old))
    stricter["$defs"]["Card"]["properties"]["number"]["maxLength"] = 16
    assert rules(old, stricter) == [("$.payment.number", "max-length-narrowed")]
    assert rules(stricter, old) == []


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
def test_without_other_schemas_both_keywords_close_an_object(keyword):
    old = {"type": "object", "properties": {"a": INTEGER}, keyword: False}
    assert rules(old, old | {"properties": {"a": INTEGER, "b": TEXT}}) == []
    assert rules(old | {"properties": {"a": INTEGER, "b": TEXT}}, old) == [("$.b", "additional-properties-narrowed")]


def test_what_depends_on_a_required_property_is_required():
    old = {"required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}}
    assert rules(old, {"required": ["a", "b", "c"]}) == []
    assert rules({"required": ["a"]}, old) == [
        ("$.a", "dependent-required-narrowed"),
        ("$.b", "dependent-required-narrowed"),
    ]


def test_drafts_may_differ_between_versions():
    four: dict[str, Any] = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "number"}
    four |= {"minimum": 0, "exclusiveMinimum": True}
    new = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "number", "exclusiveMinimum": 0}
    assert rules(four, new) == []
    assert rules(new, four) == []


def test_up_to_draft_7_nothing_beside_a_reference_counts():
    schema = {"definitions": {"a": INTEGER}, "properties": {"x": {"$ref": "#/definitions/a", "minimum": 5}}}
    seven = {"$schema": "http://json-schema.org/draft-07/schema#"} | schema
    assert rules({"properties": {"x": INTEGER}}, seven) == []
    assert rules({"properties": {"x": INTEGER}}, schema) == [("$.x", "minimum-narrowed")]
