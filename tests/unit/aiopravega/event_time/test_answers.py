"""What times become, proved on simulated streams with late writers, scalings, and events out of order."""

import asyncio
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.unit.aiopravega.event_time.simulation import FIRST_TIME, STREAM, ListedMarks, World

from aiopravega import SegmentId, StreamCut
from aiopravega.errors import BeforeHistoryError, NotYetError
from aiopravega.event_time import CutAt, Reach, Watermark
from aiopravega.event_time.answers import answer, first_later, passed_mark

WORLDS = st.builds(World, st.integers(0, 2**32), st.sampled_from([0, 0, 3, 25]))
EXAMPLES = 1000


def read(world: World, start: int, end: int) -> list[int] | None:
    """The times in the range for an interval; None if it is not complete yet."""
    marks = ListedMarks(world.marks)
    _, behind = asyncio.run(marks.search(lambda mark: mark.lower < end))
    if behind is None:
        return None
    passed = asyncio.run(passed_mark(marks, start, world.ahead))
    event("starts at a mark" if passed else "starts at the head")
    return world.times_between(passed, behind)


@settings(max_examples=EXAMPLES)
@given(WORLDS, st.integers(0, 400), st.integers(1, 60))
def test_a_range_holds_every_event_of_its_interval(world, offset, length):
    start = FIRST_TIME + offset
    interval = range(start, start + length)

    found = read(world, start, start + length)

    if found is not None:
        everything = [time for times in world.events.values() for time in times]
        assert Counter(time for time in found if time in interval) == Counter(t for t in everything if t in interval)


@settings(max_examples=EXAMPLES)
@given(WORLDS, st.lists(st.integers(0, 400), min_size=2, max_size=8, unique=True))
def test_neighbours_that_filter_share_no_event_and_miss_none(world, edges):
    edges = sorted(FIRST_TIME + edge for edge in edges)
    intervals = [range(start, end) for start, end in pairwise(edges)]

    shares = [read(world, interval.start, interval.stop) for interval in intervals]

    complete = [interval for interval, share in zip(intervals, shares, strict=True) if share is not None]
    assert complete == intervals[: len(complete)]
    together = Counter(
        time for share, interval in zip(shares, complete, strict=False) for time in share or () if time in interval
    )
    everything = (time for times in world.events.values() for time in times)
    assert together == Counter(
        time for time in everything if complete and complete[0].start <= time < complete[-1].stop
    )


@settings(max_examples=EXAMPLES)
@given(WORLDS)
def test_no_event_after_a_mark_is_older_than_its_lower_time(world):
    for mark in world.marks:
        behind = Counter(t for times in world.events.values() for t in times) - Counter(world.times_between(None, mark))
        assert all(time >= mark.lower for time in behind)


@settings(max_examples=EXAMPLES)
@given(WORLDS, st.data())
def test_all_events_before_a_cut_are_earlier_than_its_first_later_time(world, data):
    if not world.marks:
        return
    mark = data.draw(st.sampled_from(world.marks))
    later = asyncio.run(first_later(ListedMarks(world.marks), mark.cut, world.ahead))
    event("is known" if later is not None else "is not known")
    if later is not None:
        assert all(time < later for time in world.times_between(None, mark))


def test_simulated_streams_often_begin_ranges_at_marks():
    worlds = [World(seed, 0) for seed in range(300)]
    passed = [asyncio.run(passed_mark(ListedMarks(world.marks), FIRST_TIME + 60, 0)) for world in worlds]

    assert sum(mark is not None for mark in passed) > 50


def test_the_last_mark_of_an_earlier_upper_time_may_be_after_an_event():
    """Why a range starts some marks before its interval."""
    missed = 0
    for world in (World(seed, 0) for seed in range(300)):
        for start in range(FIRST_TIME, FIRST_TIME + 200, 10):
            before = [mark for mark in world.marks if mark.upper < start]
            missed += any(time >= start for mark in before[-1:] for time in world.times_between(None, mark))
    assert missed > 0


FIRST, LATER = (Watermark(lower, lower + 5, {SegmentId(STREAM, 0, 0): lower}) for lower in (10, 20))
TAIL = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 99})


def test_a_time_between_marks_is_complete_at_the_later_one():
    assert answer(15, FIRST, LATER, None) == CutAt(15, Reach.COMPLETE, LATER.cut, 20, 25)
    assert answer(20, FIRST, LATER, None) == CutAt(20, Reach.COMPLETE, LATER.cut, 20, 25)
    assert answer(10, None, FIRST, None) == CutAt(10, Reach.COMPLETE, FIRST.cut, 10, 15)


def test_a_time_after_the_last_mark_is_not_complete_yet():
    found = answer(21, LATER, None, None)

    assert found == CutAt(21, Reach.NOT_YET, None, 20, 25)
    with pytest.raises(NotYetError, match="not complete up to event time 21 yet: its last watermark is at 20"):
        found.required()


def test_a_time_before_the_first_mark_is_before_the_history():
    found = answer(9, None, FIRST, None)

    assert found == CutAt(9, Reach.BEFORE_HISTORY, None, 10, 15)
    with pytest.raises(BeforeHistoryError, match="time 9 is before the first watermark of the stream, which is at 10"):
        found.required()


def test_a_sealed_stream_is_complete_at_its_end():
    assert answer(21, LATER, None, TAIL) == CutAt(21, Reach.COMPLETE, TAIL, None, None)
    assert answer(21, LATER, None, TAIL).required() == TAIL
