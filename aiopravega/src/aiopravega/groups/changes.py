"""Changes of a reader group's state: a reader joins, takes a segment, reaches a checkpoint.

Events of the group's stream are applied to its state one after another. An event is a whole state, or records of some
changes that belong together (`UpdateOrInitSerializer` in Pravega's client). One of the changes may also be a whole
state: so a group is reset.

Layout and meaning: the classes that `ReaderGroupUpdateSerializer` names in Pravega's client. After a change of an
unknown kind the state would not be known, so the change is refused.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from aiopravega.errors import ReaderGroupStateError
from aiopravega.groups import output, whole_states
from aiopravega.groups.fields import JavaFields
from aiopravega.groups.state import GroupState, Offsets, is_silent
from aiopravega.names import SegmentId

# The kinds of changes that this package makes itself.
_REMOVE_READER: Final = 3
_CREATE_CHECKPOINT: Final = 9
_CLEAR_CHECKPOINTS: Final = 10
_UPDATING: Final = 12
# The kinds of events, and the form of their records.
_WHOLE: Final = 1
_CHANGES: Final = 2
_FORMAT: Final = 0


def _add_reader(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    reader = state.hear(first.text())
    if reader in state.assigned:
        raise ReaderGroupStateError(f"reader {reader!r} joins the group a second time")
    state.assigned[reader] = {}


def _remove_reader(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    reader, offsets = first.text(), first.offsets()
    final = {segment: offsets.get(segment, offset) for segment, offset in state.assigned.pop(reader, {}).items()}
    state.unassigned |= final
    state.checkpoints.leave(reader, final)


def _release_segment(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    reader, segment, offset = state.hear(first.text()), first.segment(), first.int64()
    _remove(state, reader, segment)
    state.unassigned[segment] = offset
    _note_read(state, {segment: offset})


def _acquire_segment(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    reader, segment = state.hear(first.text()), first.segment()
    segments = state.segments_of(reader)
    if segment not in state.unassigned:
        raise ReaderGroupStateError(f"reader {reader!r} takes {segment}, which is not free")
    segments[segment] = state.unassigned.pop(segment)


def _report_position(state: GroupState, first: JavaFields, *more: JavaFields) -> None:
    state.hear(first.text())
    first.int64()
    if more:
        _note_read(state, more[0].mapping(_segment_with_range, JavaFields.int64))


def _complete_segment(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    reader, done = state.hear(first.text()), first.segment()
    successors = first.mapping(JavaFields.segment, lambda each: each.items(JavaFields.int64))
    _remove(state, reader, done)
    state.read.pop(done, None)
    for segment, predecessors in successors.items():
        state.future.setdefault(segment, set(predecessors))
    for predecessors_left in state.future.values():
        predecessors_left.discard(done.to_int())
    for segment in [segment for segment, left in state.future.items() if not left]:
        del state.future[segment]
        state.unassigned[segment] = 0
        state.read.setdefault(segment, 0)


def _reach_checkpoint(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    name, reader, offsets = first.text(), state.hear(first.text()), first.offsets()
    state.checkpoints.reached(name, reader, offsets)
    if not is_silent(name):
        segments = state.segments_of(reader)
        segments.update({segment: offset for segment, offset in offsets.items() if segment in segments})


def _create_checkpoint(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    state.checkpoints.begin(first.text(), state.assigned, state.unassigned)


def _clear_checkpoints(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    state.checkpoints.drop_before(first.text())


def _checkpoint_published(_: GroupState, first: JavaFields, *__: JavaFields) -> None:
    first.boolean()  # a note between readers: whether the controller knows the last checkpoint


def _set_updating(state: GroupState, first: JavaFields, *_: JavaFields) -> None:
    state.updating = first.boolean()


def _drop_outstanding(state: GroupState, *_: JavaFields) -> None:
    state.checkpoints.drop_outstanding()


CHANGES: Final[Mapping[int, Callable[..., None]]] = {
    2: _add_reader,
    _REMOVE_READER: _remove_reader,
    4: _release_segment,
    5: _acquire_segment,
    6: _report_position,
    7: _complete_segment,
    8: _reach_checkpoint,
    _CREATE_CHECKPOINT: _create_checkpoint,
    _CLEAR_CHECKPOINTS: _clear_checkpoints,
    11: _checkpoint_published,
    _UPDATING: _set_updating,
    13: _drop_outstanding,
}


def _segment_with_range(fields: JavaFields) -> SegmentId:
    segment = fields.segment()
    fields.key_range()
    return segment


def _remove(state: GroupState, reader: str, segment: SegmentId) -> None:
    if state.segments_of(reader).pop(segment, None) is None:
        raise ReaderGroupStateError(f"reader {reader!r} gives up {segment}, which it does not have")


def _note_read(state: GroupState, offsets: Offsets) -> None:
    """Note positions of segments that are read now; a reader may report a segment that it has released since."""
    state.read.update({segment: offset for segment, offset in offsets.items() if segment in state.read})


# --- the changes that are made here -------------------------------------------------------------------------


def begin_checkpoint(name: str) -> bytes:
    """The record that asks all readers for their positions."""
    return output.record(output.text(name), kind=_CREATE_CHECKPOINT)


def forget_checkpoints_before(name: str) -> bytes:
    """The record that removes older checkpoints, as Java writes it when a checkpoint is complete."""
    return output.record(output.text(name), kind=_CLEAR_CHECKPOINTS)


def begin_update() -> bytes:
    """The record that lets readers request a new configuration from the controller."""
    return output.record(bytes([True]), kind=_UPDATING)


def remove_reader(reader: str) -> bytes:
    """The record that removes a reader: its segments are free, at the positions of the state."""
    return output.record(output.text(reader) + output.offsets({}), kind=_REMOVE_READER)


# --- events -------------------------------------------------------------------------------------------------


def apply_event(state: GroupState | None, event: bytes | memoryview) -> GroupState:
    """The state after an event. `state` is None before the first event; a given state may be changed.

    Raises:
        ReaderGroupStateError: the event is not understood.
    """
    fields = JavaFields(event)
    kind = fields.int32()
    if kind == _WHOLE:
        whole = _apply(None, fields)
        whole.heard = {} if state is None else state.heard
        return whole
    if kind != _CHANGES:
        raise ReaderGroupStateError(f"an event of kind {kind} is neither a state nor changes")
    while fields.left:
        state = _apply(state, JavaFields(fields.take(fields.int32())))
    if state is None:
        raise ReaderGroupStateError("changes come before any state")
    return state


def _apply(state: GroupState | None, fields: JavaFields) -> GroupState:
    form, kind = fields.byte(), fields.byte()
    if form != _FORMAT:
        raise ReaderGroupStateError(f"serialization format {form} of a record is not known")
    what = f"a record of kind {kind}"
    if kind in (whole_states.NEW, whole_states.COMPACT):
        _, revisions = fields.contents(what)
        whole = (whole_states.read_new if kind == whole_states.NEW else whole_states.read_compact)(revisions)
        whole.heard = {} if state is None else state.heard
        return whole
    change = CHANGES.get(kind)
    if change is None:
        raise ReaderGroupStateError(
            f"a change of kind {kind} is not known, so that the state after it is not, either: was it written by a "
            "newer Pravega? Use a newer release of this package, or the Java client"
        )
    if state is None:
        raise ReaderGroupStateError("a change comes before any state")
    _, revisions = fields.contents(what)
    change(state, *revisions)
    return state


def whole_event(record: bytes) -> bytes:
    """The event of a whole state."""
    return output.int32(_WHOLE) + record


def changes_event(records: Iterable[bytes]) -> bytes:
    """The event of some changes that belong together."""
    return output.int32(_CHANGES) + b"".join(output.int32(len(one)) + one for one in records)
