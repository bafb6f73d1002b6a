"""The client's calls about cuts, ranges and the events in them: a part of `aiopravega.client.PravegaClient`."""

from collections.abc import AsyncGenerator, Mapping

from aiopravega.control import Controller
from aiopravega.cuts import UNBOUNDED, SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.positions import NamedCut, Position, parse_position
from aiopravega.read.advance import Advancer
from aiopravega.read.arithmetic import Arithmetic
from aiopravega.read.events import Event, read_ranges
from aiopravega.read.follow import Follower
from aiopravega.read.history import Order
from aiopravega.read.parts import Divider
from aiopravega.read.plan import Planner
from aiopravega.read.split import Splitter
from aiopravega.store import SegmentStore
from aiopravega.stream_argument import takes_stream


class RangeCalls:
    """Part of `PravegaClient`. `arithmetic` answers many questions about one stream with few calls."""

    controller: Controller
    store: SegmentStore

    def __init__(self, controller: Controller, store: SegmentStore) -> None:
        self.controller = controller
        self.store = store
        self._planner = Planner(controller, store)
        self._splitter = Splitter(store)
        self.arithmetic = Arithmetic(controller, store, self._planner)

    @takes_stream
    async def head(self, stream: StreamName | str) -> StreamCut:
        """The first cut that can still be read."""
        return await self._planner.head(StreamName.of(stream))

    @takes_stream
    async def tail(self, stream: StreamName | str) -> StreamCut:
        """The cut after the last event that is written now."""
        return await self._planner.tail(StreamName.of(stream))

    async def resolve(self, wanted: StreamCutRange, stream: StreamName | None = None) -> StreamCutRange:
        """Replace unbounded ends of a range by head and tail; `stream` is needed when both ends are unbounded."""
        return await self._planner.resolve(wanted, stream)

    async def plan(self, wanted: StreamCutRange, stream: StreamName | None = None) -> list[SegmentRange]:
        """The ranges of bytes between two cuts, checked against the stream; see `aiopravega.read.plan`."""
        return await self._planner.plan(wanted, stream)

    async def split(
        self,
        wanted: StreamCutRange,
        parts: int | None = None,
        stream: StreamName | None = None,
        *,
        max_bytes: int | None = None,
    ) -> list[StreamCutRange]:
        """Up to `parts` ranges of about equal size that together are this range, with ends between events.

        Or as many as needed for each to have about `max_bytes` (event headers included) or less. Read one after another
        they give the events of each routing key in the order of their writing. There are fewer ranges if the range is
        small, or if it is not certain where an event starts.
        """
        if (parts is None) == (max_bytes is None):
            raise ConfigurationError("a range is split into `parts`, or into parts of `max_bytes`: give one of the two")
        resolved = await self._planner.resolve(wanted, stream)
        divider = Divider(self.controller, self._planner, self._splitter)
        if max_bytes is not None:
            return await divider.divide_by_size(resolved, max_bytes)
        return await divider.divide(resolved, parts or 0)

    async def split_segments(self, wanted: Mapping[SegmentRange, int]) -> list[SegmentRange]:
        """Split each range of a segment into so many parts, as `split` does, or fewer; they stay in order."""
        return await self._splitter.split(wanted)

    async def next_cut(self, start: StreamCut, max_bytes: int, end: StreamCut | None = None) -> StreamCut:
        """A cut between events about `max_bytes` ahead of `start`, but not beyond `end` (None: the tail).

        See `aiopravega.read.advance.Advancer.next_cut`.
        """
        return await Advancer(self.controller, self.store, self._planner, self._splitter).next_cut(
            start, max_bytes, end
        )

    async def distance(self, start: StreamCut, end: StreamCut) -> int:
        """Bytes between two cuts, event headers included, across scalings."""
        return sum(part.size for part in await self.plan(StreamCutRange(start, end)))

    async def compare(self, one: StreamCut, other: StreamCut) -> Order:
        """The order of two cuts: `one` is before `other`, equal to it, after it, or neither; across scalings."""
        return await self.arithmetic.compare(one, other)

    async def overlaps(self, one: StreamCutRange, other: StreamCutRange) -> bool:
        """True if any bytes lie in both ranges."""
        return await self.arithmetic.intersection(one, other) is not None

    async def intersection(self, one: StreamCutRange, other: StreamCutRange) -> StreamCutRange | None:
        """The range of all that lies in both ranges; None if nothing does."""
        return await self.arithmetic.intersection(one, other)

    async def union(self, one: StreamCutRange, other: StreamCutRange) -> StreamCutRange:
        """The range of all that lies in at least one of two ranges; there must be no gap between them."""
        return await self.arithmetic.union(one, other)

    async def clip(self, wanted: StreamCutRange, stream: StreamName | None = None) -> StreamCutRange:
        """The part of a range that retention has left; an empty range at the stream's head if it has left nothing."""
        return await self.arithmetic.clip(wanted, stream)

    async def read(self, wanted: StreamCutRange, stream: StreamName | None = None) -> AsyncGenerator[Event, None]:
        """The events of a range; events of one routing key come in the order of their writing.

        A caller that stops early closes it, as `contextlib.aclosing` does: this drops the bytes that it has requested
        ahead.
        """
        async for event in read_ranges(self.store, await self.plan(wanted, stream)):
            yield event

    @takes_stream
    def follow(self, stream: StreamName | str, *, since: Position | str) -> Follower:
        """The events of a stream from a cut on, and those that are written later, until the stream is sealed.

        The reader is used with `async for`. Its `cut` is after the last event that it gave, and `batch` gives all
        events that have come. Use it with `async with`: at the end its open requests are dropped.

        Args:
            stream: a StreamName, or a text `scope/stream`.
            since: a cut, such as the `cut` of an earlier reader, or its text; `earliest` or `latest`.

        Raises:
            InvalidStreamCutError: the text is neither a name nor a cut; or the cut is of another stream.
            InvalidRangeError: while it reads: the cut lies beyond the tail.
            StreamTruncatedError: while it reads: retention or a truncation removed events that it has not given.
            StreamMadeAgainError: while it reads: the stream was deleted and made again.
            StreamNotFoundError: while it reads: the stream does not exist, or was deleted.
        """
        name = StreamName.of(stream)
        position = parse_position(since, name) if isinstance(since, str) else since
        return Follower(self.controller, self.store, self._planner, name, position)


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
