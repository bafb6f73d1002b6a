"""A search for late events: where it begins for each interval, and what it changes in the ledger. No I/O.

An event is late if it has a time of an interval and lies after the range of the interval's newest claim. Each interval
is searched from there, or from the cut up to which the ledger counts, so that the end of one search is the beginning of
the next. An interval that the last search did not know may end before that search's end: it begins at its own end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aiopravega import StreamCut
from aiopravega.ledger import CutRecord, IntervalState
from aiopravega.read import Order
from aiopravega.read.history import History
from pravega_jobs.late.records import Changes, LateRecord, SearchRecord, SearchState, Times, runs_of


@dataclass(frozen=True, slots=True)
class ClaimedInterval:
    """An interval of event times with all of its claims: `records` has the first claim first."""

    records: Sequence[CutRecord]
    times: Times

    @property
    def name(self) -> str:
        """The name of the interval."""
        return self.records[0].interval

    @property
    def claim(self) -> int:
        """The number of the newest claim."""
        return len(self.records)

    @property
    def is_settled(self) -> bool:
        """True if nobody processes the newest claim any more: it is done, or somebody has skipped it."""
        return self.records[-1].state in (IntervalState.DONE, IntervalState.SKIPPED)

    @property
    def ends(self) -> list[StreamCut]:
        """The ends of the ranges of all claims."""
        return [record.range.end for record in self.records]


@dataclass(frozen=True, slots=True)
class LateCount:
    """The late events of an interval that one search has found; `first` and `last` are the texts of pointers."""

    events: int = 0
    first: str | None = None
    last: str | None = None


def cuts_of(intervals: Sequence[ClaimedInterval], state: SearchState) -> list[StreamCut]:
    """All cuts that a search compares, for the history of the stream."""
    names = {interval.name for interval in intervals}
    cuts = [end for interval in intervals for end in interval.ends]
    cuts += [record.cut for name, record in state.late.items() if name in names]
    return cuts if state.search is None else [*cuts, state.search.cut]


def beginnings(intervals: Sequence[ClaimedInterval], state: SearchState, history: History) -> list[StreamCut]:
    """The cut from which each interval is to be searched."""
    known = frozenset() if state.search is None else state.search.intervals
    begins = []
    for interval in intervals:
        cuts, record = interval.ends, state.late.get(interval.name)
        if record is not None:
            # The record of an older claim counts events that the newest claim has: they are counted again.
            cuts += [record.cut] if record.claim == interval.claim else []
        elif state.search is not None and interval.times in known:
            cuts.append(state.search.cut)
        begins.append(history.latest(cuts))
    return begins


@dataclass(frozen=True, slots=True)
class Search:
    """A search from `begins`, one cut for each interval, to `end`."""

    consumer: str
    intervals: Sequence[ClaimedInterval]
    begins: Sequence[StreamCut]
    end: StreamCut
    state: SearchState
    history: History

    @property
    def is_whole(self) -> bool:
        """True if it reaches at least as far as the last search; one of limited bytes may not, and is continued."""
        last = self.state.search
        return last is None or self.history.compare(last.cut, self.end) in (Order.BEFORE, Order.SAME)

    def totals(self, counts: Mapping[int, LateCount], now: datetime) -> list[LateRecord]:
        """The records of all intervals after the search; `counts` has what was found, by the number of the interval."""
        return [self._total(number, counts.get(number, LateCount()), now) for number in range(len(self.intervals))]

    def changes(self, totals: Sequence[LateRecord], by: str, now: datetime) -> Changes:
        """The changes of the ledger. Records without events are kept only as far as a search has not reached."""
        whole = self.is_whole
        known = frozenset() if self.state.search is None else self.state.search.intervals
        put, gone = [], []
        for interval, total in zip(self.intervals, totals, strict=True):
            has_record = total.interval in self.state.late
            if total.events or (not whole and (has_record or interval.times not in known)):
                put.append(total)
            elif has_record:
                gone.append(total.interval)
        if not whole:
            return Changes(put, gone, None)
        names = {interval.name for interval in self.intervals}
        gone += [name for name in self.state.late if name not in names]
        search = SearchRecord(
            consumer=self.consumer,
            stream=self.intervals[0].records[0].stream,
            end=self.end.to_text(),
            known=runs_of(interval.times for interval in self.intervals),
            searched_at=now,
            searched_by=by,
        )
        return Changes(put, gone, search)

    def _total(self, number: int, count: LateCount, now: datetime) -> LateRecord:
        interval = self.intervals[number]
        before = self.state.late.get(interval.name)
        if before is not None and before.claim != interval.claim:
            before = None
        since, until = interval.times
        events = count.events + (before.events if before else 0)
        return LateRecord(
            consumer=self.consumer,
            stream=interval.records[0].stream,
            interval=interval.name,
            since=since,
            until=until,
            claim=interval.claim,
            end=self.history.latest([self.begins[number], self.end]).to_text(),
            events=events,
            first=(before.first if before else None) or count.first,
            last=count.last or (before.last if before else None),
            found_at=(before.found_at if before else None) or (now if events else None),
        )
