"""Ranges that jobs read: fixed, checked against the stream and measured before anything expensive is started."""

from dataclasses import dataclass

from aiopravega.client import PravegaClient
from aiopravega.cuts import UNBOUNDED, SegmentRange, StreamCutRange
from aiopravega.names import StreamName
from aiopravega.positions import Position
from aiopravega.read.positions import find_range


@dataclass(frozen=True, slots=True)
class FixedRange:
    """A range that can be read now, in the order in which its segments are read."""

    cuts: StreamCutRange
    parts: tuple[SegmentRange, ...]

    @property
    def size(self) -> int:
        """Bytes, event headers included."""
        return sum(part.size for part in self.parts)


async def fix_range(
    client: PravegaClient, stream: StreamName, start: Position = UNBOUNDED, end: Position = UNBOUNDED
) -> FixedRange:
    """The range between two positions; by default the whole stream as it is now.

    Raises:
        StreamNotFoundError: the stream does not exist.
        StreamTruncatedError: retention or a truncation removed a part of the range.
        InvalidRangeError: the end lies before the start, or beyond the tail.
        InvalidStreamCutError: a cut is of another stream, or does not fit the stream's segments.
    """
    cuts = await find_range(client, stream, start, end)
    return FixedRange(cuts, tuple(await client.plan(cuts, stream)))
