"""A JSON Schema as it was parsed: checked against its dialect, with references that can be followed.

References within the schema are followed, others are not: nothing is fetched.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import jsonschema  # type: ignore[import-untyped]  # it brings no types
from referencing import Registry, Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema.json.dialect import (
    BY_NAME,
    ONE,
    SEVERAL,
    dialect_of,
    ref_stands_alone,
    subschemas,
    with_required_lists,
)
from aiopravega.schema.registry.model import SchemaInfo

# Keywords about a schema that do not change which values it admits.
ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$comment", "$defs", "definitions"}
    | {"$vocabulary", "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
    | {"contentEncoding", "contentMediaType", "contentSchema"}
)
_EVALUATING: Final = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
# Keywords whose schemas apply to the same value: lists of schemas, one schema, schemas by names.
_LISTED: Final = ("allOf", "anyOf", "oneOf")
_ONE: Final = ("not", "if", "then", "else")
_NAMED: Final = ("dependentSchemas", "dependencies")


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One schema text: its validator; `known` is true if its dialect is known here."""

    validator: Any
    known: bool
    ref_alone: bool


@dataclass(frozen=True, slots=True, eq=False)
class SchemaNode:
    """A schema inside a document: its JSON, and the resolver of its references."""

    schema: Any
    resolver: Any
    document: Document

    def at(self, schema: Any) -> "SchemaNode":
        """A schema inside this one; not its list of properties, and no value of `const` or `default`."""
        if isinstance(schema, dict) and ("$id" in schema or "id" in schema):
            resource = _specification(self.document.validator).create_resource(schema)
            return SchemaNode(schema, self.resolver.in_subresource(resource), self.document)
        return SchemaNode(schema, self.resolver, self.document)

    def target(self, reference: str) -> "SchemaNode | None":
        """The target of a reference; None if it is not in the document."""
        try:
            resolved = self.resolver.lookup(reference)
        except Unresolvable:
            return None
        return SchemaNode(resolved.contents, resolved.resolver, self.document)

    def errors(self, value: Any) -> list[Any]:
        """The errors of a value by this schema, as errors of `jsonschema`.

        Raises:
            Unresolvable: a reference leads out of the document, or Python cannot read a pattern.
        """
        try:
            return list(self.document.validator.evolve(schema=self.schema).iter_errors(value))
        except re.error as error:
            raise Unresolvable(ref=f"the pattern {error.pattern!r}") from None

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The keywords that decide which values are admitted; the schema `true` has none."""
        if not isinstance(self.schema, dict):
            return {"not": True} if self.schema is False else {}
        if "$ref" in self.schema and self.document.ref_alone:
            return {"$ref": self.schema["$ref"]}
        chosen = {key: value for key, value in self.schema.items() if key not in ANNOTATIONS}
        if "unevaluatedProperties" in chosen and not chosen.keys() & _EVALUATING:
            # If no other keyword declares properties, it means additionalProperties.
            value = chosen.pop("unevaluatedProperties")
            chosen.setdefault("additionalProperties", value)
        return chosen


def read(schema: SchemaInfo) -> SchemaNode:
    """The schema that a text describes.

    Raises:
        InvalidSchemaError: it is not JSON, or breaks the rules of its dialect.
    """
    try:
        value = json.loads(schema.schema_data, parse_constant=_no_number)
    except ValueError as error:
        raise InvalidSchemaError(f"the JSON Schema of {schema.type} is not JSON: {error}") from None
    except RecursionError:
        raise InvalidSchemaError(f"the JSON Schema of {schema.type} is nested too deeply") from None
    if not isinstance(value, dict | bool):
        raise InvalidSchemaError(f"the JSON Schema of {schema.type} is {type(value).__name__}, not an object")
    dialect = dialect_of(value)
    kind = jsonschema.validators.validator_for({"$schema": dialect}, default=None)
    used = kind or jsonschema.Draft202012Validator
    if kind is not jsonschema.Draft3Validator:
        value = with_required_lists(value)
    try:
        used.check_schema(value, format_checker=_without_patterns(used.FORMAT_CHECKER))
    except jsonschema.SchemaError as error:
        raise InvalidSchemaError(f"the JSON Schema of {schema.type}, at {error.json_path}: {error.message}") from None
    resource = _specification(used).create_resource(value)
    registry: Registry[Any] = Registry().with_resource("", resource)
    validator = used(value, registry=registry, format_checker=used.FORMAT_CHECKER)
    # Draft 3 has other keywords; the meaning of a custom dialect is not known.
    known = kind is not None and kind is not jsonschema.Draft3Validator
    document = Document(validator, known, ref_stands_alone(dialect))
    return SchemaNode(value, registry.resolver_with_root(resource), document)


def _without_patterns(checker: Any) -> Any:
    """A checker of formats that admits all patterns: JavaScript has other patterns than Python."""
    chosen = jsonschema.FormatChecker(())
    chosen.checkers = {name: check for name, check in checker.checkers.items() if name != "regex"}
    return chosen


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _specification(validator: Any) -> Specification[Any]:
    meta = validator.META_SCHEMA
    return specification_with(meta.get("$id") or meta.get("id") or "", default=DRAFT202012)


def same(one: SchemaNode, other: SchemaNode) -> bool:
    """True if two schemas are equal after following references; annotations do not count."""
    return _same(one, other, set())


def _same(one: SchemaNode, other: SchemaNode, seen: set[tuple[int, int]]) -> bool:
    if isinstance(one.schema, bool) or isinstance(other.schema, bool):
        return one.schema is other.schema
    if (id(one.schema), id(other.schema)) in seen:
        return True
    seen.add((id(one.schema), id(other.schema)))
    ours, theirs = one.keywords, other.keywords
    return ours.keys() == theirs.keys() and all(
        _same_keyword(key, one, other, (ours[key], theirs[key]), seen) for key in ours
    )


def _same_keyword(
    key: str, one: SchemaNode, other: SchemaNode, values: tuple[Any, Any], seen: set[tuple[int, int]]
) -> bool:
    ours, theirs = values
    if key == "$ref":
        first, second = one.target(ours), other.target(theirs)
        if first is None or second is None:
            return bool(ours == theirs and first is second)
        return _same(first, second, seen)
    if key in BY_NAME and isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_same_part(one, other, ours[n], theirs[n], seen) for n in ours)
    if key in SEVERAL and isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(
            _same_part(one, other, *pair, seen) for pair in zip(ours, theirs, strict=True)
        )
    if key in ONE:
        return _same_part(one, other, ours, theirs, seen)
    return _same_text(ours, theirs)


def _same_part(one: SchemaNode, other: SchemaNode, ours: Any, theirs: Any, seen: set[tuple[int, int]]) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _same(one.at(ours), other.at(theirs), seen)
    return _same_text(ours, theirs)


def _same_text(ours: Any, theirs: Any) -> bool:
    # As text: to Python, true equals 1.
    return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


def endless(root: SchemaNode) -> str | None:
    """A reference that leads back to itself without a step into the value; None if the schema has none.

    Such a schema has no end: its meaning is undefined, and validators run until their stack is full. A list whose items
    are lists of the same schema is allowed: with every step the value gets smaller.
    """
    done: set[int] = set()
    for reference, start in _references(root):
        # Each entry: the schemas that are still to be followed after a schema, and the schema.
        path: list[tuple[Iterator[SchemaNode], int]] = [(_same_value(start), id(start.schema))]
        within = {id(start.schema)}
        while path:
            node = next(path[-1][0], None)
            if node is None:
                _, left = path.pop()
                within.discard(left)
                done.add(left)
            elif id(node.schema) in within:
                return reference
            elif id(node.schema) not in done:
                within.add(id(node.schema))
                path.append((_same_value(node), id(node.schema)))
    return None


def _same_value(node: SchemaNode) -> Iterator[SchemaNode]:
    """The schemas that a schema applies to the same value."""
    keywords = node.keywords
    if isinstance(keywords.get("$ref"), str):
        target = node.target(keywords["$ref"])
        if target is not None and isinstance(target.schema, dict):
            yield target
    parts = [part for keyword in _LISTED for part in keywords.get(keyword, ())]
    parts += [keywords[keyword] for keyword in _ONE if keyword in keywords]
    parts += [part for keyword in _NAMED for part in keywords.get(keyword, {}).values()]
    yield from (node.at(part) for part in parts if isinstance(part, dict))


def _references(root: SchemaNode) -> Iterator[tuple[str, SchemaNode]]:
    """All schemas of the document that refer to others, also where only a reference leads."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node.schema) in seen:
            continue
        seen.add(id(node.schema))
        if isinstance(node.schema, dict) and isinstance(node.schema.get("$ref"), str):
            yield node.schema["$ref"], node
            target = node.target(node.schema["$ref"])
            if target is not None:
                waiting.append(target)
        waiting += [node.at(part) for part in subschemas(node.schema) if isinstance(part, dict)]
