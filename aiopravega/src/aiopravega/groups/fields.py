"""Reader of Java's versioned serialization, byte for byte, which Pravega's client writes for other clients.

A record is a version and some revisions, each with its length. A revision adds to the revisions before it, so an
unknown revision is skipped by its length. Another version has another layout, and is refused. Source:
`VersionedSerializer`, `RevisionDataInput` and `RevisionDataOutput` in Pravega.
"""

import struct
import uuid
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from aiopravega.errors import ConfigurationError, ReaderGroupStateError
from aiopravega.names import SegmentId, StreamName

K = TypeVar("K")
V = TypeVar("V")

FORMAT: Final = 0
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_DOUBLE: Final = struct.Struct(">d")
# Java's "modified UTF-8" has two bytes for a zero.
NUL: Final = b"\xc0\x80"
# The first bits of a compact number say how many bytes it has.
LONG_SIZES: Final = (1, 2, 4, 8)
_TWO_BYTES: Final = 0x80
_FOUR_BYTES: Final = 0xC0
_EPOCH: Final = ".#epoch."
_SEGMENT_PARTS: Final = 3


class JavaFields:
    """The fields of one revision, or the records of an event, read one after another.

    Raises, from every method:
        ReaderGroupStateError: the bytes end too early, or are not such a field.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self._data) - self._at

    def take(self, length: int) -> memoryview:
        """The next bytes."""
        if not 0 <= length <= self.left:
            raise ReaderGroupStateError(f"{length} bytes are promised at {self._at}, but {self.left} are there")
        self._at += length
        return self._data[self._at - length : self._at]

    def byte(self) -> int:
        """A number of 8 bits, without sign."""
        return self.take(1)[0]

    def boolean(self) -> bool:
        """One byte, which is true if it is not 0."""
        return self.byte() != 0

    def int32(self) -> int:
        """A signed number."""
        value: int = _INT.unpack(self.take(_INT.size))[0]
        return value

    def int64(self) -> int:
        """A signed number."""
        value: int = _LONG.unpack(self.take(_LONG.size))[0]
        return value

    def uuid(self) -> uuid.UUID:
        """A 128-bit id."""
        return uuid.UUID(bytes=bytes(self.take(16)))

    def key_range(self) -> None:
        """The part of the key space that a segment has: two doubles, which nothing here needs."""
        self.take(2 * _DOUBLE.size)

    def text(self) -> str:
        """A text of at most 65,535 bytes."""
        data = bytes(self.take(int.from_bytes(self.take(2))))
        try:
            # Characters beyond 16 bits are pairs of surrogates.
            halves = data.replace(NUL, b"\0").decode("utf-8", "surrogatepass")
            return halves.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeError as error:
            raise ReaderGroupStateError(f"{data[:40]!r} is not a text of Java's: {error}") from error

    def compact_int(self) -> int:
        """A number without sign in 1, 2 or 4 bytes."""
        first = self.byte()
        if first < _TWO_BYTES:
            return first
        size, mask = (2, 0x3FFF) if first < _FOUR_BYTES else (4, 0x3FFF_FFFF)
        return int.from_bytes(bytes([first, *self.take(size - 1)])) & mask

    def compact_long(self) -> int:
        """A number without sign in 1, 2, 4 or 8 bytes."""
        first = self.byte()
        size = LONG_SIZES[first >> 6]
        return int.from_bytes(bytes([first & 0x3F, *self.take(size - 1)]))

    def signed_long(self) -> int:
        """A number with a sign in 1, 2, 4 or 8 bytes; a negative one is kept as its complement."""
        first = self.byte()
        size = LONG_SIZES[first >> 5 & 0x3]
        value = int.from_bytes(bytes([first & 0x1F, *self.take(size - 1)]))
        return -value - 1 if first & 0x80 else value

    def array(self) -> memoryview:
        """Bytes after their length."""
        return self.take(self.compact_int())

    def items(self, item: Callable[["JavaFields"], V]) -> list[V]:
        """A list of items, after their count."""
        return [item(self) for _ in range(self.compact_int())]

    def mapping(self, key: Callable[["JavaFields"], K], value: Callable[["JavaFields"], V]) -> dict[K, V]:
        """A mapping of keys and values, after their count."""
        return {key(self): value(self) for _ in range(self.compact_int())}

    def segment(self) -> SegmentId:
        """A segment by its full name; a name without an epoch, as early releases wrote it, has epoch 0."""
        name = self.text()
        parts = name.split("/")
        number, _, epoch = parts[-1].partition(_EPOCH)
        try:
            if len(parts) != _SEGMENT_PARTS:
                raise ValueError("expected scope/stream/segment")
            return SegmentId(StreamName(*parts[:2]), _unsigned(number), _unsigned(epoch) if epoch else 0)
        except ValueError as error:
            raise ReaderGroupStateError(f"{name[:200]!r} is not the name of a segment: {error}") from error

    def stream(self) -> StreamName:
        """A stream by its full name."""
        name = self.text()
        try:
            return StreamName.parse(name)
        except ConfigurationError as error:
            raise ReaderGroupStateError(f"{name[:200]!r} is not the name of a stream: {error}") from error

    def offsets(self) -> dict[SegmentId, int]:
        """Positions by segment."""
        return self.mapping(JavaFields.segment, JavaFields.int64)

    def revisions(self, what: str, versions: Collection[int] = (0,)) -> tuple[int, list["JavaFields"]]:
        """The version and the revisions of a record, which `what` names."""
        if (form := self.byte()) != FORMAT:
            raise ReaderGroupStateError(f"{what} has serialization format {form}; known is {FORMAT} {_NEWER}")
        return self.contents(what, versions)

    def contents(self, what: str, versions: Collection[int] = (0,)) -> tuple[int, list["JavaFields"]]:
        """The version and the revisions of a record whose format was read before its kind; see `revisions`."""
        if (version := self.byte()) not in versions:
            raise ReaderGroupStateError(f"{what} has version {version}; known is {max(versions)} {_NEWER}")
        revisions = []
        for _ in range(self.byte()):
            self.byte()  # its number, which Java ignores: revisions come in order
            revisions.append(JavaFields(self.take(self.int32())))
        if not revisions:
            raise ReaderGroupStateError(f"{what} has no content")
        return version, revisions


_NEWER: Final = "(written by a newer Pravega? Use a newer release of this package, or the Java client)"


def _unsigned(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 31:
        raise ValueError(f"{text!r} is not a number of a segment")
    return int(text)
