"""Bounds of the event times in a range, by the marks of its stream."""

from dataclasses import dataclass

from aiopravega.control import Controller
from aiopravega.cuts import StreamCutRange
from aiopravega.event_time.log import MarkLog
from aiopravega.store import SegmentStore


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """The bounds of the times in a range: see `time_bounds`. None: the stream does not have such a mark."""

    lower: int | None
    upper: int | None


async def time_bounds(controller: Controller, store: SegmentStore, wanted: StreamCutRange) -> TimeBounds:
    """The bounds that watermarks give for the times of the events of a range, in the writers' unit.

    No event of the range is older than `lower`, if writers are honest: `lower` comes from the last mark whose positions
    lie at or before the start. `upper` comes from the first mark whose positions lie at or after the end: the greatest
    time that any active writer had noted by then. A writer's event may be newer than what it had noted, so `upper` says
    how far the writers were, and does not bound the events.

    Raises:
        PravegaError: the marks cannot be read.
    """
    stream = wanted.start.stream
    marks = await MarkLog.open(controller, store, stream) if stream else None
    if marks is None:
        return TimeBounds(None, None)
    before, _ = await marks.search(lambda mark: mark.is_before(wanted.start))
    _, behind = await marks.search(lambda mark: not mark.is_behind(wanted.end))
    return TimeBounds(before.lower if before else None, behind.upper if behind else None)
