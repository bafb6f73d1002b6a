"""Conditions of a reader group that a job waits for: its position, its lag, or a new checkpoint.

The client describes the group; its readers are not asked.
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
    """Positions of a group that a condition can use."""

    # The last positions that its readers have reported; after a failure, they may read a part again.
    READ = "read"
    # The last checkpoint: events before it are not read again.
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class GroupCondition:
    """A condition of a reader group: all given attributes must hold.

    Attributes:
        past: the group's position in the cut's stream is at this cut, or after it.
        max_lag_bytes: the most bytes, event headers included, that are left in all of its streams.
        newer_than: name of a checkpoint: the last one has another name. An empty name: there is a checkpoint.
        by: the position that is used for `past` and `max_lag_bytes`.
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

    async def unmet(self, client: PravegaClient, group: ReaderGroupDescription) -> str | None:
        """A text of the attribute that does not hold yet; None: all hold.

        Raises:
            ReaderGroupError: the group has no state, or does not read the cut's stream.
            StreamMadeAgainError: the cut is of a deleted stream of this name.
            InvalidStreamCutError: the cut does not fit the stream.
        """
        last = group.last_checkpoint
        if self.newer_than is not None and (last is None or not last.name or last.name == self.newer_than):
            return f"its last checkpoint is {last.name!r}" if last else "it has no checkpoint"
        by_checkpoint = self.by is GroupPosition.CHECKPOINT
        if by_checkpoint and last is None:
            return "it has no checkpoint"
        if self.max_lag_bytes is not None:
            left = group.unread_bytes if by_checkpoint else group.lag_bytes
            if left > self.max_lag_bytes:
                return f"{left:,} bytes are left, more than {self.max_lag_bytes:,}"
        if self.past is not None and self.past.stream is not None:
            progress = group.progress(self.past.stream)
            position = progress.checkpoint if by_checkpoint else progress.read
            if position is None or await client.compare(position, self.past) not in _PASSED:
                return f"it is at {position}, not past {self.past}"
        return None
