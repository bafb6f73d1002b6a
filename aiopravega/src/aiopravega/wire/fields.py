"""Encodings of single fields on the wire. Big endian, as Java's `DataOutput` writes them.

A field knows how to append itself to a frame and how to be read at a position of one; a read never goes beyond
the end of the frame.
"""

import struct
import uuid
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from aiopravega.errors import ProtocolError

T = TypeVar("T")
KEY_ANY_VERSION = -(2**63)
KEY_NOT_EXISTS = -1
_LONGEST_UTF = 65535


class TableKey(NamedTuple):
    """A key of a table segment and the version that is expected, or was found."""

    data: bytes
    version: int = KEY_ANY_VERSION


TableEntry = tuple[TableKey, bytes]
NO_VALUE = -(2**63)
_REPLACE_IF_EQUALS = 4


class AttributeUpdate(NamedTuple):
    """A segment's attribute gets `new` if it has `old`; `NO_VALUE`: if it has none."""

    attribute: uuid.UUID
    new: int
    old: int = NO_VALUE


class Field(Protocol[T]):
    """One field of a command."""

    def write(self, frame: bytearray, value: T) -> None: ...

    def read(self, frame: memoryview, at: int) -> tuple[T, int]: ...


def slice_of(frame: memoryview, at: int, length: int) -> memoryview:
    """`length` bytes of a frame; `ProtocolError` if it does not have them."""
    if length < 0 or at + length > len(frame):
        raise ProtocolError(f"a frame of {len(frame)} bytes promises {length} more bytes at {at}")
    return frame[at : at + length]


class Packed(Generic[T]):
    """A number of fixed width."""

    def __init__(self, layout: str) -> None:
        self._struct = struct.Struct(layout)

    def write(self, frame: bytearray, value: T) -> None:
        frame += self._struct.pack(value)

    def read(self, frame: memoryview, at: int) -> tuple[T, int]:
        value: T = self._struct.unpack(slice_of(frame, at, self._struct.size))[0]
        return value, at + self._struct.size


INT: Packed[int] = Packed(">i")
LONG: Packed[int] = Packed(">q")
BOOL: Packed[bool] = Packed(">?")
_USHORT: Packed[int] = Packed(">H")


class Text:
    """A text of at most 65,535 bytes, with its length in front."""

    def write(self, frame: bytearray, value: str) -> None:
        data = value.encode()
        if len(data) > _LONGEST_UTF:
            raise ProtocolError(f"a text of {len(data)} bytes does not fit into the protocol")
        _USHORT.write(frame, len(data))
        frame += data

    def read(self, frame: memoryview, at: int) -> tuple[str, int]:
        length, at = _USHORT.read(frame, at)
        # Java writes "modified UTF-8"; only stack traces could differ.
        return str(slice_of(frame, at, length), "utf-8", "replace"), at + length


class Uuid:
    """A 128-bit id, high bits first."""

    def write(self, frame: bytearray, value: uuid.UUID) -> None:
        frame += value.bytes

    def read(self, frame: memoryview, at: int) -> tuple[uuid.UUID, int]:
        return uuid.UUID(bytes=bytes(slice_of(frame, at, 16))), at + 16


class Data:
    """Bytes with their length in front. Read as a view: copy it to keep it."""

    def write(self, frame: bytearray, value: bytes | memoryview) -> None:
        INT.write(frame, len(value))
        frame += value

    def read(self, frame: memoryview, at: int) -> tuple[bytes | memoryview, int]:
        length, at = INT.read(frame, at)
        return slice_of(frame, at, length), at + length


class Rest:
    """All bytes up to the end of the frame."""

    def write(self, frame: bytearray, value: bytes | memoryview) -> None:
        frame += value

    def read(self, frame: memoryview, at: int) -> tuple[bytes | memoryview, int]:
        return frame[at:], len(frame)


class _Key:
    """A table key: length of all that follows, the key's bytes, its version. An empty key has no version."""

    def write(self, frame: bytearray, value: TableKey) -> None:
        INT.write(frame, 4 + len(value.data) + 8)
        DATA.write(frame, value.data)
        if value.data:
            LONG.write(frame, value.version)

    def read(self, frame: memoryview, at: int) -> tuple[TableKey, int]:
        _, at = INT.read(frame, at)
        data, at = DATA.read(frame, at)
        if not data:
            return TableKey(b""), at
        version, at = LONG.read(frame, at)
        return TableKey(bytes(data), version), at


class _Entry:
    """A table key and its value."""

    def write(self, frame: bytearray, value: TableEntry) -> None:
        _KEY.write(frame, value[0])
        INT.write(frame, 4 + len(value[1]))
        DATA.write(frame, value[1])

    def read(self, frame: memoryview, at: int) -> tuple[TableEntry, int]:
        key, at = _KEY.read(frame, at)
        _, at = INT.read(frame, at)
        data, at = DATA.read(frame, at)
        return (key, bytes(data)), at


class _Update:
    """A conditional update of an attribute: its id, the kind of condition, the new and the old value."""

    def write(self, frame: bytearray, value: AttributeUpdate) -> None:
        UUID.write(frame, value.attribute)
        frame.append(_REPLACE_IF_EQUALS)
        LONG.write(frame, value.new)
        LONG.write(frame, value.old)

    def read(self, frame: memoryview, at: int) -> tuple[AttributeUpdate, int]:
        attribute, at = UUID.read(frame, at)
        kind, at = slice_of(frame, at, 1)[0], at + 1
        if kind != _REPLACE_IF_EQUALS:
            raise ProtocolError(f"an update of an attribute has the unknown kind {kind}")
        new, at = LONG.read(frame, at)
        old, at = LONG.read(frame, at)
        return AttributeUpdate(attribute, new, old), at


class Many(Generic[T]):
    """A count and so many fields."""

    def __init__(self, field: Field[T]) -> None:
        self._field = field

    def write(self, frame: bytearray, value: tuple[T, ...]) -> None:
        INT.write(frame, len(value))
        for item in value:
            self._field.write(frame, item)

    def read(self, frame: memoryview, at: int) -> tuple[tuple[T, ...], int]:
        count, at = INT.read(frame, at)
        if count < 0:
            raise ProtocolError(f"a frame promises {count} items")
        items: list[T] = []
        for _ in range(count):
            item, at = self._field.read(frame, at)
            items.append(item)
        return tuple(items), at


TEXT = Text()
UUID = Uuid()
DATA = Data()
REST = Rest()
_KEY = _Key()
KEYS: Many[TableKey] = Many(_KEY)
ENTRIES: Many[TableEntry] = Many(_Entry())
LONGS: Many[int] = Many(LONG)
UPDATES: Many[AttributeUpdate] = Many(_Update())
AnyField = Field[Any]
