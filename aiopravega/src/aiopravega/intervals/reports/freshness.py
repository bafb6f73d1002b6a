"""How fresh a stream is by the times of its events, or what a reader group has read of it: the last watermark's age."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import BeforeHistoryError
from aiopravega.intervals.conditions.group_condition import GroupPosition
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit

# Later than all watermarks, in whatever unit they are.
_LATEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Freshness:
    """What the last watermark of a stream says.

    The stream is complete up to `complete_until`: no event that is older will come, if the writers are honest.
    `noted_until` is how far the writer was that was ahead of the others. Both are None if the stream is sealed: nothing
    will come any more.
    """

    complete_until: datetime | None
    noted_until: datetime | None

    @property
    def age(self) -> timedelta | None:
        """How long ago the stream was complete by the clock of this machine; negative if it lies in the future."""
        return None if self.complete_until is None else datetime.now(UTC) - self.complete_until


async def freshness_of(client: PravegaClient, stream: StreamName, *, unit: TimeUnit = TimeUnit.MS) -> Freshness:
    """How fresh a stream is. No event is read.

    Args:
        client: a connected client.
        stream: whose watermarks are read.
        unit: what its writers count times in.

    Raises:
        NoWatermarksError: no writer has noted a time.
        StreamNotFoundError: there is no such stream.
        ConfigurationError: the times are not dates in this unit.
    """
    found = await client.cut_at(stream, _LATEST, unit=unit)
    lower, upper = (None if time is None else unit.moment(time) for time in (found.lower, found.upper))
    return Freshness(lower, upper)


async def group_freshness_of(
    client: PravegaClient,
    group: StreamName,
    stream: StreamName,
    *,
    by: GroupPosition = GroupPosition.READ,
    unit: TimeUnit = TimeUnit.MS,
) -> Freshness:
    """How fresh what a reader group has read of a stream is: by the last watermark at or before its position.

    Args:
        client: a connected client.
        group: the scope and the name of the group.
        stream: one that the group reads.
        by: which position of the group counts.
        unit: what the stream's writers count times in.

    Returns:
        As for the stream; `noted_until` is how far the writers were when the group's position was written.

    Raises:
        BeforeHistoryError: the group has not passed the first watermark.
        NoWatermarksError: no writer has noted a time.
        ReaderGroupError: there is no such group, it has no state, or does not read the stream.
        ConfigurationError: the times are not dates in this unit.
    """
    whole = await freshness_of(client, stream, unit=unit)
    progress = (await client.describe_reader_group(group.scope, group.stream)).progress(stream)
    position = progress.read if by is GroupPosition.READ else progress.checkpoint
    if by is GroupPosition.READ and progress.lag_bytes == 0:
        return whole
    bounds = None if position is None else await client.time_bounds(StreamCutRange(position, position))
    if bounds is None or bounds.lower is None:
        raise BeforeHistoryError(
            f"reader group {group} has not passed the first watermark of {stream}"
            + ("" if position is not None else ": it has no checkpoint")
        )
    noted = whole.noted_until if bounds.upper is None else unit.moment(bounds.upper)
    return Freshness(unit.moment(bounds.lower), noted)
