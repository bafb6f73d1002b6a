"""What a job waits for in a reader group: that it has read up to a cut, that little is left, that it made a checkpoint.

The group is described by the client; nothing is asked of its readers.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.groups import ReaderGroupDescription
from aiopravega.read import Order

_PASSED: Final = (Order.SAME, Order.AFTER)


class GroupPosition(StrEnum):
    """Which position of a group counts."""

    # What its readers have read, as they said last; after a failure, they may read a part of it again.
    READ = "read"
    # What surely is not read again: up to the last checkpoint.
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class GroupCondition:
    """What must hold of a reader group; all that is given.

    Attributes:
        past: the group's position in the cut's stream is at this cut, or after it.
        max_lag_bytes: so many bytes, event headers included, may be left in all of its streams.
        newer_than: name of a checkpoint: that of the last one differs. An empty name: there is a checkpoint.
        by: which position counts for `past` and `max_lag_bytes`.
    """

    past: StreamCut | None = None
    max_lag_bytes: int | None = None
    newer_than: str | None = None
    by: GroupPosition = GroupPosition.READ

    def __post_init__(self) -> None:
        if self.past is None and self.max_lag_bytes is None and self.newer_than is None:
            raise ConfigurationError(
                "there is nothing to wait for: give a cut, the most bytes that may be left, or a checkpoint"
            )
        if self.past is not None and self.past.stream is None:
            raise ConfigurationError("a group cannot be past an unbounded StreamCut: give the tail, or the lag")

    async def unmet(self, client: PravegaClient, found: ReaderGroupDescription) -> str | None:
        """What does not hold yet; None: all holds.

        Raises:
            ReaderGroupError: the group has no state, or does not read the cut's stream.
            StreamMadeAgainError: the cut is of a deleted stream of this name.
            InvalidStreamCutError: the cut does not fit the stream.
        """
        last = found.last_checkpoint
        if self.newer_than is not None and (last is None or not last.name or last.name == self.newer_than):
            return f"its last checkpoint is {last.name!r}" if last else "it has no checkpoint"
        by_checkpoint = self.by is GroupPosition.CHECKPOINT
        if by_checkpoint and last is None:
            return "it has no checkpoint"
        if self.max_lag_bytes is not None:
            left = found.unread_bytes if by_checkpoint else found.lag_bytes
            if left > self.max_lag_bytes:
                return f"{left:,} bytes are left, more than {self.max_lag_bytes:,}"
        if self.past is not None and self.past.stream is not None:
            progress = found.progress(self.past.stream)
            position = progress.checkpoint if by_checkpoint else progress.read
            if position is None or await client.compare(position, self.past) not in _PASSED:
                return f"it is at {position}, not past {self.past}"
        return None
