"""An Avro schema as a graph of types: names resolved, each type with the text that it was written as.

It refuses what Avro's specification refuses, and says where. It knows nothing of a second schema.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema.compatibility.avro.defaults import fits
from aiopravega.schema.model import SchemaInfo

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_SYMBOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL: Final = "decimal"


@dataclass(slots=True, eq=False)
class AvroField:
    """A field of a record; `source` is its text in the schema."""

    name: str
    type: "AvroType"
    aliases: frozenset[str]
    has_default: bool
    source: str


@dataclass(slots=True, eq=False)
class AvroType:
    """A type. What does not belong to its kind is empty; `name` and `aliases` are full names."""

    kind: str
    source: str
    name: str = ""
    aliases: frozenset[str] = frozenset()
    logical: str = ""
    fields: list[AvroField] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    has_default: bool = False
    size: int = 0
    items: "AvroType | None" = None
    branches: tuple["AvroType", ...] = ()

    @property
    def label(self) -> str:
        """What people call it: the name, or else the kind."""
        return self.name.rpartition(".")[2] or self.kind


def parse(schema: SchemaInfo) -> AvroType:
    """The type that a schema's text describes.

    Raises:
        InvalidSchemaError: it is no JSON, or no Avro schema.
    """
    try:
        value = json.loads(schema.schema_data)
        return _Parser().type(value, "", schema.type)
    except json.JSONDecodeError as error:
        raise InvalidSchemaError(f"the Avro schema of {schema.type} is not JSON: {error}") from None
    except RecursionError:
        raise InvalidSchemaError(f"the Avro schema of {schema.type} is nested too deeply") from None


def text(value: Any) -> str:
    """A part of a schema on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Parser:
    def __init__(self) -> None:
        self._names: dict[str, AvroType] = {}

    def type(self, value: Any, namespace: str, at: str) -> AvroType:
        if isinstance(value, list):
            return self._union(value, namespace, at)
        if isinstance(value, str):
            return self._reference(value, namespace, at)
        if not isinstance(value, dict):
            raise InvalidSchemaError(f"at {at}: {value!r} is no Avro type")
        kind = value.get("type")
        if isinstance(kind, dict | list):
            return self.type(kind, namespace, at)
        if kind in _NAMED:
            return self._named(value, namespace, at)
        made = AvroType(str(kind), text(value), logical=_logical(value, at))
        if kind in {"array", "map"}:
            key = "items" if kind == "array" else "values"
            if key not in value:
                raise InvalidSchemaError(f"at {at}: this {kind} has no {key!r}")
            made.items = self.type(value[key], namespace, at)
            return made
        if kind in PRIMITIVES:
            return made
        return self._reference(kind, namespace, at)

    def _reference(self, name: Any, namespace: str, at: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name, name)
        found = None
        if isinstance(name, str):
            found = self._names.get(_full(name, namespace)) or self._names.get(name)
        if found is None:
            raise InvalidSchemaError(f"at {at}: unknown type {name!r}; a type must be defined before its name is used")
        return found

    def _union(self, values: Sequence[Any], namespace: str, at: str) -> AvroType:
        branches = tuple(self.type(value, namespace, at) for value in values)
        if any(branch.kind == "union" for branch in branches):
            raise InvalidSchemaError(f"at {at}: a union directly inside a union")
        kinds = [branch.name or branch.kind for branch in branches]
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise InvalidSchemaError(f"at {at}: the union has {kind!r} twice")
        return AvroType("union", text(values), branches=branches)

    def _named(self, value: Mapping[str, Any], namespace: str, at: str) -> AvroType:
        name = value.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidSchemaError(f"at {at}: {name!r} is no name of a type")
        full = _full(name, value.get("namespace") or namespace)
        inner = full.rpartition(".")[0]
        kind = "record" if value["type"] == "error" else value["type"]
        aliases = frozenset(_full(alias, inner) for alias in _names(value.get("aliases", []), at))
        made = AvroType(kind, text(value), full, aliases, _logical(value, at))
        if full in self._names:
            raise InvalidSchemaError(f"at {at}: the type {full!r} is defined twice")
        self._names[full] = made
        if kind == "record":
            self._fill_record(made, value, inner, at)
        elif kind == "enum":
            _fill_enum(made, value, at)
        else:
            size = value.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise InvalidSchemaError(f"at {at}: the fixed type {full!r} has the size {size!r}")
            made.size = size
        return made

    def _fill_record(self, made: AvroType, value: Mapping[str, Any], namespace: str, at: str) -> None:
        fields = value.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchemaError(f"at {at}: the record {made.name!r} has no list of fields")
        seen: set[str] = set()
        for each in fields:
            name = each.get("name") if isinstance(each, dict) else None
            if not isinstance(name, str) or not _SYMBOL.fullmatch(name) or "type" not in each:
                raise InvalidSchemaError(f"at {at}: {text(each)} is no field; it needs a name and a type")
            if name in seen:
                raise InvalidSchemaError(f"at {at}: the record {made.name!r} has two fields {name!r}")
            seen.add(name)
            place = f"{at}.{name}"
            kind = self.type(each["type"], namespace, place)
            if "default" in each and not fits(each["default"], kind):
                raise InvalidSchemaError(f"at {place}: the default {text(each['default'])} is no {kind.source}")
            aliases = frozenset(_names(each.get("aliases", []), place))
            made.fields.append(AvroField(name, kind, aliases, "default" in each, text(each)))


def _fill_enum(made: AvroType, value: Mapping[str, Any], at: str) -> None:
    symbols = _names(value.get("symbols"), at)
    if len(set(symbols)) < len(symbols):
        raise InvalidSchemaError(f"at {at}: a symbol of the enum {made.name!r} is there twice")
    default = value.get("default")
    if default is not None and default not in symbols:
        raise InvalidSchemaError(f"at {at}: the default {default!r} is no symbol of the enum {made.name!r}")
    made.symbols, made.has_default = tuple(symbols), default is not None


def _full(name: str, namespace: Any) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _names(values: Any, at: str) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(each, str) and _NAME.fullmatch(each) for each in values):
        raise InvalidSchemaError(f"at {at}: {text(values)} is no list of names")
    return values


def _logical(value: Mapping[str, Any], at: str) -> str:
    name = value.get("logicalType")
    if name != _DECIMAL:
        return name if isinstance(name, str) else ""
    precision, scale = value.get("precision"), value.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision or not precision:
        raise InvalidSchemaError(f"at {at}: a decimal of precision {precision!r} and scale {scale!r}")
    return f"{_DECIMAL}({precision}, {scale})"
