"""Records that hold a whole state of a reader group: a new one, and one that was made shorter.

Layout: `ReaderGroupStateInit`, `CompactReaderGroupState` and `CheckpointState` in Pravega's client.
"""

from typing import Final

from aiopravega.control import ReaderGroupConfig
from aiopravega.cuts import END_OF_SEGMENT
from aiopravega.groups import output
from aiopravega.groups.config_bytes import read_config, write_config
from aiopravega.groups.fields import Fields
from aiopravega.groups.state import Checkpoints, GroupState, Offsets, is_silent
from aiopravega.names import SegmentId

NEW: Final = 0
COMPACT: Final = 1
# Java's way to say that a segment is read to its end.
_WHOLE_SEGMENT: Final = 2**63 - 1


def read_new(revisions: list[Fields]) -> GroupState:
    """The state of a group that nobody has read with, or that was reset."""
    first, *more = revisions
    config, starts, ends = read_config(first.array()), first.offsets(), first.offsets()
    updating = more[1].boolean() if len(more) > 1 else False
    return GroupState(config, unassigned=starts, read=dict(starts), ends=ends, updating=updating)


def read_compact(revisions: list[Fields]) -> GroupState:
    """A state instead of all records before it."""
    first, *more = revisions
    config, checkpoints = read_config(first.array()), _read_checkpoints(first.array())
    first.mapping(Fields.text, Fields.int64)  # how late each reader is by its own clock, which Java overstates
    future = first.mapping(Fields.segment, lambda each: set(each.items(Fields.int64)))
    assigned = first.mapping(Fields.text, Fields.offsets)
    unassigned, ends = first.offsets(), first.offsets()
    state = GroupState(config, assigned, unassigned, {}, future, ends, checkpoints)
    # Written by releases that had no such positions, the rest is what the readers would begin with.
    state.read = more[0].offsets() if more else state.offsets()
    state.updating = more[1].boolean() if len(more) > 1 else False
    return state


def _read_checkpoints(data: memoryview) -> Checkpoints:
    _, (content, *_) = Fields(data).revisions("the checkpoints of a reader group")
    names = content.items(Fields.text)
    waiting = content.mapping(Fields.text, lambda each: each.items(Fields.text))
    offsets = content.mapping(Fields.text, Fields.offsets)
    # Java writes none as an empty one, and reads an empty one as a checkpoint after the last event.
    last = content.offsets() or None
    found = Checkpoints(names, waiting, offsets, last)
    complete = [name for name in names if name in offsets and name not in waiting and not is_silent(name)]
    found.last_name = next((name for name in reversed(complete) if offsets[name] == last), None)
    return found


def write_new(config: ReaderGroupConfig, starts: Offsets) -> bytes:
    """The first record of a group, or one that resets it; `starts` are the positions in its first segments."""
    ends: Offsets = {}
    for cut in config.ends.values():
        ends |= {one: _WHOLE_SEGMENT if end == END_OF_SEGMENT else end for one, end in cut.positions.items()}
    return output.record(
        output.array(write_config(config)) + output.offsets(starts) + output.offsets(ends),
        output.mapping(starts, _segment_without_range, output.int64),
        bytes([False]),
        kind=NEW,
    )


def write_compact(state: GroupState) -> bytes:
    """A record instead of all that were before; of a state without readers, and without segments that wait."""
    checkpoints = state.checkpoints
    written = output.record(
        output.items([output.text(name) for name in checkpoints.names])
        + output.mapping({}, output.text, output.text)  # nobody is waited for
        + output.mapping(checkpoints.offsets, output.text, output.offsets)
        + output.offsets(checkpoints.last or {}),
        bytes([True]),  # the controller knows the position: it was reported before
    )
    nothing = output.items([])
    return output.record(
        output.array(write_config(state.config))
        + output.array(written)
        + nothing * 3  # how late readers are, segments that wait, readers
        + output.offsets(state.unassigned)
        + output.offsets(state.ends),
        output.offsets(state.read) + output.mapping(state.read, output.segment, lambda _: output.no_key_range()),
        bytes([state.updating]),
        kind=COMPACT,
    )


def _segment_without_range(segment: SegmentId) -> bytes:
    return output.segment(segment) + output.no_key_range()
