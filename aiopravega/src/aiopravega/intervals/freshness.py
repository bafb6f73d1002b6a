"""How fresh a stream is by the times of its events: how far its last watermark lies back."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from aiopravega.client import PravegaClient
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
        ConfigurationError: the times are no dates in this unit.
    """
    found = await client.cut_at(stream.scope, stream.stream, _LATEST, unit=unit)
    lower, upper = (None if time is None else unit.moment(time) for time in (found.lower, found.upper))
    return Freshness(lower, upper)
