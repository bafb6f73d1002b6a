"""From the text of an Avro schema to its model: names resolved, defaults checked.

It refuses schemas that Avro's specification refuses, and reports the path. It does not compare schemas.
"""

import json
import math
import re
from typing import Any, Final, NoReturn

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro.defaults import datum

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_SYMBOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BYTE: Final = 8  # bits
_LONGEST_TEXT: Final = 200  # characters of a schema that a complaint shows


def parse(text: str | bytes, what: str = "the Avro schema", root: str = "") -> avro.AvroType:
    """The type that a schema's text describes.

    Args:
        text: the schema in JSON.
        what: the schema's name in complaints.
        root: the beginning of paths in complaints.

    Raises:
        InvalidSchemaError: it is not JSON, or not an Avro schema.
    """
    try:
        value = json.loads(text, parse_constant=_no_number)
        parser = _Parser(what)
        found = parser.type(value, "", root)
        parser.check_defaults()
    except RecursionError:
        raise InvalidSchemaError(f"{what} is nested too deeply") from None
    except InvalidSchemaError:
        raise
    except ValueError as error:
        raise InvalidSchemaError(f"{what} is not JSON: {error}") from None
    return found


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON; as a default, write it in quotes")


class _Parser:
    def __init__(self, what: str) -> None:
        self._what = what
        self._names: dict[str, avro.Named] = {}
        # Checked at the end: a default can be of a record that is not complete yet.
        self._defaults: list[tuple[avro.RecordField, str]] = []

    def complaint(self, at: str, problem: str) -> InvalidSchemaError:
        where = f", at {at.lstrip('.')}" if at else ""
        return InvalidSchemaError(f"{self._what} cannot be parsed{where}: {problem}")

    def check_defaults(self) -> None:
        for field, at in self._defaults:
            try:
                datum(field.type, field.default)
            except ValueError:
                raise self.complaint(
                    at, f"the default {_short(field.default)} does not fit the type {_short(field.type.document)}"
                ) from None

    def type(self, value: Any, namespace: str, at: str) -> avro.AvroType:
        if isinstance(value, list):
            return self._union(value, namespace, at)
        if isinstance(value, str):
            return self._reference(value, namespace, at)
        if not isinstance(value, dict):
            raise self.complaint(at, f"{_short(value)} is not an Avro type")
        kind = value.get("type")
        if isinstance(kind, dict | list):
            # A logical type beside it belongs inside; as Java, ignore it.
            return self.type(kind, namespace, at)
        if kind in _NAMED:
            return self._named(value, namespace, at)
        if kind in {"array", "map"}:
            key = "items" if kind == "array" else "values"
            if key not in value:
                raise self.complaint(at, f"this {kind} has no {key!r}")
            inner = self.type(value[key], namespace, at + ("[]" if kind == "array" else "{}"))
            return avro.Sequence(inner, value) if kind == "array" else avro.Mapping(inner, value)
        if kind in avro.PRIMITIVES:
            return avro.Primitive(kind, *self._logical(value, kind, at), document=value)
        return self._reference(kind, namespace, at)

    def _reference(self, name: Any, namespace: str, at: str) -> avro.AvroType:
        if name in avro.PRIMITIVES:
            return avro.Primitive(name, document=name)
        found = None
        if isinstance(name, str):
            found = self._names.get(_full(name, namespace)) or self._names.get(name)
        if found is None:
            raise self.complaint(at, f"unknown type {name!r}; a type must be defined before its name is used")
        return found

    def _union(self, values: list[Any], namespace: str, at: str) -> avro.Union:
        branches = tuple(self.type(value, namespace, at) for value in values)
        kinds = [branch.name if isinstance(branch, avro.Named) else avro.kind_of(branch) for branch in branches]
        if "union" in kinds:
            raise self.complaint(at, "a union directly inside a union")
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise self.complaint(at, f"the union has {kind!r} twice")
        return avro.Union(branches, values)

    def _named(self, value: dict[str, Any], namespace: str, at: str) -> avro.AvroType:
        name, space = value.get("name"), value.get("namespace")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self.complaint(at, f"{name!r} is not a name of a type")
        if space is not None and not isinstance(space, str):
            raise self.complaint(at, f"{space!r} is not a namespace")
        full = _full(name, namespace if space is None else space)
        inner = full.rpartition(".")[0]
        if full in avro.PRIMITIVES:
            raise self.complaint(at, f"{full!r} is the name of a primitive type")
        if full in self._names:
            raise self.complaint(at, f"the type {full!r} is defined twice")
        aliases = frozenset(_full(alias, inner) for alias in self._list_of_names(value.get("aliases", []), at))
        match value["type"]:
            case "enum":
                self._names[full] = self._enumeration(value, full, aliases, at)
            case "fixed":
                self._names[full] = self._fixed(value, full, aliases, at)
            case _:
                self._names[full] = record = avro.Record(full, aliases=aliases, document=value)
                record.fields = self._fields(value, full, at)
        return self._names[full]

    def _enumeration(self, value: dict[str, Any], full: str, aliases: frozenset[str], at: str) -> avro.Enumeration:
        symbols = self._list_of_names(value.get("symbols"), at)
        if dotted := next((symbol for symbol in symbols if "." in symbol), None):
            raise self.complaint(at, f"{dotted!r} is not a symbol of an enum")
        if len(set(symbols)) < len(symbols):
            raise self.complaint(at, f"a symbol of the enum {full!r} is there twice")
        default = value.get("default")
        if default is not None and default not in symbols:
            raise self.complaint(at, f"the default {default!r} is not a symbol of the enum {full!r}")
        return avro.Enumeration(full, tuple(symbols), default, aliases, value)

    def _fixed(self, value: dict[str, Any], full: str, aliases: frozenset[str], at: str) -> avro.Fixed:
        size: Any = value.get("size")
        if not _is_whole(size) or size < 0:
            raise self.complaint(at, f"the fixed type {full!r} has the size {size!r}")
        logical, precision, scale = self._logical(value, "fixed", at)
        most = math.floor(math.log10(2) * (_BYTE * size - 1))
        if logical == avro.DECIMAL and precision > most:
            raise self.complaint(at, f"a decimal of {precision} digits does not fit into {size} bytes")
        return avro.Fixed(full, size, logical, precision, scale, aliases, value)

    def _fields(self, value: dict[str, Any], full: str, at: str) -> tuple[avro.RecordField, ...]:
        entries = value.get("fields")
        if not isinstance(entries, list):
            raise self.complaint(at, f"the record {full!r} has no list of fields")
        fields: dict[str, avro.RecordField] = {}
        for entry in entries:
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not _SYMBOL.fullmatch(name) or "type" not in entry:
                raise self.complaint(at, f"{_short(entry)} is not a field; it needs a name and a type")
            if name in fields:
                raise self.complaint(at, f"the record {full!r} has two fields {name!r}")
            inside = f"{at}.{name}"
            kind = self.type(entry["type"], full.rpartition(".")[0], inside)
            aliases = tuple(self._list_of_names(entry.get("aliases", []), inside))
            fields[name] = field = avro.RecordField(name, kind, entry.get("default", avro.NO_DEFAULT), aliases, entry)
            if field.has_default:
                self._defaults.append((field, inside))
        return tuple(fields.values())

    def _list_of_names(self, values: Any, at: str) -> list[str]:
        if not isinstance(values, list) or not all(
            isinstance(value, str) and _NAME.fullmatch(value) for value in values
        ):
            raise self.complaint(at, f"{_short(values)} is not a list of names")
        return values

    def _logical(self, value: dict[str, Any], kind: str, at: str) -> tuple[str | None, int, int]:
        name = value.get("logicalType")
        if not isinstance(name, str) or kind == "null" or kind not in avro.UNDERLYING.get(name, {kind}):
            return None, 0, 0
        if name != avro.DECIMAL:
            return name, 0, 0
        precision, scale = value.get("precision"), value.get("scale", 0)
        if not _is_whole(precision) or not _is_whole(scale) or not 0 <= scale <= precision or not precision:
            raise self.complaint(at, f"a decimal of precision {precision!r} and scale {scale!r}")
        return name, precision, scale


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:_LONGEST_TEXT]
