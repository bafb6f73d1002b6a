"""StreamCuts and checkpoints as Java programs store them: `StreamCut.toBytes()` and `Checkpoint.toBytes()`.

The text of a cut is in `aiopravega.cuts`. Flink's savepoints hold the bytes of a checkpoint.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from aiopravega.cuts import UNBOUNDED, StreamCut
from aiopravega.errors import InvalidStreamCutError, ReaderGroupStateError
from aiopravega.groups import output
from aiopravega.groups.fields import JavaFields
from aiopravega.names import SegmentId, StreamName

# Version 0 has no negative offsets, so it cannot say "the end of the segment".
_UNSIGNED = 0
_SIGNED = 1


def cut_from_bytes(data: bytes | memoryview) -> StreamCut:
    """Read `StreamCut.toBytes()`; no bytes are the unbounded cut.

    Raises:
        ReaderGroupStateError: the bytes are not a cut, or one of a newer Pravega.
    """
    return read_cut(JavaFields(data)) if len(data) else UNBOUNDED


def cut_to_bytes(cut: StreamCut) -> bytes:
    """The bytes for Java's `StreamCut.fromBytes`."""
    if cut.stream is None:
        return b""
    positions = output.mapping(cut.positions, lambda one: output.compact_long(one.to_int()), output.signed_long)
    return output.record(output.stream(cut.stream) + positions, version=_SIGNED)


def read_cut(fields: JavaFields) -> StreamCut:
    """Read a cut in front of other fields.

    Raises:
        ReaderGroupStateError: the bytes are not a cut, or one of a newer Pravega.
    """
    version, (content, *_) = fields.revisions("a StreamCut", (_UNSIGNED, _SIGNED))
    stream = content.stream()
    offset = JavaFields.compact_long if version == _UNSIGNED else JavaFields.signed_long
    positions = content.mapping(lambda each: SegmentId.from_int(stream, each.compact_long()), offset)
    return checked_cut(stream, positions)


def checked_cut(stream: StreamName, positions: Mapping[SegmentId, int]) -> StreamCut:
    """A cut of positions that were read from bytes.

    Raises:
        ReaderGroupStateError: the positions cannot be a cut.
    """
    try:
        return StreamCut(stream, positions)
    except InvalidStreamCutError as error:
        raise ReaderGroupStateError(f"the positions in {stream} are not a StreamCut: {error}") from error


@dataclass(frozen=True, slots=True)
class JavaCheckpoint:
    """A checkpoint of a group as Java programs and Flink's savepoints store it: its name, a cut for each stream."""

    name: str
    cuts: Mapping[StreamName, StreamCut]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", MappingProxyType(dict(self.cuts)))

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        """Read `Checkpoint.toBytes()`.

        Raises:
            ReaderGroupStateError: the bytes are not a checkpoint, or one of a newer Pravega.
        """
        _, (content, *_) = JavaFields(data).revisions("a checkpoint")
        name = content.text()
        cuts = content.mapping(JavaFields.stream, read_cut)
        for stream, cut in cuts.items():
            if cut.stream != stream:
                raise ReaderGroupStateError(f"checkpoint {name!r} has a cut of {cut.stream} for {stream}")
        return cls(name, cuts)

    def to_bytes(self) -> bytes:
        """The bytes for Java's `Checkpoint.fromBytes`."""
        return output.record(output.text(self.name) + output.mapping(self.cuts, output.stream, cut_to_bytes))
