"""Made-up datums of an Avro schema, as bytes, and single values in the form that columns have."""

import math
import struct
from datetime import time
from random import Random
from typing import Any

from aiopravega.schema.avro.model import (
    AvroType,
    Enumeration,
    Fixed,
    Mapping,
    Primitive,
    Record,
    Sequence,
    Union,
)

DEEPEST = 6
_DAY_MICROS = 24 * 3600 * 1_000_000
TEXTS = (b"", b"text", "größer".encode())
UUID = b"12345678-1234-5678-1234-567812345678"
LONGS = (0, 1, 7, 86_399)  # which are dates, times of day and timestamps, too


class NoValueError(Exception):
    """A type of which there is no value, or none that ends."""


def long(value: int) -> bytes:
    left = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def datum(schema: AvroType, rng: Random, depth: int = 0) -> bytes:
    """The bytes of some value; every text is UTF-8, and every logical type has a meaning."""
    match schema:
        case Primitive():
            return _primitive(schema, rng)
        case Fixed(_, size, logical):
            whole = rng.randint(-9, 9).to_bytes(max(size, 1), "big", signed=True)
            return whole if logical else bytes(rng.choices(range(128), k=size))
        case Enumeration(_, symbols):
            return long(rng.randrange(len(symbols)))
        case Sequence(items):
            count = 0 if depth > DEEPEST else rng.randint(0, 2)
            return _block([datum(items, rng, depth + 1) for _ in range(count)])
        case Mapping(values):
            count = 0 if depth > DEEPEST else rng.randint(0, 2)
            return _block([long(1) + b"kl"[at : at + 1] + datum(values, rng, depth + 1) for at in range(count)])
        case Union(branches):
            return _of_union(branches, rng, depth)
        case Record(_, fields):
            if depth > 3 * DEEPEST:
                raise NoValueError
            return b"".join(datum(field.type, rng, depth + 1) for field in fields)


def _of_union(branches: tuple[AvroType, ...], rng: Random, depth: int) -> bytes:
    order = rng.sample(range(len(branches)), len(branches))
    if depth > DEEPEST:
        order.sort(key=lambda index: not isinstance(branches[index], Primitive))
    for index in order:
        try:
            return long(index) + datum(branches[index], rng, depth + 1)
        except NoValueError:
            continue
    raise NoValueError


def _primitive(schema: Primitive, rng: Random) -> bytes:
    match schema.kind, schema.logical or "":
        case "null", _:
            return b""
        case "boolean", _:
            return bytes([rng.randint(0, 1)])
        case (("int" | "long"), _):
            return long(rng.choice(LONGS))
        case "float", _:
            return struct.pack("<f", rng.choice((0.0, -1.5, 0.1, float("nan"), float("inf"))))
        case "double", _:
            return struct.pack("<d", rng.choice((0.0, -1.5, 0.1, float("nan"), float("inf"))))
        case "bytes", "decimal":
            return long(2) + rng.randint(-999, 999).to_bytes(2, "big", signed=True)
        case _, "uuid":
            return long(len(UUID)) + UUID
    text = rng.choice(TEXTS)
    return long(len(text)) + text


def _block(items: list[bytes]) -> bytes:
    return (long(len(items)) + b"".join(items) if items else b"") + b"\0"


def is_same(schema: AvroType, single: Any, column: Any) -> bool:
    """Whether a single value of a schema is what a column has."""
    match schema:
        case Record(_, fields):
            return (
                isinstance(single, dict)
                and single.keys() == column.keys()
                and all(is_same(field.type, single[field.name], column[field.name]) for field in fields)
            )
        case Sequence(items):
            return len(single) == len(column) and all(map(lambda one, two: is_same(items, one, two), single, column))
        case Mapping(values):
            both = dict(column)
            return single.keys() == both.keys() and all(is_same(values, single[key], both[key]) for key in single)
        case Union(branches):
            return _is_same_branch([branch for branch in branches if branch != Primitive("null")], single, column)
        case Primitive() as primitive:
            return _is_same_primitive(primitive, single, column)
    return bool(single == column)


def _is_same_branch(branches: list[AvroType], single: Any, column: Any) -> bool:
    if single is None or column is None:
        return single is column
    kinds = {branch.kind for branch in branches if isinstance(branch, Primitive) and not branch.logical}
    if len(branches) == 1 or (len(kinds) == len(branches) and kinds in ({"int", "long"}, {"float", "double"})):
        return is_same(branches[0], single, column)
    given = [(branch, value) for branch, value in zip(branches, column.values(), strict=True) if value is not None]
    return len(given) == 1 and is_same(given[0][0], single, given[0][1])


def _is_same_primitive(schema: Primitive, single: Any, column: Any) -> bool:
    if isinstance(single, float) and math.isnan(single):
        return math.isnan(column)
    if isinstance(single, time):
        seconds = single.hour * 3600 + single.minute * 60 + single.second
        micros = seconds * 1_000_000 + single.microsecond
        unit = 1_000 if schema.logical == "time-millis" else 1
        # A default may be a number that is no time of day: fastavro then gives some time, and a column the number.
        return bool(column == micros // unit or not 0 <= column * unit < _DAY_MICROS)
    return bool(type(single)(column) == single if schema.logical == "uuid" else single == column)
