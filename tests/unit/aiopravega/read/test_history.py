"""How cuts lie to each other in simulated streams of random scalings: the answers are those of the sets of bytes."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.cuts import END_OF_SEGMENT
from aiopravega.errors import InvalidStreamCutError, StreamTruncatedError
from aiopravega.read.history import History, Order

STREAM = StreamName("scope", "stream")
KEYS = 8
Passed = dict[SegmentId, int]


class Simulated:
    """A stream with all its history: what each segment replaced, the keys that it has, how long it has become."""

    def __init__(self) -> None:
        self.keys: dict[SegmentId, range] = {}
        self.replaced: dict[SegmentId, list[SegmentId]] = {}
        self.lengths: dict[SegmentId, int] = {}
        self.sealed: set[SegmentId] = set()
        self.epoch = 0

    def add(self, keys: range, replaced: Sequence[SegmentId] = (), length: int = 0) -> SegmentId:
        segment = SegmentId(STREAM, len(self.keys), self.epoch)
        self.keys[segment] = keys
        self.replaced[segment] = [each for each in replaced if set(self.keys[each]) & set(keys)]
        self.lengths[segment] = length
        return segment

    @property
    def history(self) -> History:
        return History(STREAM, self.replaced, {segment: self.lengths[segment] for segment in self.sealed})

    def passed(self, cut: StreamCut) -> Passed:
        """By its definition: what the cut has, and all of what that replaced."""
        found = dict.fromkeys(self.keys, 0)
        waiting = list(cut.positions)
        for segment, offset in cut.positions.items():
            found[segment] = self.lengths[segment] if offset == END_OF_SEGMENT else offset
        while waiting:
            for each in self.replaced[waiting.pop()]:
                found[each] = self.lengths[each]
                waiting.append(each)
        return found

    def covers_every_key_once(self, cut: StreamCut) -> bool:
        return sorted(key for segment in cut.positions for key in self.keys[segment]) == list(range(KEYS))


LENGTHS = st.integers(0, 3)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Simulated, list[StreamCut]]:
    """A stream that was scaled a few times, and three cuts of it that somebody may have made."""
    stream = Simulated()
    edges = [0, *sorted(draw(st.sets(st.integers(1, KEYS - 1), max_size=4))), KEYS]
    current = [stream.add(range(low, high), length=draw(LENGTHS)) for low, high in pairwise(edges)]
    stages = [list(current)]
    for stream.epoch in range(1, draw(st.integers(1, 5))):
        first = draw(st.integers(0, len(current) - 1))
        old = current[first : draw(st.integers(first, len(current) - 1)) + 1]
        low, high = stream.keys[old[0]].start, stream.keys[old[-1]].stop
        inner = draw(st.sets(st.integers(low, high), max_size=3)) - {low, high}
        new = [stream.add(range(*ends), old, draw(LENGTHS)) for ends in pairwise([low, *sorted(inner), high])]
        stream.sealed.update(old)
        current[first : first + len(old)] = new
        stages.append(list(current))

    def cut() -> StreamCut:
        positions = {}
        for segment in draw(st.sampled_from(stages)):
            offset = draw(st.integers(0, stream.lengths[segment]))
            at_end = segment in stream.sealed and offset == stream.lengths[segment]
            positions[segment] = END_OF_SEGMENT if at_end and draw(st.booleans()) else offset
        return StreamCut(STREAM, positions)

    return stream, [cut() for _ in range(3)]


def least(some: Passed, others: Passed) -> Passed:
    return {segment: min(some[segment], others[segment]) for segment in some}


def most(some: Passed, others: Passed) -> Passed:
    return {segment: max(some[segment], others[segment]) for segment in some}


@given(streams())
def test_the_order_of_cuts_is_that_of_the_bytes_before_them(made):
    stream, (one, other, _) = made
    mine, others = stream.passed(one), stream.passed(other)

    order = stream.history.compare(one, other)

    if mine == others:
        assert order is Order.SAME
    elif least(mine, others) == mine:
        assert order is Order.BEFORE
    elif least(mine, others) == others:
        assert order is Order.AFTER
    else:
        assert order is Order.INCOMPARABLE
    reverse = {Order.BEFORE: Order.AFTER, Order.AFTER: Order.BEFORE}
    assert stream.history.compare(other, one) is reverse.get(order, order)
    assert stream.history.compare(one, one) is Order.SAME


@settings(max_examples=500)
@given(streams())
def test_the_earliest_of_cuts_has_the_bytes_of_all_the_latest_of_any(made):
    stream, (one, other, _) = made
    earliest, latest = stream.history.earliest([one, other]), stream.history.latest([one, other])

    assert stream.passed(earliest) == least(stream.passed(one), stream.passed(other))
    assert stream.passed(latest) == most(stream.passed(one), stream.passed(other))
    for each in (earliest, latest):
        assert stream.covers_every_key_once(each)
    for each in (one, other):
        assert stream.history.compare(earliest, each) in (Order.BEFORE, Order.SAME)
        assert stream.history.compare(latest, each) in (Order.AFTER, Order.SAME)


@given(streams())
def test_a_lattice_is_distributive(made):
    stream, (one, other, third) = made
    history = stream.history

    left = history.earliest([one, history.latest([other, third])])
    right = history.latest([history.earliest([one, other]), history.earliest([one, third])])

    assert history.compare(left, right) is Order.SAME


@given(streams())
def test_sizes_of_parts_add_up(made):
    stream, (one, other, third) = made
    history = stream.history
    start, end = history.earliest([one, other]), history.latest([one, other])
    middle = history.latest([start, history.earliest([third, end])])

    size = history.size(start, end)

    assert size == sum(stream.passed(end).values()) - sum(stream.passed(start).values())
    assert size == history.size(start, middle) + history.size(middle, end)


@pytest.fixture
def halves() -> tuple[History, Callable[..., StreamCut]]:
    """Segments 0 and 1, replaced by 2, 3 and 4, of which 3 has keys of both; cuts by the segments' numbers."""
    stream = Simulated()
    old = [stream.add(range(4), length=5), stream.add(range(4, 8), length=5)]
    stream.epoch = 1
    for keys in (range(2), range(2, 6), range(6, 8)):
        stream.add(keys, old)
    stream.sealed.update(old)
    names = list(stream.keys)
    return stream.history, lambda positions: StreamCut(STREAM, {names[n]: at for n, at in positions.items()})


def test_a_merged_segment_enters_a_cut_when_all_it_replaced_are_read(halves):
    history, cut = halves

    assert history.earliest([cut({2: 1, 3: 1, 4: 1}), cut({0: 5, 1: 4})]) == cut({0: 5, 1: 4})
    assert history.latest([cut({0: 5, 1: 3}), cut({0: 3, 1: 5})]) == cut({2: 0, 3: 0, 4: 0})


def test_a_cut_of_javas_readers_that_is_ahead_in_one_half_stays_as_it_is(halves):
    history, cut = halves
    ahead = cut({2: 3, 1: 2})

    assert history.compare(ahead, cut({0: 5, 1: 2})) is Order.AFTER
    assert history.latest([ahead, cut({0: 5, 1: 1})]) == ahead
    assert history.compare(ahead, cut({2: 0, 3: 0, 4: 0})) is Order.INCOMPARABLE
    assert history.size(cut({0: 1, 1: 0}), ahead) == 4 + 3 + 2


def test_the_end_of_a_segment_can_be_said_in_two_ways(halves):
    history, cut = halves

    assert history.compare(cut({0: -1, 1: 2}), cut({0: 5, 1: 2})) is Order.SAME
    assert history.compare(cut({0: -1, 1: 5}), cut({2: 0, 3: 0, 4: 0})) is Order.SAME


def test_a_cut_in_a_segment_and_in_what_replaced_it_is_refused(halves):
    history, cut = halves

    with pytest.raises(InvalidStreamCutError, match="such a StreamCut is not valid"):
        history.compare(cut({0: 3, 1: 5, 3: 1}), cut({0: 0, 1: 0}))


def test_the_length_of_what_retention_removed_is_not_guessed():
    first, second = SegmentId(STREAM, 0, 0), SegmentId(STREAM, 1, 1)
    history = History(STREAM, {first: [], second: [first]}, {})
    start, end = StreamCut(STREAM, {first: 3}), StreamCut(STREAM, {second: 2})

    assert history.compare(start, end) is Order.BEFORE
    with pytest.raises(StreamTruncatedError, match="Clip the range"):
        history.size(start, end)
