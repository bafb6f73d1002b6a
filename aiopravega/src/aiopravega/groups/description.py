"""The description of a reader group: its readers with their segments, its positions, and its checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiopravega.control import ReaderGroupConfig
from aiopravega.cuts import StreamCut
from aiopravega.errors import ReaderGroupError
from aiopravega.groups.cut_bytes import JavaCheckpoint
from aiopravega.groups.progress import StreamProgress
from aiopravega.groups.published import is_published
from aiopravega.names import SegmentId, StreamName


@dataclass(frozen=True, slots=True)
class ReaderGroupDescription:
    """A reader group at some moment.

    Attributes:
        scope: of the group.
        name: of the group.
        config: its configuration.
        readers: readers that are online, or ended without leaving the group, each with its segments and the offsets at
            which another reader would continue.
        unassigned: segments that no reader has, with the offsets at which they are read.
        streams: its progress in each of its streams; empty if the group has no state.
        last_checkpoint: the last complete checkpoint, or None; its name is empty if the state does not have it.
        waiting_checkpoints: checkpoints that are under way, with the readers that have not reached them.
        has_state: a state was written; a subscriber that has only reported to the controller has none.
    """

    scope: str
    name: str
    config: ReaderGroupConfig
    readers: Mapping[str, Mapping[SegmentId, int]] = field(default_factory=dict)
    unassigned: Mapping[SegmentId, int] = field(default_factory=dict)
    streams: tuple[StreamProgress, ...] = ()
    last_checkpoint: JavaCheckpoint | None = None
    waiting_checkpoints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_state: bool = True

    def __hash__(self) -> int:
        return hash((self.scope, self.name, self.streams))

    @property
    def unread_bytes(self) -> int:
        """Bytes in all streams after the last checkpoint, or after the position if there is no checkpoint.

        Raises:
            ReaderGroupError: the group has no state.
        """
        return sum(each.unread_bytes for each in self.need_streams())

    @property
    def lag_bytes(self) -> int:
        """Bytes in all streams after the readers' positions.

        Raises:
            ReaderGroupError: the group has no state.
        """
        return sum(each.lag_bytes for each in self.need_streams())

    @property
    def needs_checkpoint(self) -> bool:
        """True if the group waits until somebody makes a checkpoint: at a scaling, without automatic checkpoints."""
        return self.config.checkpoint_interval is None and any(each.is_at_scaling for each in self.streams)

    @property
    def is_published(self) -> bool:
        """True if a program without readers publishes the position: a subscriber, or a query of Spark."""
        return self.last_checkpoint is not None and is_published(self.last_checkpoint.name)

    def need_streams(self) -> tuple[StreamProgress, ...]:
        """The progress of the group in each stream.

        Raises:
            ReaderGroupError: the group has no state.
        """
        if not self.has_state:
            raise ReaderGroupError(
                f"the position of reader group {self.scope}/{self.name} is not known: it is a subscriber that reports "
                "its position to Pravega by itself, and has no readers"
            )
        return self.streams

    def progress(self, stream: StreamName) -> StreamProgress:
        """The progress of the group in one stream.

        Raises:
            ReaderGroupError: the group does not read this stream, or has no state.
        """
        for each in self.need_streams():
            if each.stream == stream:
                return each
        raise ReaderGroupError(
            f"reader group {self.scope}/{self.name} reads {', '.join(map(str, self.config.starts))}, not {stream}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: cuts as texts, times in seconds."""
        interval, checkpoint = self.config.checkpoint_interval, self.last_checkpoint
        return {
            "group": f"{self.scope}/{self.name}",
            "id": str(self.config.group_id),
            "generation": self.config.generation,
            "retention": self.config.retention.name,
            "checkpoint_interval": None if interval is None else interval.total_seconds(),
            "starts": {str(stream): cut.to_text() for stream, cut in self.config.starts.items()},
            "ends": {str(stream): cut.to_text() for stream, cut in self.config.ends.items()},
            "readers": {reader: _offsets(segments) for reader, segments in self.readers.items()},
            "unassigned": _offsets(self.unassigned),
            "last_checkpoint": checkpoint and {"name": checkpoint.name, "cuts": _texts(checkpoint.cuts)},
            "waiting_checkpoints": {name: list(readers) for name, readers in self.waiting_checkpoints.items()},
            "has_state": self.has_state,
            "is_published": self.is_published,
            "needs_checkpoint": self.needs_checkpoint,
            "unread_bytes": self.unread_bytes if self.has_state else None,
            "lag_bytes": self.lag_bytes if self.has_state else None,
            "streams": [
                {
                    "stream": str(each.stream),
                    "position": each.position.to_text(),
                    "read": each.read.to_text(),
                    "checkpoint": each.checkpoint and each.checkpoint.to_text(),
                    "end": each.end and each.end.to_text(),
                    "unread_bytes": each.unread_bytes,
                    "lag_bytes": each.lag_bytes,
                    "is_truncated": each.is_truncated,
                    "is_at_scaling": each.is_at_scaling,
                }
                for each in self.streams
            ],
        }


def _offsets(offsets: Mapping[SegmentId, int]) -> dict[str, int]:
    return {str(segment): offset for segment, offset in offsets.items()}


def _texts(cuts: Mapping[StreamName, StreamCut]) -> dict[str, str]:
    return {str(stream): cut.to_text() for stream, cut in cuts.items()}
