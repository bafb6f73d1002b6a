"""Refuses single datums that would never end, or end the process, before fastavro reads them.

fastavro follows a datum on the stack of C: a datum that is nested some thousand levels deep ends the process by signal
11, and nothing can catch that. An array of items without bytes can have 2^63 items in ten bytes. Both need a schema
that allows it, so only events of such schemas are walked here first, with a stack on the heap.
"""

from collections.abc import Callable, Iterator
from typing import Final

from aiopravega.errors import MalformedEventError
from aiopravega.schema.avro import model as avro

MOST_LEVELS: Final = 500  # records, arrays and maps inside each other; fastavro bears more than 4,000 on 8 MiB of stack
MOST_EMPTY_ITEMS: Final = 65_536  # of all arrays of an event
_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_LONGEST: Final = 10  # bytes of a number
_MORE: Final = 0x80  # the bit of a byte of a number that says that another one follows

Check = Callable[[bytes, int], None]


def check_of(schema: avro.AvroType) -> Check | None:
    """A function that refuses hostile events of a writer's schema; None for a schema that allows no hostile events.

    The function gets an event and the offset of its datum, and raises `MalformedEventError`. It does not look for other
    faults of an event: fastavro finds them.
    """
    kinds = _Kinds()
    kinds.visit(schema, ())
    if not (kinds.recursive or kinds.empty_items):
        return None
    # Between two bytes of an event there are at most as many levels as the schema has types.
    safe = 0 if kinds.empty_items or kinds.without_end else MOST_LEVELS // len(kinds.seen)

    def check(event: bytes, start: int) -> None:
        if len(event) - start > safe:
            _Walk(event, start).check(schema)

    return check


class _Kinds:
    """The dangers of a schema: datums without an end, and datums that are nested too deeply."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.recursive = self.empty_items = self.without_end = False

    def visit(self, schema: avro.AvroType, around: tuple[avro.Record, ...]) -> None:
        if isinstance(schema, avro.Record) and schema in around:
            self.recursive = True
        if id(schema) in self.seen:
            return
        self.seen.add(id(schema))
        match schema:
            case avro.Sequence(items):
                self.empty_items = self.empty_items or avro.takes_no_bytes(items, ())
                self.visit(items, around)
            case avro.Mapping(values):
                self.visit(values, around)
            case avro.Union(branches):
                for branch in branches:
                    self.visit(branch, around)
            case avro.Record(_, fields):
                self.without_end = self.without_end or _begins_with_itself(schema, schema, ())
                for field in fields:
                    self.visit(field.type, (*around, schema))


def _begins_with_itself(schema: avro.AvroType, whole: avro.Record, around: tuple[avro.Record, ...]) -> bool:
    """True if a record contains itself and no byte of a datum can end the nesting."""
    if not isinstance(schema, avro.Record) or schema in around:
        return bool(around) and schema is whole
    return any(_begins_with_itself(field.type, whole, (*around, schema)) for field in schema.fields)


class _Walk:
    """One walk through one datum."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at, self._empty = data, at, 0

    def check(self, schema: avro.AvroType) -> None:
        """Follow the datum to its end, or until it cannot be followed."""
        stack: list[Iterator[avro.AvroType]] = [iter((schema,))]
        try:
            while stack:
                part = next(stack[-1], None)
                if part is None:
                    stack.pop()
                elif (inner := self._inside(part)) is not None:
                    stack.append(inner)
                    if len(stack) > MOST_LEVELS:
                        raise MalformedEventError(f"it is nested more than {MOST_LEVELS} levels deep")
        except IndexError:
            return  # it ends too early, or has no such branch

    def _inside(self, schema: avro.AvroType) -> Iterator[avro.AvroType] | None:
        """The parts of a value, which are walked next; None if it has no parts: then the walk is at its end."""
        while isinstance(schema, avro.Union):
            number = self._number()
            if number < 0:
                raise IndexError
            schema = schema.branches[number]
        match schema:
            case avro.Record(_, fields):
                return iter([field.type for field in fields])
            case avro.Sequence(items):
                return self._items((items,))
            case avro.Mapping(values):
                return self._items((avro.Primitive("string"), values))
            case avro.Fixed(_, size):
                self._skip(size)
            case avro.Primitive(kind) if kind in _WIDTHS:
                self._skip(_WIDTHS[kind])
            case avro.Primitive("bytes" | "string"):
                self._skip(self._number())
            case avro.Primitive() | avro.Enumeration():
                self._number()
        return None

    def _items(self, parts: tuple[avro.AvroType, ...]) -> Iterator[avro.AvroType]:
        """The parts of all items, block by block; each block has a count."""
        empty = all(avro.takes_no_bytes(part, ()) for part in parts)
        while count := self._number():
            if count < 0:
                self._number()
                count = -count
            if not empty:
                for _ in range(count):
                    yield from parts
                continue
            self._empty += count
            if self._empty > MOST_EMPTY_ITEMS:
                raise MalformedEventError(f"its arrays have more than {MOST_EMPTY_ITEMS} items without content")

    def _skip(self, width: int) -> None:
        self._at += width
        if width < 0 or self._at > len(self._data):
            raise IndexError

    def _number(self) -> int:
        value = 0
        for shift in range(0, 7 * _LONGEST, 7):
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & ~_MORE) << shift
            if byte < _MORE:
                return value >> 1 ^ -(value & 1)
        raise IndexError
