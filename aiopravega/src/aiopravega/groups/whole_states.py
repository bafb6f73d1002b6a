"""Records with a whole state of a reader group: a new state, and a compact one.

Layout: `ReaderGroupStateInit`, `CompactReaderGroupState`, `CheckpointState` and `ReaderGroupConfig` in Pravega's
client.
"""

from typing import Final

from aiopravega.control import GroupRetention, ReaderGroupConfig
from aiopravega.control.policies import MILLISECOND
from aiopravega.control.reader_groups import NO_ID, OUTSTANDING_CHECKPOINTS
from aiopravega.cuts import END_OF_SEGMENT, UNBOUNDED, StreamCut
from aiopravega.errors import ConfigurationError, ReaderGroupStateError
from aiopravega.groups import output
from aiopravega.groups.cut_bytes import cut_from_bytes, cut_to_bytes
from aiopravega.groups.fields import JavaFields
from aiopravega.groups.state import Checkpoints, GroupState, Offsets, is_silent
from aiopravega.names import SegmentId, StreamName

NEW: Final = 0
COMPACT: Final = 1
# Java's offset for the end of a segment.
_WHOLE_SEGMENT: Final = 2**63 - 1
_NO_CHECKPOINTS: Final = -1
# Java's value for a group of a release before 0.9.
_NO_GENERATION: Final = -1


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


def read_config(data: bytes | memoryview) -> ReaderGroupConfig:
    """Read the configuration of a reader group inside its state.

    Raises:
        ReaderGroupStateError: the bytes are not a configuration, or one of a newer Pravega.
    """
    _, (first, *more) = JavaFields(data).revisions("a reader group's configuration")
    interval, refresh, starts, ends = _cuts(first)
    outstanding, retention, generation, group_id = OUTSTANDING_CHECKPOINTS, GroupRetention.NONE, _NO_GENERATION, NO_ID
    if more:  # repeats the first one, and adds a number
        interval, refresh, starts, ends = _cuts(more[0])
        outstanding = more[0].int32()
    if len(more) > 1:
        kind = more[1].compact_int()
        if kind not in [each.value for each in GroupRetention]:
            raise ReaderGroupStateError(f"retention type {kind} of a reader group is not known")
        retention = GroupRetention(kind)
        generation, group_id = more[1].int64(), more[1].uuid()
    try:
        return ReaderGroupConfig(
            starts=starts,
            ends=ends,
            checkpoint_interval=interval * MILLISECOND if interval > 0 else None,
            refresh=refresh * MILLISECOND,
            outstanding_checkpoints=outstanding,
            retention=retention,
            group_id=group_id,
            generation=generation,
        )
    except (ConfigurationError, OverflowError) as error:
        raise ReaderGroupStateError(f"the configuration of a reader group cannot be: {error}") from error


def write_config(config: ReaderGroupConfig) -> bytes:
    """Write a configuration as Java reads it."""
    interval = config.checkpoint_interval
    ends = dict.fromkeys(config.starts, UNBOUNDED) | dict(config.ends)
    first = (
        output.int64(_NO_CHECKPOINTS if interval is None else interval // MILLISECOND)
        + output.int64(config.refresh // MILLISECOND)
        + output.mapping(config.starts, output.stream, _cut)
        + output.mapping(ends, output.stream, _cut)
    )
    third = output.compact_int(config.retention.value) + output.int64(config.generation) + config.group_id.bytes
    return output.record(first, first + output.int32(config.outstanding_checkpoints), third)


def _cuts(fields: JavaFields) -> tuple[int, int, dict[StreamName, StreamCut], dict[StreamName, StreamCut]]:
    interval, refresh = fields.int64(), fields.int64()
    starts = fields.mapping(JavaFields.stream, lambda each: cut_from_bytes(each.array()))
    ends = fields.mapping(JavaFields.stream, lambda each: cut_from_bytes(each.array()))
    return interval, refresh, starts, ends


def _cut(cut: StreamCut) -> bytes:
    return output.array(cut_to_bytes(cut))
