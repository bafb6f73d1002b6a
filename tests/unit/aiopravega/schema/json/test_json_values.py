"""Schemas and values that were made up: what a report calls compatible, no value contradicts."""

import json
from itertools import product
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it brings no types
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.unit.aiopravega.schema.changes import version

from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.open import check

SCALARS: list[Any] = [None, True, False, 0, 1, 2, 3, 5, -1, 0.5, 2.0, 2.5, "", "a", "b", "ab", "aab", "b1", "x y"]
FEW: list[Any] = [None, True, 0, 2, 2.5, "a", "ab"]
ARRAYS: list[Any] = [[], *([each] for each in FEW), *(list(pair) for pair in product(FEW, FEW)), [1, 1, 1], [0, "a", 2]]
OBJECTS: list[Any] = [
    {name: value for name, value in zip("ab", pair, strict=True) if value != "absent"}
    for pair in product([*FEW, "absent", {"a": 2}], [*FEW, "absent", ["a"]])
]
VALUES = [*SCALARS, *ARRAYS, *OBJECTS, {"c": 1}, {"a": 2, "c": "a"}, {"a": "a", "b": 2, "c": None}, {"aa": 0}]

SIZES = st.integers(0, 3)
NUMBERS = st.sampled_from([-1, 0, 0.5, 1, 2, 2.5, 3])
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
PATTERNS = st.sampled_from(["^a", "b$", "^[ab]+$", "^a+b?$", "a|b", "."])
PLAIN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(
            st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True)
        ),
        "minimum": NUMBERS,
        "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([0.5, 1, 2]),
        "minLength": SIZES,
        "maxLength": SIZES,
        "pattern": PATTERNS,
        "minItems": SIZES,
        "maxItems": SIZES,
        "uniqueItems": st.booleans(),
        "required": st.lists(st.sampled_from("ab"), unique=True),
        "minProperties": SIZES,
        "maxProperties": SIZES,
        "dependentRequired": st.fixed_dictionaries({}, optional={"a": st.just(["b"])}),
        "enum": st.lists(st.sampled_from([None, True, 0, 2, "a", "ab", [], {"a": 2}]), min_size=1, max_size=4),
        "const": st.sampled_from([None, False, 0, 2.0, "a", {}]),
    },
)


def few(strategy: st.SearchStrategy[Any], keywords: int = 3) -> st.SearchStrategy[Any]:
    """Schemas of few keywords: with many, hardly a value fits."""
    return strategy.map(lambda schema: dict(list(schema.items())[-keywords:]))


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    by_name = st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    keywords = {
        "type": st.sampled_from(["array", "object"]),
        "properties": by_name,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
        "additionalProperties": inner,
        "propertyNames": inner,
        "required": st.lists(st.sampled_from("ab"), unique=True),
        "prefixItems": several,
        "items": inner,
        "contains": inner,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "minItems": SIZES,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "dependentSchemas": by_name,
        "unevaluatedProperties": inner,
    }
    return few(st.fixed_dictionaries({}, optional=keywords), 4)


SCHEMAS = st.recursive(few(PLAIN) | st.booleans(), compound, max_leaves=6)


@st.composite
def changed(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two schemas of which the second is often the first but for a keyword."""
    old = draw(SCHEMAS)
    if isinstance(old, bool) or draw(st.booleans()):
        return old, draw(SCHEMAS)
    new = dict(old)
    for key in draw(st.lists(st.sampled_from(sorted(old)), max_size=1)) if old else ():
        del new[key]
    more = draw(SCHEMAS)
    return old, (new | more if isinstance(more, dict) and draw(st.booleans()) else new)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(changed())
def test_what_is_compatible_admits_all_values_that_were_admitted(pair):
    old, new = pair
    schemas = [SchemaInfo.of(SchemaFormat.JSON, "t", json.dumps(each)) for each in pair]
    report = check(schemas[1], [version(schemas[0])], Compatibility(policy="Backward"))
    event(f"compatible: {report.compatible}")
    if report.compatible:
        before, after = (jsonschema.Draft202012Validator(each) for each in (old, new))
        refused = [value for value in VALUES if before.is_valid(value) and not after.is_valid(value)]
        assert not refused
