"""Avro schemas as values: names resolved, defaults kept, complaints that say where.

Nothing here knows Arrow or Spark, or how a schema's data is laid out.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from aiopravega.errors import ConfigurationError

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NO_DEFAULT: Final = object()


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts; `logical` is its logical type, if it has one that is valid."""

    kind: str
    logical: str | None = None
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed number of bytes."""

    name: str
    size: int
    logical: str | None = None
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of some symbols."""

    name: str
    symbols: tuple[str, ...]
    default: str | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """An array."""

    items: "AvroType"


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map, whose keys are strings."""

    values: "AvroType"


@dataclass(frozen=True, slots=True)
class Union:
    """One of some types."""

    branches: tuple["AvroType", ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; `default` is as in the schema's JSON."""

    name: str
    type: "AvroType"
    default: Any = NO_DEFAULT
    aliases: tuple[str, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether readers can do without the writer's."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Record:
    """Fields in order."""

    name: str
    fields: tuple[Field, ...]
    aliases: tuple[str, ...] = ()


AvroType: TypeAlias = Primitive | Fixed | Enumeration | Sequence | Mapping | Union | Record


def parse(text: str, what: str = "the Avro schema") -> AvroType:
    """A schema from its JSON.

    Raises:
        ConfigurationError: it is none, or one that refers to itself, which has no columns.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{what} is not JSON: {error}") from None
    return _Parser(what).type_of(document, "", "")


@dataclass
class _Parser:
    """Remembers the named types of one schema. `path` says where in the schema one is."""

    what: str
    named: dict[str, AvroType] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)

    def complain(self, path: str, problem: str) -> ConfigurationError:
        where = f" at {path.lstrip('.')}" if path else ""
        return ConfigurationError(f"{self.what} cannot be used{where}: {problem}")

    def type_of(self, document: Any, space: str, path: str) -> AvroType:
        match document:
            case str():
                return self._by_name(document, space, path)
            case list():
                if not document or any(isinstance(branch, list) for branch in document):
                    raise self.complain(path, "a union has at least one type, and no union inside")
                return Union(tuple(self.type_of(branch, space, path) for branch in document))
            case {"type": "record" | "error", "name": str(), "fields": list()}:
                return self._record(document, space, path)
            case {"type": "enum", "name": str(), "symbols": [*symbols]}:
                name = _full_name(document, space)
                return self._define(name, Enumeration(name, tuple(map(str, symbols)), document.get("default")))
            case {"type": "fixed", "name": str(), "size": int(size)} if size > 0:
                name = _full_name(document, space)
                logical, precision, scale = self._logical(document, path)
                return self._define(name, Fixed(name, size, logical, precision, scale))
            case {"type": "array", "items": items}:
                return Sequence(self.type_of(items, space, f"{path}[]"))
            case {"type": "map", "values": values}:
                return Mapping(self.type_of(values, space, f"{path}{{}}"))
            case {"type": str(kind)} if kind in PRIMITIVES:
                return Primitive(kind, *self._logical(document, path))
            case {"type": dict() | list() | str() as inner}:
                return self.type_of(inner, space, path)
        raise self.complain(path, f"{json.dumps(document)[:200]} is not a type of Avro")

    def _by_name(self, name: str, space: str, path: str) -> AvroType:
        if name in PRIMITIVES:
            return Primitive(name)
        full = name if "." in name or not space else f"{space}.{name}"
        for candidate in (full, name):
            if candidate in self.open:
                raise self.complain(path, f"{candidate} contains itself, which cannot be a column")
            if candidate in self.named:
                return self.named[candidate]
        raise self.complain(path, f"no type is named {name!r}")

    def _define(self, name: str, defined: AvroType) -> AvroType:
        self.named[name] = defined
        return defined

    def _record(self, document: dict[str, Any], space: str, path: str) -> AvroType:
        name = _full_name(document, space)
        inside = name.rpartition(".")[0]
        self.open.add(name)
        fields = []
        for entry in document["fields"]:
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or "type" not in entry:
                raise self.complain(path, f"{json.dumps(entry)[:200]} is not a field")
            at = f"{path}.{entry['name']}"
            # A logical type may stand beside the name of a primitive type, where it belongs inside; as Java, ignore it.
            kind = self.type_of(entry["type"], inside, at)
            default = entry.get("default", NO_DEFAULT)
            fields.append(Field(entry["name"], kind, default, tuple(entry.get("aliases", ()))))
        self.open.discard(name)
        names = [entry.name for entry in fields]
        if len(set(names)) != len(names):
            raise self.complain(path, f"{name} has two fields of one name")
        return self._define(name, Record(name, tuple(fields), tuple(document.get("aliases", ()))))

    def _logical(self, document: dict[str, Any], path: str) -> tuple[str | None, int, int]:
        logical = document.get("logicalType")
        if logical != "decimal":
            return (logical if isinstance(logical, str) else None), 0, 0
        precision, scale = document.get("precision"), document.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
            raise self.complain(path, f"a decimal needs a precision and a scale: {json.dumps(document)[:200]}")
        return logical, precision, scale


def _full_name(document: dict[str, Any], space: str) -> str:
    name: str = document["name"]
    space = document.get("namespace", space)
    return name if "." in name or not space else f"{space}.{name}"
