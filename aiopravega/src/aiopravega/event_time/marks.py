"""A stream's watermarks: marks that the controller writes into an internal stream, `_MARK` and the stream's name.

A mark has a lower and an upper time and a position for each of some segments that cover the key space. The times are
the least and the greatest that its active writers had noted, in whatever unit they use; the positions are the maximum
of their positions. So, if writers are honest, events *after* a mark's positions have a time of at least its lower one.
A mark promises nothing more: events before the positions may be newer than lower, and even than upper.

Layout and rules: `Watermark` and `PeriodicWatermarking` in Pravega's controller. `aiopravega.event_time.log` finds the
marks of a stream.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from aiopravega.cuts import END_OF_SEGMENT, StreamCut
from aiopravega.errors import ProtocolError
from aiopravega.names import SegmentId, StreamName

# Version 0, revision 0 of a record of Pravega's serializer: version, number of revisions, length of the first one.
REVISION: Final = b"\x00\x00\x01\x00"
RECORD: Final = struct.Struct(">4si")
_TIMES: Final = struct.Struct(">qq")
_ENTRY: Final = struct.Struct(">4siqddq")
# The record of the segment with its key range; the offset follows the record.
_ENTRY_LENGTH: Final = 24
# A compact int has 1, 2 or 4 bytes, as its first two bits say; these are the bits of its value.
_COMPACT: Final[Mapping[int, tuple[int, int]]] = {0: (1, 0x7F), 1: (1, 0x7F), 2: (2, 0x3FFF), 3: (4, 0x3FFF_FFFF)}


@dataclass(frozen=True, slots=True)
class Watermark:
    """One mark: events after its positions have a time of at least `lower`, if the writers are honest.

    `lower` and `upper` are the least and the greatest time that the active writers had noted.
    """

    lower: int
    upper: int
    positions: Mapping[SegmentId, int]

    @property
    def cut(self) -> StreamCut:
        """Its positions."""
        return StreamCut(next(iter(self.positions)).stream, self.positions)

    @classmethod
    def parse(cls, data: bytes | memoryview, stream: StreamName) -> Self:
        """Read an event of a mark stream.

        Raises:
            ProtocolError: it is not a mark.
        """
        try:
            revision, length = RECORD.unpack_from(data)
            lower, upper = _TIMES.unpack_from(data, RECORD.size)
            count, at = _compact_int(data, RECORD.size + _TIMES.size)
            if revision != REVISION or len(data) != RECORD.size + length or len(data) != at + count * _ENTRY.size:
                raise ValueError("its lengths do not fit")
            positions = {}
            for revision, length, segment, _, _, offset in _ENTRY.iter_unpack(memoryview(data)[at:]):
                if revision != REVISION or length != _ENTRY_LENGTH:
                    raise ValueError("a position is not valid")
                positions[SegmentId.from_int(stream, segment)] = offset
        except (struct.error, ValueError, IndexError) as error:
            raise ProtocolError(
                f"{bytes(data[:32]).hex()}… in the marks of {stream} is not a watermark: {error}"
            ) from error
        return cls(lower, upper, positions)

    def is_before(self, cut: StreamCut) -> bool:
        """True if all that lies after a cut surely lies after this mark's positions."""
        newest = max((segment.epoch for segment in self.positions), default=0)
        for segment, offset in cut.positions.items():
            marked = self.positions.get(segment)
            if marked is None:
                # Made after all segments of the mark: a successor of one of them. For other segments the order is not
                # known.
                if segment.epoch <= newest:
                    return False
            elif END_OF_SEGMENT != offset < marked:
                return False
        return True

    def is_behind(self, cut: StreamCut) -> bool:
        """True if all that lies before a cut surely lies before this mark's positions."""
        oldest = min((segment.epoch for segment in self.positions), default=0)
        for segment, offset in cut.positions.items():
            marked = self.positions.get(segment)
            if marked is None:
                if segment.epoch >= oldest:
                    return False
            elif offset == END_OF_SEGMENT or offset > marked:
                return False
        return True


def _compact_int(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number and where it ends. Source: `RevisionDataOutput.writeCompactInt`."""
    size, mask = _COMPACT[data[at] >> 6]
    return int.from_bytes(data[at : at + size]) & mask, at + size
