"""Defaults of fields, as a schema's JSON has them, written as datums: readers of events can then read them.

A default fits its type if it can be written as a datum. The parser checks defaults in this way.
"""

import struct
from typing import Any, Final

from aiopravega.schema.avro import model as avro

_MORE: Final = 0x80
_END_OF_BLOCKS: Final = b"\0"
_WHOLE: Final = {"int": range(-(2**31), 2**31), "long": range(-(2**63), 2**63)}
_REAL: Final = {"float": "<f", "double": "<d"}
# JSON has no such numbers; Avro's libraries write and read them as these texts.
_NOT_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity"})


def datum(schema: avro.AvroType, default: Any) -> bytes:
    """The datum of a default.

    Raises:
        ValueError: the default does not fit the schema.
    """
    match schema:
        case avro.Primitive(kind):
            return _primitive(kind, default)
        case avro.Fixed(_, size) if isinstance(default, str) and len(default) == size:
            return default.encode("latin-1")
        case avro.Enumeration(_, symbols) if default in symbols:
            return _long(symbols.index(default))
        case avro.Sequence(items) if isinstance(default, list):
            return _block([datum(items, item) for item in default])
        case avro.Mapping(values) if isinstance(default, dict):
            return _block([_primitive("string", key) + datum(values, value) for key, value in default.items()])
        case avro.Record(_, fields) if isinstance(default, dict):
            return b"".join(datum(field.type, default.get(field.name, field.default)) for field in fields)
        case avro.Union(branches):
            return _of_union(branches, default)
    raise _unfit(default)


def _of_union(branches: tuple[avro.AvroType, ...], default: Any) -> bytes:
    """The datum of the first branch that fits: older schemas may have a default of the first branch only."""
    for number, branch in enumerate(branches):
        try:
            return _long(number) + datum(branch, default)
        except ValueError:
            continue
    raise _unfit(default)


def _primitive(kind: str, default: Any) -> bytes:
    match kind, default:
        case "null", None:
            return b""
        case "boolean", bool():
            return bytes([default])
        case "int" | "long", int() if not isinstance(default, bool) and default in _WHOLE[kind]:
            return _long(default)
        case "float" | "double", int() | float() if not isinstance(default, bool):
            return _real(kind, default)
        case "float" | "double", str() if default in _NOT_FINITE:
            return _real(kind, float(default))
        case "bytes", str():
            return _long(len(default)) + default.encode("latin-1")
        case "string", str():
            text = default.encode()
            return _long(len(text)) + text
    raise _unfit(default)


def _real(kind: str, default: float) -> bytes:
    try:
        return struct.pack(_REAL[kind], default)
    except OverflowError:
        raise _unfit(default) from None


def _long(value: int) -> bytes:
    left = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while left >= _MORE:
        out.append(left % _MORE | _MORE)
        left //= _MORE
    return bytes([*out, left])


def _block(items: list[bytes]) -> bytes:
    return (_long(len(items)) + b"".join(items) if items else b"") + _END_OF_BLOCKS


def _unfit(default: Any) -> ValueError:
    return ValueError(f"the default {default!r} does not fit its type")
