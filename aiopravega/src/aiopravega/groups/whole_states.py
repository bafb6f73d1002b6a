"""Records with a whole state of a reader group: a new state, and a compact one.

Layout: `ReaderGroupStateInit`, `CompactReaderGroupState` and `CheckpointState` in Pravega's client.
"""

from typing import Final

from aiopravega.control import ReaderGroupConfig
from aiopravega.cuts import END_OF_SEGMENT
from aiopravega.groups import output
from aiopravega.groups.config_bytes import read_config, write_config
from aiopravega.groups.fields import JavaFields
from aiopravega.groups.state import Checkpoints, GroupState, Offsets, is_silent
from aiopravega.names import SegmentId

NEW: Final = 0
COMPACT: Final = 1
# Java's offset for the end of a segment.
_WHOLE_SEGMENT: Final = 2**63 - 1


def read_new(revisions: list[JavaFields]) -> GroupState:
    """Read the state of a new group, or of a group that was reset."""
    first, *more = revisions
    config, starts, ends = read_config(first.array()), first.offsets(), first.offsets()
    updating = more[1].boolean() if len(more) > 1 else False
    return GroupState(config, unassigned=starts, read=dict(starts), ends=ends, updating=updating)


def read_compact(revisions: list[JavaFields]) -> GroupState:
    """Read a state that replaces all records before it."""
    first, *more = revisions
    config, checkpoints = read_config(first.array()), _read_checkpoints(first.array())
    first.mapping(JavaFields.text, JavaFields.int64)  # how late each reader is by its own clock, which Java overstates
    future = first.mapping(JavaFields.segment, lambda each: set(each.items(JavaFields.int64)))
    assigned = first.mapping(JavaFields.text, JavaFields.offsets)
    unassigned, ends = first.offsets(), first.offsets()
    state = GroupState(config, assigned, unassigned, {}, future, ends, checkpoints)
    # Early releases wrote no positions of reads: then a restart of the readers would begin at the others.
    state.read = more[0].offsets() if more else state.offsets()
    state.updating = more[1].boolean() if len(more) > 1 else False
    return state


def _read_checkpoints(data: memoryview) -> Checkpoints:
    _, (content, *_) = JavaFields(data).revisions("the checkpoints of a reader group")
    names = content.items(JavaFields.text)
    waiting = content.mapping(JavaFields.text, lambda each: each.items(JavaFields.text))
    offsets = content.mapping(JavaFields.text, JavaFields.offsets)
    # Java writes "no checkpoint" as an empty one, and reads an empty one as a checkpoint after the last event.
    last = content.offsets() or None
    checkpoints = Checkpoints(names, waiting, offsets, last)
    complete = [name for name in names if name in offsets and name not in waiting and not is_silent(name)]
    checkpoints.last_name = next((name for name in reversed(complete) if offsets[name] == last), None)
    return checkpoints


def write_new(config: ReaderGroupConfig, starts: Offsets) -> bytes:
    """The first record of a group, or a record that resets it; `starts` are the positions in its first segments."""
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
    """A record that replaces all records before it, of a state without readers and without segments that wait."""
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
