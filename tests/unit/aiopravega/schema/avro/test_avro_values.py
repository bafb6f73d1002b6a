"""Avro schemas and records that were made up: what a report calls compatible, fastavro reads."""

import io
import json
from typing import Any

import fastavro
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.unit.aiopravega.schema.changes import version

from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.open import check

PRIMITIVES: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "int": -7,
    "long": 2**40,
    "float": 1.5,
    "double": 1e300,
    "string": "text",
    "bytes": b"bytes",
}
SYMBOLS = ["A", "B", "C"]


@st.composite
def enums(draw: st.DrawFn) -> dict[str, Any]:
    symbols = draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True))
    default = {"default": symbols[0]} if draw(st.booleans()) else {}
    return {"type": "enum", "name": "Kind", "symbols": symbols} | default


FIXED = st.integers(1, 2).map(lambda size: {"type": "fixed", "name": "Hash", "size": size})


def record(fields: dict[str, tuple[Any, bool]], name: str) -> dict[str, Any]:
    """A record; a field that may has the null default, which needs null as its first type."""
    made = []
    for field, (kind, has_default) in fields.items():
        if has_default and not isinstance(kind, list):
            made.append({"name": field, "type": ["null", kind] if kind != "null" else kind, "default": None})
        else:
            made.append({"name": field, "type": kind})
    return {"type": "record", "name": name, "fields": made}


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.dictionaries(st.sampled_from("xyz"), st.tuples(inner, st.booleans()), max_size=3)
    return st.one_of(
        inner.map(lambda kind: {"type": "array", "items": kind}),
        inner.map(lambda kind: {"type": "map", "values": kind}),
        st.lists(st.sampled_from(list(PRIMITIVES)), min_size=1, max_size=3, unique=True),
        fields.map(lambda found: record(found, "Inner")),
    )


TYPES = st.recursive(st.sampled_from(list(PRIMITIVES)) | enums() | FIXED, compound, max_leaves=4)
FIELDS = st.dictionaries(st.sampled_from("ab"), st.tuples(TYPES, st.booleans()), min_size=1, max_size=2)
WIDER = {"int": "long", "long": "float", "float": "double", "string": "bytes", "bytes": "string"}


@st.composite
def changed(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two records, of which the second has some fields of the first, some of them wider."""
    old, new = draw(FIELDS), draw(FIELDS)
    for name, (kind, has_default) in old.items():
        if draw(st.booleans()):
            wider = WIDER.get(kind, kind) if isinstance(kind, str) else kind
            new[name] = (draw(st.sampled_from([kind, wider])), has_default)
    return record(old, "User"), record(new, "User")


def names(kind: Any) -> list[str]:
    """The named types of a schema; a schema that defines a name twice is not valid."""
    if isinstance(kind, list):
        return [name for each in kind for name in names(each)]
    if not isinstance(kind, dict):
        return []
    inner = [field["type"] for field in kind.get("fields", ())]
    inner += [kind[key] for key in ("items", "values") if key in kind]
    return [kind["name"], *names(inner)] if "name" in kind else names(inner)


def is_schema(kind: Any) -> bool:
    return len(set(names(kind))) == len(names(kind))


def values(kind: Any) -> list[Any]:
    """Some values of a type: every branch and symbol is there once."""
    if isinstance(kind, str):
        return [PRIMITIVES[kind]]
    if isinstance(kind, list):
        return [value for each in kind for value in values(each)]
    match kind["type"]:
        case "enum":
            return list(kind["symbols"])
        case "fixed":
            return [b"\xff" * kind["size"]]
        case "array":
            return [[], values(kind["items"])]
        case "map":
            return [{}, {str(at): value for at, value in enumerate(values(kind["values"]))}]
    made = [values(field["type"]) for field in kind["fields"]]
    most = max((len(each) for each in made), default=1)
    return [
        {field["name"]: each[at % len(each)] for field, each in zip(kind["fields"], made, strict=True)}
        for at in range(most)
    ]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(changed().filter(lambda pair: all(map(is_schema, pair))))
def test_what_is_compatible_is_read(pair):
    old, new = pair
    schemas = [SchemaInfo.of(SchemaFormat.AVRO, "User", json.dumps(each)) for each in (old, new)]
    report = check(schemas[1], [version(schemas[0])], Compatibility(policy="Backward"))
    event(f"compatible: {report.compatible}")
    if report.compatible:
        writer, reader = fastavro.parse_schema(old), fastavro.parse_schema(new)
        for value in values(old):
            payload = io.BytesIO()
            fastavro.schemaless_writer(payload, writer, value)
            payload.seek(0)
            fastavro.schemaless_reader(payload, writer, reader)
