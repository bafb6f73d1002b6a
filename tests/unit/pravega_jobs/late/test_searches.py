"""Searches for late events on simulated streams, killed at any step: each event is counted once, and none is lost."""

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import LedgerError
from aiopravega.ledger import CutRecord, Interval, IntervalState
from aiopravega.names import SegmentId
from aiopravega.read.history import History
from pravega_jobs.late.counting import LateCounter, layers_of
from pravega_jobs.late.records import Changes, LateRecord, SearchRecord, SearchState, runs_of
from pravega_jobs.late.searches import ClaimedInterval, Search, beginnings

STREAM = StreamName("scope", "stream")
OLD, NEW, OTHER = SegmentId(STREAM, 0, 0), SegmentId(STREAM, 1, 1), SegmentId(STREAM, 2, 1)
LENGTH = 100  # bytes of the first segment, which two others replaced
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
HISTORY = History(STREAM, {OLD: (), NEW: (OLD,), OTHER: (OLD,)}, {OLD: LENGTH})


def hour(number: float) -> datetime:
    return NEW_YEAR + timedelta(hours=number)


def claims(since: int, until: int, *ends: StreamCut, state: IntervalState = IntervalState.DONE) -> ClaimedInterval:
    interval = Interval("ada", STREAM, f"{since}-{until}")
    head = StreamCut(STREAM, {OLD: 0})
    times = hour(since), hour(until)
    records = [CutRecord.new(interval, StreamCutRange(head, end), by="x", number=0, times=times) for end in ends]
    return ClaimedInterval([*records[:-1], records[-1].model_copy(update={"state": state})], times)


class Simulated:
    """A stream of one segment that two others replaced, with one event of 10 bytes after the other."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.events: list[tuple[SegmentId, int, int]] = []  # segment, offset, hour
        self.state = SearchState()
        self.claims: dict[tuple[int, int], list[StreamCut]] = {}

    def tail(self) -> StreamCut:
        sizes = dict.fromkeys((OLD, NEW, OTHER), 0)
        for segment, _, _ in self.events:
            sizes[segment] += 10
        if sizes[OLD] < LENGTH:
            return StreamCut(STREAM, {OLD: sizes[OLD]})
        return StreamCut(STREAM, {NEW: sizes[NEW], OTHER: sizes[OTHER]})

    def write(self) -> None:
        old = sum(segment == OLD for segment, _, _ in self.events) * 10
        segment = OLD if old < LENGTH else self.dice.choice([NEW, OTHER])
        offset = sum(each == segment for each, _, _ in self.events) * 10
        self.events.append((segment, offset, self.dice.randrange(6)))

    def claim(self) -> None:
        since = self.dice.randrange(5)
        times = since, since + self.dice.choice([1, 2])
        # A watermark's cut lies anywhere before the tail, but never before the one of the interval's last claim.
        ends = self.claims.setdefault(times, [])
        ends.append(self.cut_between(ends[-1] if ends else StreamCut(STREAM, {OLD: 0}), self.tail()))

    def cut_between(self, start: StreamCut, end: StreamCut) -> StreamCut:
        passed, limit = HISTORY.passed(start), HISTORY.passed(end)
        if passed[OLD] < LENGTH and self.dice.random() < 0.5:
            most = min(limit[OLD], LENGTH)
            return StreamCut(STREAM, {OLD: self.dice.randrange(passed[OLD], most + 1, 10)})
        if limit[OLD] < LENGTH:
            return end
        return StreamCut(STREAM, {s: self.dice.randrange(passed[s], limit[s] + 1, 10) for s in (NEW, OTHER)})

    def intervals(self) -> list[ClaimedInterval]:
        return [claims(*times, *ends) for times, ends in sorted(self.claims.items())]

    def search(self, *, killed: bool, limited: bool = False, most: int | None = None) -> list[LateRecord]:
        intervals = self.intervals()
        begins = beginnings(intervals, self.state, HISTORY)
        start = HISTORY.earliest([*begins, self.tail()])
        end = self.cut_between(start, self.tail()) if limited else self.tail()
        if most is not None:
            end = HISTORY.earliest([end, StreamCut(STREAM, {OLD: start.positions[OLD] + most})])
        search = Search("ada", intervals, begins, end, self.state, HISTORY)
        passed = [HISTORY.passed(cut) for cut in begins]
        bounds = [(interval.times[0].hour, interval.times[1].hour) for interval in intervals]
        counter = LateCounter(bounds, lambda segment: [each[segment] for each in passed])
        first, last = HISTORY.passed(start), HISTORY.passed(end)
        for segment, offset, time in self.events:
            if first[segment] <= offset < last[segment]:
                times, offsets = (np.array([value], np.int64) for value in (time, offset))
                counter.add(segment, times, offsets, pa.array([f"{segment}:{offset}"]))
        totals = search.totals(counter.counts, NEW_YEAR)
        self.store(search.changes(totals, "me", NEW_YEAR), killed=killed)
        return totals

    def store(self, changes: Changes, *, killed: bool) -> None:
        late = dict(self.state.late)
        steps = [*[(each.interval, each) for each in changes.put], *[(name, None) for name in changes.remove]]
        for name, record in steps[: self.dice.randrange(len(steps) + 1)] if killed else steps:
            late.pop(name, None)
            if record is not None:
                late[name] = LateRecord.from_json(record.to_json())
        search = self.state.search if killed else changes.search or self.state.search
        self.state = SearchState(search, late)

    def expected(self, interval: ClaimedInterval) -> int:
        passed = HISTORY.passed(HISTORY.latest(interval.ends))
        since, until = (time.hour for time in interval.times)
        return sum(since <= time < until and offset >= passed[segment] for segment, offset, time in self.events)


@pytest.mark.parametrize("seed", range(25))
def test_a_search_counts_each_late_event_once_after_any_kills(seed):
    dice = random.Random(seed)
    stream = Simulated(dice)
    for _ in range(60):
        action = dice.choice([stream.write, stream.write, stream.write, stream.claim, None])
        if action is not None:
            action()
        elif stream.claims:
            stream.search(killed=dice.random() < 0.4, limited=dice.random() < 0.4)
    stream.claim()

    totals = stream.search(killed=False)

    assert [total.events for total in totals] == [stream.expected(each) for each in stream.intervals()]
    assert {name: record.events for name, record in stream.state.late.items()} == {
        total.interval: total.events for total in totals if total.events
    }
    again = stream.search(killed=False)
    assert [total.events for total in again] == [total.events for total in totals]
    assert beginnings(stream.intervals(), stream.state, HISTORY) == [
        HISTORY.latest([stream.tail(), *each.ends]) for each in stream.intervals()
    ]


def test_limited_searches_reach_the_tail_although_old_intervals_come():
    stream = Simulated(random.Random(1))
    for _ in range(LENGTH // 10 - 1):
        stream.write()
    stream.claims = {(0, 3): [StreamCut(STREAM, {OLD: 40})]}
    stream.search(killed=False)
    stream.claims |= {(2, 6): [StreamCut(STREAM, {OLD: 10})], (1, 2): [StreamCut(STREAM, {OLD: 0})]}
    expected = [stream.expected(each) for each in stream.intervals()]

    found = [[total.events for total in stream.search(killed=False, most=20)] for _ in range(6)]

    assert expected in found
    assert found[-1] == expected
    assert stream.state.search is not None
    assert stream.state.search.cut == stream.tail()


def test_a_year_of_hours_is_one_run_and_all_times_come_back():
    hours = [(hour(number), hour(number + 1)) for number in range(8760)]
    days = [(hour(number * 24), hour(number * 24 + 24)) for number in (0, 1, 2, 5, 9, 13)]
    sliding = [(hour(number), hour(number + 3)) for number in range(10)]
    assert [run.count for run in runs_of(hours)] == [8760]
    mixed = [*hours[:10], *days, *sliding]
    runs = runs_of(reversed(mixed))
    assert sorted(times for run in runs for times in run.times) == sorted(mixed)
    assert len(runs) < len(mixed) / 3
    assert runs_of([]) == ()


def test_layers_have_intervals_that_do_not_overlap():
    bounds = [(0, 2), (1, 3), (2, 4), (3, 5), (0, 10)]
    assert layers_of(bounds) == [[0, 2], [4], [1, 3]]


def test_a_record_of_a_later_release_is_refused():
    stream = Simulated(random.Random(0))
    stream.write()
    stream.claim()
    stream.search(killed=False)
    assert stream.state.search is not None
    value = stream.state.search.to_json()
    assert SearchRecord.from_json(value) == stream.state.search
    with pytest.raises(LedgerError, match="not a record of late events that this release reads"):
        SearchRecord.from_json(value.replace(b'"version":1', b'"version":2'))
