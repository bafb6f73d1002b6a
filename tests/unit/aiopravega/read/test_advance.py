"""Steps through simulated streams: whatever was scaled and sealed, every byte lies in one step, and all steps end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.control import Successor
from aiopravega.cuts import SegmentRange
from aiopravega.read.advance import Advance

STREAM = StreamName("scope", "stream")


@dataclass
class Segment:
    """A segment of a simulated stream: its part of the key space, and the ends of its events."""

    name: SegmentId
    low: float
    high: float
    ends: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.ends[-1] if self.ends else 0


@dataclass
class Stream:
    """A stream with all its history; `current` are the segments of the last epoch."""

    segments: dict[SegmentId, Segment] = field(default_factory=dict)
    successors: dict[SegmentId, list[Successor]] = field(default_factory=dict)
    current: list[SegmentId] = field(default_factory=list)

    def add(self, epoch: int, low: float, high: float) -> SegmentId:
        name = SegmentId(STREAM, len(self.segments), epoch)
        self.segments[name] = Segment(name, low, high)
        self.current.append(name)
        return name

    def scale(self, epoch: int, sealed: Sequence[SegmentId], edges: Sequence[float]) -> None:
        for each in sealed:
            self.current.remove(each)
        for low, high in pairwise(edges):
            made = self.add(epoch, low, high)
            before = [s for s in sealed if self.segments[s].low < high and low < self.segments[s].high]
            for each in before:
                self.successors.setdefault(each, []).append(Successor(made, low, high, tuple(before)))

    def write(self, segment: SegmentId, sizes: Sequence[int]) -> None:
        ends = self.segments[segment].ends
        for size in sizes:
            ends.append((ends[-1] if ends else 0) + 8 + size)

    @property
    def tail(self) -> StreamCut:
        return StreamCut(STREAM, {s: self.segments[s].length for s in self.current})

    async def next_cut(self, start: StreamCut, max_bytes: int, end: StreamCut) -> StreamCut:
        async def part_of(segment: SegmentId) -> SegmentRange:
            length = self.segments[segment].length
            return SegmentRange(segment, start.positions.get(segment, 0), end.positions.get(segment, length))

        async def successors(segment: SegmentId) -> Sequence[Successor]:
            return self.successors.get(segment, [])

        step = Advance(StreamCutRange(start, end), part_of, successors, self)
        return StreamCut(STREAM, await step.advance(max_bytes))

    async def event_start(self, part: SegmentRange, target: int) -> int:
        """As `EventStarts` wants it: every event is known."""
        ends = [end for end in self.segments[part.segment].ends if end > part.start]
        return max((end for end in ends if end <= target), default=ends[0])

    def passed(self, cut: StreamCut) -> dict[SegmentId, int]:
        """How many bytes of every segment lie before a cut."""
        found = dict.fromkeys(self.segments, 0)
        found.update(cut.positions)
        waiting = list(cut.positions)
        while waiting:
            segment = waiting.pop()
            for before, after in self.successors.items():
                if any(successor.segment == segment for successor in after):
                    found[before] = self.segments[before].length
                    waiting.append(before)
        return found

    def covers_every_key_once(self, cut: StreamCut) -> bool:
        ranges = sorted((self.segments[s].low, self.segments[s].high) for s in cut.positions)
        return ranges[0][0] == 0 and ranges[-1][1] == 1 and all(a[1] == b[0] for a, b in pairwise(ranges))


SIZES = st.lists(st.integers(0, 40), max_size=4)
EDGES = st.sets(st.integers(1, 7), max_size=4)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Stream, StreamCut, StreamCut]:
    """A stream that was scaled a few times, its head, and a tail it once had."""
    stream = Stream()
    inner = sorted(draw(EDGES))
    for low, high in pairwise([0, *inner, 8]):
        stream.add(0, low / 8, high / 8)
    head, end = stream.tail, None
    for epoch in range(1, draw(st.integers(1, 4))):
        for segment in stream.current:
            stream.write(segment, draw(SIZES))
        if end is None and draw(st.booleans()):
            end = stream.tail
        ordered = sorted(stream.current, key=lambda s: stream.segments[s].low)
        first = draw(st.integers(0, len(ordered) - 1))
        last = draw(st.integers(first, len(ordered) - 1))
        left, right = stream.segments[ordered[first]].low, stream.segments[ordered[last]].high
        inner = sorted(draw(st.sets(st.integers(1, 5), max_size=3)))
        edges = [left, *(left + (right - left) * index / 6 for index in inner), right]
        stream.scale(epoch, ordered[first : last + 1], edges)
    for segment in stream.current:
        stream.write(segment, draw(SIZES))
    return stream, head, end or stream.tail


@given(streams(), st.integers(1, 200))
async def test_steps_lead_from_the_head_to_the_end_without_a_gap(made, max_bytes):
    stream, head, end = made
    cut = head
    while cut != end:
        following = await stream.next_cut(cut, max_bytes, end)
        assert stream.covers_every_key_once(following)
        before, after = stream.passed(cut), stream.passed(following)
        assert all(before[segment] <= after[segment] for segment in stream.segments)
        assert following != cut
        assert all(offset in (0, *stream.segments[s].ends) for s, offset in following.positions.items())
        longer = [s for s in stream.segments if after[s] - before[s] > max_bytes]
        # A step exceeds what was asked for by single events only.
        assert all(_is_one_event(stream.segments[s], before[s], after[s]) for s in longer)
        cut = following
    assert await stream.next_cut(cut, max_bytes, end) == end


def _is_one_event(segment: Segment, start: int, end: int) -> bool:
    return not any(start < each < end for each in segment.ends)


async def test_segments_advance_alike():
    stream = Stream()
    names = [stream.add(0, index / 4, (index + 1) / 4) for index in range(4)]
    head = stream.tail
    for name in names:
        stream.write(name, [2] * 100)

    cut = await stream.next_cut(head, 400, stream.tail)

    assert cut.positions == dict.fromkeys(names, 100)


async def test_a_short_segment_leaves_its_share_to_the_others():
    stream = Stream()
    short, long = stream.add(0, 0, 0.5), stream.add(0, 0.5, 1)
    head = stream.tail
    stream.write(short, [2])
    stream.write(long, [2] * 100)

    cut = await stream.next_cut(head, 400, stream.tail)

    assert cut.positions == {short: 10, long: 390}


async def test_an_event_longer_than_the_limit_is_a_step_of_its_own():
    stream = Stream()
    segment = stream.add(0, 0, 1)
    head = stream.tail
    stream.write(segment, [1000, 1000])

    cut = await stream.next_cut(head, 1, stream.tail)

    assert cut.positions == {segment: 1008}


async def test_what_replaced_several_segments_waits_for_all_of_them():
    stream = Stream()
    first, second = stream.add(0, 0, 0.5), stream.add(0, 0.5, 1)
    head = stream.tail
    stream.write(first, [2])
    stream.write(second, [2] * 10)
    stream.scale(1, [first, second], [0, 0.25, 0.75, 1])
    for segment in stream.current:
        stream.write(segment, [2] * 10)

    steps = [await stream.next_cut(head, 60, stream.tail)]
    steps.append(await stream.next_cut(steps[-1], 60, stream.tail))

    assert steps[0].positions == {first: 10, second: 50}
    assert steps[1].positions == dict.fromkeys(stream.current, 10)


async def test_what_replaces_a_segment_that_has_not_come_yet_waits_for_it():
    stream = Stream()
    first, second = stream.add(0, 0, 0.5), stream.add(0, 0.5, 1)
    head = stream.tail
    stream.write(first, [2] * 10)
    stream.scale(1, [first], [0, 0.5])
    (third,) = [segment for segment in stream.current if segment != second]
    stream.write(third, [2])
    stream.scale(2, [third, second], [0, 1])

    cut = await stream.next_cut(head, 40, stream.tail)

    assert cut.positions == {first: 40, second: 0}


async def test_a_cut_of_another_reader_may_be_ahead_in_one_half():
    stream = Stream()
    first, second = stream.add(0, 0, 0.5), stream.add(0, 0.5, 1)
    stream.write(second, [2])
    stream.scale(1, [first, second], [0, 0.25, 0.75, 1])
    low, middle, high = stream.current
    for segment in stream.current:
        stream.write(segment, [2])

    cut = await stream.next_cut(StreamCut(STREAM, {low: 10, second: 0}), 1000, stream.tail)

    assert cut.positions == {low: 10, middle: 10, high: 10}
