"""From event times to cuts, by the promises of marks.

After a mark's positions no event is older than its lower time. So a range that ends at the first mark whose lower time
is at least some time holds all older events, whatever lies before its start.

No mark says where such a range may start: a writer's event may be newer than what it had noted, and so may lie far
before the mark of its time. It needs a bound that the writers keep, `ahead`: before a writer notes a time, it writes
nothing newer than that time plus `ahead`. Then a mark is *passed* by a time if all events before its positions are
older than that time:
- events that its writers had written when they noted are not newer than its upper time plus `ahead`;
- events that they wrote later, before another writer's position, are covered by their next note. A mark is made only
after each writer has gone beyond the lower time of the mark before it. So when a mark's lower time reaches the upper
time of an earlier mark, all writers of the earlier mark have noted again by the following mark. This is true for
writers that note a time before they write, and often enough not to be dropped meanwhile (after the stream's timestamp
aggregation timeout). This module asks no server: marks come from a `MarkSearch`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import BeforeHistoryError, EventTimeError, NotYetError
from aiopravega.event_time.marks import Watermark


class MarkSearch(Protocol):
    """Marks in the order of their times, such as a `MarkLog`."""

    async def search(self, holds: Callable[[Watermark], bool]) -> tuple[Watermark | None, Watermark | None]:
        """The last mark for which a condition holds, and the first for which it does not."""
        ...


class Reach(Enum):
    """The position of a time among the marks of a stream."""

    COMPLETE = "complete"
    NOT_YET = "not yet"
    BEFORE_HISTORY = "before the history"


@dataclass(frozen=True, slots=True)
class CutAt:
    """The answer of a stream's marks about a time; numbers are in the writers' unit.

    COMPLETE: no event older than `time` lies after `cut`, and this is the first such cut that is known. Events after it
    are not older than `lower`; `upper` is the time that the writers had reached when the mark was made, and bounds no
    event. Both are None at the end of a sealed stream, where nothing follows.

    NOT_YET, BEFORE_HISTORY: such a cut does not exist, since the last mark has an earlier time, or the first mark has a
    later time; `lower` and `upper` come from that mark.
    """

    time: int
    reach: Reach
    cut: StreamCut | None
    lower: int | None
    upper: int | None

    def required(self) -> StreamCut:
        """The cut.

        Raises:
            NotYetError: the writers have not reached the time.
            BeforeHistoryError: the time is before the first mark.
        """
        if self.cut is not None:
            return self.cut
        raise self._missing()

    def _missing(self) -> EventTimeError:
        if self.reach is Reach.NOT_YET:
            return NotYetError(
                f"the stream is not complete up to event time {self.time} yet: its last watermark is at {self.lower}, "
                f"and its writers had noted up to {self.upper}. Ask again later; a writer that stopped noting times "
                "holds the watermarks back until Pravega drops it"
            )
        return BeforeHistoryError(
            f"event time {self.time} is before the first watermark of the stream, which is at {self.lower}: nobody "
            "noted times then. Ask for a later time"
        )


def answer(time: int, before: Watermark | None, at: Watermark | None, end: StreamCut | None) -> CutAt:
    """The answer about a time.

    Args:
        time: what was asked for.
        before: the last mark with an earlier lower time.
        at: the first mark with this lower time, or a later one.
        end: the end of the stream, if it is sealed.
    """
    if at is None:
        lower, upper = (before.lower, before.upper) if before else (None, None)
        if end is None:
            return CutAt(time, Reach.NOT_YET, None, lower, upper)
        return CutAt(time, Reach.COMPLETE, end, None, None)
    if before is None and at.lower > time:
        return CutAt(time, Reach.BEFORE_HISTORY, None, at.lower, at.upper)
    return CutAt(time, Reach.COMPLETE, at.cut, at.lower, at.upper)


async def passed_mark(marks: MarkSearch, time: int, ahead: int) -> Watermark | None:
    """The last mark that is passed by `time` (see above): all events before its positions are older."""
    newest, _ = await marks.search(lambda mark: mark.upper + ahead < time)
    if newest is None:
        return None
    beside, _ = await marks.search(lambda mark: mark.lower < newest.lower)
    if beside is None:
        return None
    passed, _ = await marks.search(lambda mark: mark.upper <= beside.lower)
    return passed


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """The bounds of the times in a range: see `time_bounds`. None: the stream does not have such a mark."""

    lower: int | None
    upper: int | None


async def time_bounds(marks: MarkSearch | None, wanted: StreamCutRange) -> TimeBounds:
    """The bounds that watermarks give for the times of the events of a range, in the writers' unit.

    No event of the range is older than `lower`, if writers are honest: `lower` comes from the last mark whose positions
    lie at or before the start. `upper` comes from the first mark whose positions lie at or after the end: the greatest
    time that any active writer had noted by then. A writer's event may be newer than what it had noted, so `upper` says
    how far the writers were, and does not bound the events.

    Raises:
        PravegaError: the marks cannot be read.
    """
    if marks is None:
        return TimeBounds(None, None)
    before, _ = await marks.search(lambda mark: mark.is_before(wanted.start))
    _, behind = await marks.search(lambda mark: not mark.is_behind(wanted.end))
    return TimeBounds(before.lower if before else None, behind.upper if behind else None)


async def first_later(marks: MarkSearch, end: StreamCut, ahead: int) -> int | None:
    """The first time that no event before a cut has, if its writers keep `ahead`; None: no mark shows it yet.

    It never changes once it is known. It is the rule of `passed_mark` from the other side: the marks after the first
    one whose positions lie at or after the cut.
    """
    _, behind = await marks.search(lambda mark: not mark.is_behind(end))
    if behind is None:
        return None
    _, beside = await marks.search(lambda mark: mark.lower < behind.upper)
    if beside is None:
        return None
    _, newest = await marks.search(lambda mark: mark.lower <= beside.lower)
    return None if newest is None else newest.upper + ahead + 1
