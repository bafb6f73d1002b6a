"""The state of a reader group: who reads what, from where, and which checkpoints there are.

All members of a group compute it from the same records: one that holds a whole state, and changes after it. What a
change does here must be what it does in Java (`ReaderGroupState` and `CheckpointState` in Pravega's client). The layout
of the records is in `whole_states` and `changes`.
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
        names: of all that are remembered.
        waiting: for each that is under way, the readers who have not reached it.
        offsets: for each, the positions that are known.
        last: the positions of the last one that is complete; None: there was none.
        last_name: its name, where the records say it.
    """

    names: list[str] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    last: Offsets | None = None
    last_name: str | None = None

    def begin(self, name: str, readers: Iterable[str], known: Mapping[SegmentId, int]) -> None:
        """Begin one, unless there is one of this name."""
        if name in self.offsets:
            return
        if waiting := list(readers):
            self.waiting[name] = waiting
        self.offsets[name] = dict(known)
        self.names.append(name)

    def reached(self, name: str, reader: str, offsets: Mapping[SegmentId, int]) -> None:
        """A reader has reached one, with these positions in its segments."""
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
        """A reader leaves the group: it has reached all that wait for it."""
        for name in [name for name, waiting in self.waiting.items() if reader in waiting]:
            self.reached(name, reader, offsets)

    def drop_before(self, name: str) -> None:
        """Forget all that are older than one."""
        if name in self.offsets:
            while self.names and self.names[0] != name:
                self._drop(self.names.pop(0))

    def drop_outstanding(self) -> None:
        """Forget all that are under way; Java leaves their names in the list."""
        for name in self.outstanding:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self.waiting.pop(name, None)
        self.offsets.pop(name, None)

    @property
    def outstanding(self) -> list[str]:
        """Those under way that a person or a program began."""
        return [name for name in self.names if name in self.waiting and not is_silent(name)]


def is_silent(checkpoint: str) -> bool:
    """Whether a checkpoint only asks for positions."""
    return _SILENT in checkpoint


@dataclass(slots=True)
class GroupState:
    """The state of a reader group after some of its records.

    Attributes:
        config: how the group is set up.
        assigned: the segments of each reader, with the offset from where another reader would continue.
        unassigned: segments that no reader has.
        read: how far each segment was read, as its readers last said: mostly later than `assigned`.
        future: segments that begin when others are read to their ends, with the ids of those.
        ends: where the group ends in segments; no entry: it does not.
        checkpoints: see there.
        updating: somebody is changing the configuration.
        heard: how many records each reader has written since the state was first read; not a part of it.
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
            ReaderGroupStateError: it is not in the group.
        """
        if reader not in self.assigned:
            raise ReaderGroupStateError(f"reader {reader!r} is not in the group, but changes its state")
        return self.assigned[reader]

    def offsets(self) -> Offsets:
        """From where every segment would be read after a restart of all readers."""
        found = dict(self.unassigned)
        for segments in self.assigned.values():
            found.update(segments)
        return found

    def ends_in(self, stream: StreamName) -> StreamCut | None:
        """Where the group ends in a stream; None: it does not."""
        return self.config.ends.get(stream)


def cuts_of(offsets: Mapping[SegmentId, int]) -> dict[StreamName, StreamCut]:
    """Positions, as a cut for each stream.

    Raises:
        ReaderGroupStateError: a position is none.
    """
    streams: dict[StreamName, Offsets] = {}
    for segment, offset in offsets.items():
        streams.setdefault(segment.stream, {})[segment] = offset
    return {stream: checked_cut(stream, dict(sorted(found.items()))) for stream, found in sorted(streams.items())}
