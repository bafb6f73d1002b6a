"""Events of a reader group's stream, which are applied to its state one after another.

An event is a whole state, or some changes that belong together (`UpdateOrInitSerializer` in Pravega's client). One of
the changes may also be a whole state: so a group is reset.
"""

from collections.abc import Iterable
from typing import Final

from aiopravega.errors import ReaderGroupStateError
from aiopravega.groups import output, whole_states
from aiopravega.groups.changes import CHANGES
from aiopravega.groups.fields import JavaFields
from aiopravega.groups.state import GroupState

_WHOLE: Final = 1
_CHANGES: Final = 2
_FORMAT: Final = 0


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
