"""Names of streams, segments, transactions and tables, as Pravega spells them.

Source: `NameUtils` in Pravega's `shared/protocol`. This module knows no servers and no offsets.
"""

import re
import uuid
from dataclasses import dataclass
from typing import Self

from aiopravega.errors import ConfigurationError

_USER_NAME = re.compile(r"[A-Za-z0-9.\-]+")
_INTERNAL_NAME = re.compile(r"_[A-Za-z0-9_.\-]+")
# Pravega puts up to five letters in front of the names of streams, tables and subscribers for its internal records.
_MAX_NAME_LENGTH = 250
_MAX_SCOPE_LENGTH = 255
_NUMBER_MASK = 0xFFFF_FFFF
# Pravega's own streams (watermarks, reader groups) start with an underscore.
INTERNAL_PREFIX = "_"
_GROUP_PREFIX = f"{INTERNAL_PREFIX}RG"


def check_name(kind: str, name: str, *, internal: bool = False) -> str:
    """Return `name`, or raise `ConfigurationError` if Pravega's controller would refuse it as a `kind` of name."""
    longest = _MAX_SCOPE_LENGTH if kind == "scope" else _MAX_NAME_LENGTH
    if (internal or kind == "scope") and _INTERNAL_NAME.fullmatch(name) and len(name) <= _MAX_SCOPE_LENGTH:
        return name
    if not _USER_NAME.fullmatch(name) or len(name) > longest:
        raise ConfigurationError(
            f"{name!r} is not a {kind} name: use up to {longest} letters, digits, '.' and '-'; Pravega takes no "
            "other character, such as '_'"
        )
    return name


@dataclass(frozen=True, slots=True, order=True)
class StreamName:
    """A stream within its scope; `str()` gives `scope/stream`."""

    scope: str
    stream: str

    @classmethod
    def parse(cls, text: str, default_scope: str | None = None) -> Self:
        """Read `scope/stream`, or `stream` if a default scope is known.

        Raises:
            ConfigurationError: the text is neither.
        """
        scope, slash, stream = text.partition("/")
        if not slash:
            scope, stream = default_scope or "", text
        if not scope:
            raise ConfigurationError(f"stream {text!r} has no scope: write scope/stream, or set a default scope")
        check_name("scope", scope)
        check_name("stream", stream, internal=stream.startswith(INTERNAL_PREFIX))
        return cls(scope, stream)

    @classmethod
    def of(cls, stream: "StreamName | str") -> "StreamName":
        """The stream itself, or the one of a text `scope/stream`; no scope is guessed.

        Raises:
            ConfigurationError: it is neither.
        """
        match stream:
            case StreamName():
                return stream
            case str() if "/" in stream:
                return cls.parse(stream)
        raise ConfigurationError(f"{stream!r} is not a stream: give a StreamName, or a text scope/stream")

    def __str__(self) -> str:
        return f"{self.scope}/{self.stream}"


@dataclass(frozen=True, slots=True, order=True)
class SegmentId:
    """One segment of a stream: its number, and the epoch in which it was made. `str()` is its name on the wire."""

    stream: StreamName
    number: int
    epoch: int

    @classmethod
    def from_int(cls, stream: StreamName, segment_id: int) -> Self:
        """Read the 64-bit form that the controller uses: epoch in the high half, number in the low half."""
        return cls(stream, segment_id & _NUMBER_MASK, (segment_id >> 32) & _NUMBER_MASK)

    def to_int(self) -> int:
        """The 64-bit form that the controller uses."""
        return self.epoch << 32 | self.number

    def transaction(self, txn_id: uuid.UUID) -> str:
        """The wire name of the segment that holds a transaction's events until it commits."""
        return f"{self}#transaction.{txn_id.hex}"

    def __str__(self) -> str:
        return f"{self.stream}/{self.number}.#epoch.{self.epoch}"


def table_stream(scope: str, table: str) -> StreamName:
    """The name under which the segments of a key-value table are found: they are named like a stream's."""
    return StreamName(scope, f"{table}_kvtable")


def group_stream(scope: str, group: str) -> StreamName:
    """The name of the internal stream in which a reader group keeps its state."""
    return StreamName(scope, f"{_GROUP_PREFIX}{group}")


def group_of(stream: str) -> str | None:
    """The reader group whose state is in a stream of this name; None if it is another stream."""
    return stream.removeprefix(_GROUP_PREFIX) if stream.startswith(_GROUP_PREFIX) else None
