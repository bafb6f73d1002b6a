"""Arrow types of a JSON Schema. The schema gives the types only: its other rules are not checked."""

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of
from aiopravega.schema.json.dialect import dialect_of, identified, ref_stands_alone

_SIMPLE: dict[str, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}


def columns_of(document: Any) -> pa.Schema:
    """The columns of a JSON Schema of objects.

    Raises:
        ConfigurationError: it is not a JSON Schema of an object with properties, or a property cannot be a column.
    """
    if not isinstance(document, dict):
        raise ConfigurationError("the JSON Schema is not an object")
    columns = _Reader(document).type_of(document, "")
    if not pa.types.is_struct(columns):
        raise ConfigurationError(
            "the JSON Schema does not describe objects: only objects have fields that become columns"
        )
    return pa.schema(columns)


def column_of(document: dict[str, Any], name: str) -> pa.DataType:
    """The type of one property of a JSON Schema as a column, whatever its others are.

    Raises:
        ConfigurationError: it cannot be a column.
    """
    return _Reader(document).type_of(document["properties"][name], f".{name}")


@dataclass
class _Reader:
    """Follows the references of one document; `open` are the references that are being followed."""

    document: dict[str, Any]
    open: list[str] = field(default_factory=list)

    def complain(self, path: str, problem: str) -> ConfigurationError:
        return ConfigurationError(
            f"the JSON Schema cannot become columns at {path.lstrip('.') or 'its top'}: {problem}. Give the columns "
            "instead of a schema, or read the events raw"
        )

    def type_of(self, schema: Any, path: str) -> pa.DataType:
        if not isinstance(schema, dict):
            raise self.complain(path, f"{json.dumps(schema)} allows anything")
        if "$ref" in schema and ref_stands_alone(dialect_of(self.document)):
            return self._referred(schema["$ref"], path)
        found = [] if "$ref" not in schema else [self._referred(schema["$ref"], path)]
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                choices = [choice for choice in schema[word] if choice != {"type": "null"}]
                if len(choices) != 1:
                    raise self.complain(path, f"{word} has {len(choices)} types, and a column has one")
                found.append(self.type_of(choices[0], path))
        # "object" alone says no more than the part beside it.
        bare = schema.get("type", "object") in ("object", ["object"], ["object", "null"], ["null", "object"])
        if not found or not bare or schema.keys() & {"properties", "enum"}:
            found.insert(0, self._own(schema, path))
        first, *others = found
        for other in others:
            first = self._both(first, other, path)
        return first

    def _both(self, one: pa.DataType, other: pa.DataType, path: str) -> pa.DataType:
        """The type of a value that two schemas describe: both have their properties, or say the same."""
        if one == other:
            return one
        if not pa.types.is_struct(one) or not pa.types.is_struct(other):
            raise self.complain(path, f"one part of the schema says {one}, another one {other}")
        fields = {each.name: each.type for each in one}
        for each in other:
            kind = fields.get(each.name, each.type)
            fields[each.name] = self._both(kind, each.type, f"{path}.{each.name}")
        return pa.struct(list(fields.items()))

    def _own(self, schema: dict[str, Any], path: str) -> pa.DataType:
        """The type by the keywords of a schema itself."""
        kind = self._kind(schema, path)
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind == "array":
            if not isinstance(schema.get("items"), dict):
                raise self.complain(path, "an array does not say what its items are")
            return list_of(self.type_of(schema["items"], f"{path}[]"))
        if kind == "object" and schema.get("properties"):
            return pa.struct(
                [(name, self.type_of(one, f"{path}.{name}")) for name, one in schema["properties"].items()]
            )
        raise self.complain(path, f"{kind!r} without known properties is not a type of a column")

    def _kind(self, schema: dict[str, Any], path: str) -> str:
        kinds = schema.get("type")
        if kinds is None and "properties" in schema:
            return "object"
        if kinds is None and all(isinstance(value, str) for value in schema.get("enum", [None])):
            return "string"
        wanted = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
        if set(wanted) == {"integer", "number"}:
            return "number"
        if len(wanted) != 1 or wanted[0] is None:
            raise self.complain(path, f"the type is {json.dumps(kinds)}, and a column has one")
        return str(wanted[0])

    def _referred(self, reference: str, path: str) -> pa.DataType:
        if reference in self.open:
            raise self.complain(path, f"{reference} contains itself")
        address, _, path_there = reference.partition("#")
        part: Any = identified(self.document).get(address) if address else self.document
        if part is None:
            raise self.complain(path, f"{reference} is outside of the schema")
        for step in path_there.split("/")[1:]:
            part = part.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(part, dict) else None
        if part is None:
            raise self.complain(path, f"{reference} is not in the schema")
        self.open.append(reference)
        kind = self.type_of(part, path)
        self.open.pop()
        return kind
