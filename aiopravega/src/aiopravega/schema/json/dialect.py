"""Schemas inside of a JSON Schema, and the rules by which they are read; no library is needed.

A name below `properties`, a value of `const`, `enum`, `default` or `examples` is not a keyword, whatever it looks like.
Keywords: https://json-schema.org, drafts 4 to 2020-12.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_DRAFT_4: Final = "http://json-schema.org/draft-04/schema#"
_DRAFT_2020: Final = "https://json-schema.org/draft/2020-12/schema"
# Up to draft 7, keywords beside a $ref do not count.
_REF_ALONE: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
# Keywords whose value has schemas by names, a list of schemas, or one schema.
BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)
SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
ONE: Final = frozenset(
    {"not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "contains", "contentSchema"}
    | {"propertyNames", "unevaluatedItems", "unevaluatedProperties"}
)


def dialect_of(document: Any) -> str:
    """The address of the dialect of a schema text, also of one that is not known."""
    if isinstance(document, dict):
        if isinstance(document.get("$schema"), str):
            return str(document["$schema"])
        # Only draft 4 and older have `id`; Jackson, which Java's serializers use, names no dialect.
        if isinstance(document.get("id"), str) and "$id" not in document:
            return _DRAFT_4
    return _DRAFT_2020


def ref_stands_alone(dialect: str) -> bool:
    """True if keywords beside a `$ref` do not count."""
    return any(part in dialect for part in _REF_ALONE)


def subschemas(schema: Any) -> Iterator[Any]:
    """The schemas directly inside of a schema."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in BY_NAME and isinstance(value, dict):
            yield from value.values()
        elif keyword in SEVERAL and isinstance(value, list):
            yield from value
        elif keyword in ONE:
            yield value


def identified(document: Any) -> Mapping[str, Any]:
    """The schemas of a document that have an identifier, by it: `$id`, or `id` of draft 4."""
    found: dict[str, Any] = {}
    waiting = [document]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, dict):
            for name in (schema.get("$id"), schema.get("id")):
                if isinstance(name, str):
                    found.setdefault(name, schema)
        waiting += subschemas(schema)
    return found


def with_required_lists(schema: Any) -> Any:
    """The schema with each `"required": true` of a property, as draft 3 and Jackson write it, in a list of its object.

    A `required` that is not a boolean stays as it is. The given schema is not changed.
    """
    if isinstance(schema, list):
        return [with_required_lists(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {keyword: _within(keyword, value) for keyword, value in schema.items()}
    if isinstance(made.get("required"), bool):
        del made["required"]
    properties = schema.get("properties")
    if isinstance(properties, dict):
        named = [name for name, one in properties.items() if isinstance(one, dict) and one.get("required") is True]
        before = made.get("required", [])
        if named and isinstance(before, list):
            made["required"] = [*before, *(name for name in named if name not in before)]
    return made


def _within(keyword: str, value: Any) -> Any:
    if keyword in BY_NAME and isinstance(value, dict):
        return {name: with_required_lists(part) for name, part in value.items()}
    if keyword in SEVERAL or keyword in ONE:
        return with_required_lists(value)
    return value
