"""The cuts that positions mean in a stream as it is now; `aiopravega.positions` reads their texts."""

from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.names import StreamName
from aiopravega.positions import NamedCut, Position
from aiopravega.read.calls import RangeCalls


async def find_cut(client: RangeCalls, stream: StreamName, position: Position) -> StreamCut:
    """The cut at a position; the unbounded cut stays unbounded.

    Raises:
        StreamNotFoundError: the stream does not exist.
    """
    match position:
        case NamedCut.HEAD:
            return await client.head(stream)
        case NamedCut.TAIL:
            return await client.tail(stream)
        case StreamCut():
            return position


async def find_range(
    client: RangeCalls, stream: StreamName, start: Position = UNBOUNDED, end: Position = UNBOUNDED
) -> StreamCutRange:
    """The range between two positions, with both ends fixed; the same name means the same cut at both ends.

    Raises:
        StreamNotFoundError: the stream does not exist.
        InvalidStreamCutError: a cut is of another stream.
        InvalidRangeError: the end lies before the start.
    """
    first = await find_cut(client, stream, start)
    last = first if end == start else await find_cut(client, stream, end)
    return await client.resolve(StreamCutRange(first, last), stream)
