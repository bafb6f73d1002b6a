"""The state of a reader group: readers with their segments and offsets, and checkpoints.

All members of a group compute it from the same records: a whole state, and changes after it. A change must have the
same effect here as in Java (`ReaderGroupState` and `CheckpointState` in Pravega's client). The layout of the records is
in `whole_states` and `changes`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aiopravega.control import ReaderGroupConfig
from aiopravega.cuts import StreamCut
from aiopravega.errors import ReaderGroupStateError
from aiopravega.groups.cut_bytes import checked_cut
from aiopravega.names import SegmentId, StreamName

Offsets = dict[SegmentId, int]
# A checkpoint with this in its name only asks where the readers are: it is not a position to start again from.
_SILENT: Final = "_SILENT_"


@dataclass(slots=True)
class Checkpoints:
    """The checkpoints of a group, the oldest first.

    Attributes:
        names: of all checkpoints in the state.
        waiting: for each checkpoint that is under way, the readers that have not reached it.
        offsets: for each checkpoint, the positions that are known.
        last: the positions of the last complete checkpoint; None: there was none.
        last_name: its name; None if the records do not have it.
    """

    names: list[str] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    last: Offsets | None = None
    last_name: str | None = None

    def begin(self, name: str, readers: Iterable[str], known: Mapping[SegmentId, int]) -> None:
        """Begin a checkpoint, unless there is one with this name."""
        if name in self.offsets:
            return
        if waiting := list(readers):
            self.waiting[name] = waiting
        self.offsets[name] = dict(known)
        self.names.append(name)

    def reached(self, name: str, reader: str, offsets: Mapping[SegmentId, int]) -> None:
        """Note that a reader has reached a checkpoint, with the positions in its segments."""
        waiting = self.waiting.get(name)
        if waiting is None:
            return
        if reader not in waiting:
            raise ReaderGroupStateError(f"reader {reader!r} reaches checkpoint {name!r} a second time")
        waiting.remove(reader)
        self.offsets[name].update(offsets)
        if not waiting:
            del self.waiting[name]
            if not is_silent(name):
                self.last, self.last_name = self.offsets[name], name

    def leave(self, reader: str, offsets: Mapping[SegmentId, int]) -> None:
        """Note that a reader has left the group: it counts as having reached all checkpoints that wait for it."""
        for name in [name for name, waiting in self.waiting.items() if reader in waiting]:
            self.reached(name, reader, offsets)

    def drop_before(self, name: str) -> None:
        """Remove all checkpoints before this one."""
        if name in self.offsets:
            while self.names and self.names[0] != name:
                self._drop(self.names.pop(0))

    def drop_outstanding(self) -> None:
        """Remove all checkpoints that are under way; Java leaves their names in the list."""
        for name in self.outstanding:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self.waiting.pop(name, None)
        self.offsets.pop(name, None)

    @property
    def outstanding(self) -> list[str]:
        """The checkpoints under way that are not silent."""
        return [name for name in self.names if name in self.waiting and not is_silent(name)]


def is_silent(checkpoint: str) -> bool:
    """Return True if a checkpoint only asks for positions."""
    return _SILENT in checkpoint


@dataclass(slots=True)
class GroupState:
    """The state of a reader group after some of its records.

    Attributes:
        config: the configuration of the group.
        assigned: the segments of each reader, with the offset at which another reader would continue.
        unassigned: segments that no reader has, with their offsets.
        read: the offset up to which each segment was read, by the last reports: mostly later than `assigned`.
        future: segments that begin when others are read to their ends, with the ids of the others.
        ends: the end of the group's range in segments; no entry: it has no end.
        checkpoints: see `Checkpoints`.
        updating: a client is changing the configuration.
        heard: the number of records that each reader has written since the state was first read; it is not stored.
    """

    config: ReaderGroupConfig
    assigned: dict[str, Offsets] = field(default_factory=dict)
    unassigned: Offsets = field(default_factory=dict)
    read: Offsets = field(default_factory=dict)
    future: dict[SegmentId, set[int]] = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    updating: bool = False
    heard: dict[str, int] = field(default_factory=dict, compare=False)

    def hear(self, reader: str) -> str:
        """Note that a reader has written a record; returns the reader."""
        self.heard[reader] = self.heard.get(reader, 0) + 1
        return reader

    def segments_of(self, reader: str) -> Offsets:
        """The segments of a reader.

        Raises:
            ReaderGroupStateError: the reader is not in the group.
        """
        if reader not in self.assigned:
            raise ReaderGroupStateError(f"reader {reader!r} is not in the group, but changes its state")
        return self.assigned[reader]

    def offsets(self) -> Offsets:
        """The offset at which each segment would be read after a restart of all readers."""
        offsets = dict(self.unassigned)
        for segments in self.assigned.values():
            offsets.update(segments)
        return offsets

    def ends_in(self, stream: StreamName) -> StreamCut | None:
        """The end of the group's range in a stream; None: it has no end."""
        return self.config.ends.get(stream)


def cuts_of(offsets: Mapping[SegmentId, int]) -> dict[StreamName, StreamCut]:
    """Positions, as a cut for each stream.

    Raises:
        ReaderGroupStateError: positions cannot be a cut.
    """
    streams: dict[StreamName, Offsets] = {}
    for segment, offset in offsets.items():
        streams.setdefault(segment.stream, {})[segment] = offset
    return {
        stream: checked_cut(stream, dict(sorted(positions.items()))) for stream, positions in sorted(streams.items())
    }
