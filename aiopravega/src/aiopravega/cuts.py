"""StreamCuts and the ranges between them: where a read starts and ends, exactly.

The text form is byte for byte the Java client's `StreamCut.asText()` (`StreamCutImpl` and `ToStringUtils` in Pravega),
so that users of Java, Flink and Spark can paste texts either way. This module asks no server: whether a cut fits a
stream is checked where the cut is used.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Self

from aiopravega.errors import ConfigurationError, InvalidRangeError, InvalidStreamCutError
from aiopravega.names import SegmentId, StreamName

UNBOUNDED_TEXT = "UNBOUNDED"
# Offset that Java clients write for a sealed segment that is to be read, or was read, to its end.
END_OF_SEGMENT = -1
_TEXT_VERSION = "0"
# What Java's GZIPOutputStream writes: no name, no time, operating system "unknown".
_GZIP_HEADER = bytes.fromhex("1f8b08000000000000ff")
_GZIP_WINDOW = 31
_RAW_DEFLATE_WINDOW = -15
# A cut of 100,000 segments has about 4 MB of text; more is an attack or an accident.
_LONGEST_TEXT = 16 * 1024 * 1024
# Error messages quote this many characters of a text that is not a cut.
_LONGEST_SHOWN = 40
_MOST_SHOWN = 8  # segments


def _gzip(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=_RAW_DEFLATE_WINDOW)
    body = compressor.compress(data) + compressor.flush()
    return _GZIP_HEADER + body + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


def _gunzip(data: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=_GZIP_WINDOW)
    plain = inflater.decompress(data, _LONGEST_TEXT)
    if not inflater.eof:
        raise ValueError("cut short, or far too long")
    return plain


@dataclass(frozen=True, slots=True)
class StreamCut:
    """One offset in bytes for each of some segments that together cover the key space of a stream.

    An offset of -1 (`END_OF_SEGMENT`) means the end of a sealed segment. The unbounded cut has no stream and no
    positions: as a start it means the head of the stream, as an end its tail.
    """

    stream: StreamName | None
    positions: Mapping[SegmentId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.stream is None) != (not self.positions):
            raise InvalidStreamCutError("a StreamCut has a stream and at least one position, or neither")
        for segment, offset in self.positions.items():
            if segment.stream != self.stream or offset < END_OF_SEGMENT:
                raise InvalidStreamCutError(f"position {offset} of {segment} cannot be in a StreamCut of {self.stream}")
        # Controllers name the segments in any order. The same cut has one text: texts are compared, too.
        ordered = sorted(self.positions.items(), key=lambda position: position[0].to_int())
        object.__setattr__(self, "positions", MappingProxyType(dict(ordered)))

    def __hash__(self) -> int:
        return hash((self.stream, frozenset(self.positions.items())))

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[StreamName | None, dict[SegmentId, int]]]:
        return self._as_read, (self.stream, dict(self.positions))

    @classmethod
    def _as_read(cls, stream: StreamName | None, positions: dict[SegmentId, int]) -> Self:
        """A cut whose text names the segments in this order, as another client wrote it."""
        made = cls(stream, positions)
        object.__setattr__(made, "positions", MappingProxyType(positions))
        return made

    @classmethod
    def unbounded(cls) -> Self:
        """The cut that stands for the head (as a start) or the tail (as an end)."""
        return cls(None)

    @property
    def is_unbounded(self) -> bool:
        """True if this stands for the head or the tail, at any time."""
        return self.stream is None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the Java client's text form.

        Raises:
            InvalidStreamCutError: the text is not such a form.
        """
        text = text.strip()
        if text == UNBOUNDED_TEXT:
            return cls.unbounded()
        try:
            plain = _gunzip(base64.b64decode(text, validate=True)).decode()
            version, name, *lists = plain.split(":")
            numbers, epochs, offsets = ([int(item) for item in items.split(",")] for items in lists)
            if version != _TEXT_VERSION:
                raise ValueError(f"version {version!r}, but only {_TEXT_VERSION!r} is known")
            stream = StreamName.parse(name)
            triples = zip(numbers, epochs, offsets, strict=True)
            positions = {SegmentId(stream, number, epoch): offset for number, epoch, offset in triples}
        except (ValueError, zlib.error, binascii.Error, ConfigurationError) as error:
            shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
            raise InvalidStreamCutError(
                f"{shown!r} is not the text of a StreamCut ({error}); expected what StreamCut.to_text() or Java's "
                f"asText() gives, or {UNBOUNDED_TEXT}"
            ) from error
        return cls._as_read(stream, positions)

    def to_text(self) -> str:
        """The Java client's text form."""
        if self.stream is None:
            return UNBOUNDED_TEXT
        columns = (
            ",".join(str(segment.number) for segment in self.positions),
            ",".join(str(segment.epoch) for segment in self.positions),
            ",".join(str(offset) for offset in self.positions.values()),
        )
        return base64.b64encode(_gzip(":".join((_TEXT_VERSION, str(self.stream), *columns)).encode())).decode()

    def __str__(self) -> str:
        if self.stream is None:
            return UNBOUNDED_TEXT
        # For people: of a stream with 1,000 segments, lines of logs and errors would have 28 kB.
        shown = [f"{s.number}.#epoch.{s.epoch}: {offset}" for s, offset in islice(self.positions.items(), _MOST_SHOWN)]
        more = len(self.positions) - len(shown)
        return f"{self.stream}{{{', '.join(shown)}{f' and {more:,} segments more' if more else ''}}}"


UNBOUNDED = StreamCut.unbounded()


@dataclass(frozen=True, slots=True)
class StreamCutRange:
    """Two cuts of one stream, the start included and the end excluded. Either may be unbounded.

    Raises:
        InvalidRangeError: the cuts are of two streams, or the end lies before the start in a segment of both.
    """

    start: StreamCut
    end: StreamCut

    def __post_init__(self) -> None:
        if self.start.stream and self.end.stream and self.start.stream != self.end.stream:
            raise InvalidRangeError(f"the range starts in {self.start.stream} but ends in {self.end.stream}")
        for segment, start in self.start.positions.items():
            end = self.end.positions.get(segment, END_OF_SEGMENT)
            if end != END_OF_SEGMENT and (start > end or start == END_OF_SEGMENT):
                raise InvalidRangeError(
                    f"the range ends before it starts: {segment} from {start} to {end}; swap start and end"
                )

    def __str__(self) -> str:
        return f"from {self.start} to {self.end}"

    @property
    def stream(self) -> StreamName | None:
        """The stream of the cuts; None if both are unbounded."""
        return self.start.stream or self.end.stream

    def to_json(self) -> dict[str, str]:
        """Plain JSON for XComs, metadata and ledgers: the texts of both cuts."""
        return {"start": self.start.to_text(), "end": self.end.to_text()}

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> Self:
        """Read what `to_json` gave.

        Raises:
            InvalidStreamCutError: a key is missing, or a text is not a cut.
        """
        try:
            start, end = value["start"], value["end"]
        except (KeyError, TypeError) as error:
            raise InvalidStreamCutError(f"a range is a mapping with the texts 'start' and 'end': {value!r}") from error
        return cls(StreamCut.from_text(start), StreamCut.from_text(end))


@dataclass(frozen=True, slots=True, order=True)
class SegmentRange:
    """A half-open range of bytes in one segment. Offsets are in bytes from the segment's beginning."""

    segment: SegmentId
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes, event headers included."""
        return self.end - self.start
