"""The state of a reader group from records of the Java client, and from records that nobody should write."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamName
from aiopravega.errors import ReaderGroupStateError
from aiopravega.groups import output
from aiopravega.groups.changes import (
    apply_event,
    begin_checkpoint,
    begin_update,
    changes_event,
    forget_checkpoints_before,
    whole_event,
)
from aiopravega.groups.state import GroupState
from aiopravega.groups.whole_states import write_new

VECTOR = json.loads((Path(__file__).parents[3] / "vectors" / "reader-group.json").read_text(encoding="utf-8"))
EVENTS = [bytes.fromhex(event) for event in VECTOR["events"]]
STREAM = StreamName("s1795402438", "st")


def segment(number: int, epoch: int = 0) -> SegmentId:
    return SegmentId(STREAM, number, epoch)


def state_after(events: list[bytes]) -> GroupState:
    state = None
    for event in events:
        state = apply_event(state, event)
    assert state is not None
    return state


def test_a_group_of_java_is_followed_to_its_end():
    state = state_after(EVENTS)

    assert state.assigned == {"r1": {segment(4, 1): 0}, "r2": {segment(3, 1): 0, segment(2, 1): 0}}
    assert state.read == {segment(4, 1): 544, segment(3, 1): 612, segment(2, 1): 544}
    assert (state.unassigned, state.future, state.ends) == ({}, {}, {})
    assert state.checkpoints.last == {segment(0): -1, segment(1): -1}
    assert state.checkpoints.last_name == "ours"
    assert state.config.checkpoint_interval is None
    assert list(state.config.starts) == [STREAM]


def test_a_written_group_state_is_read_back():
    config = state_after(EVENTS).config
    starts = {segment(0): 5, segment(1): -1}

    state = apply_event(None, whole_event(write_new(config, starts)))

    assert state == GroupState(config, unassigned=starts, read=starts)


def test_our_changes_do_what_javas_do():
    state = state_after(EVENTS)

    state = apply_event(state, changes_event([begin_checkpoint("next"), begin_update()]))
    assert state.checkpoints.waiting == {"next": ["r1", "r2"]}
    assert state.updating

    state = apply_event(state, changes_event([forget_checkpoints_before("next")]))
    assert state.checkpoints.names == ["next"]


def test_a_revision_that_is_not_known_is_skipped_by_its_length():
    state = state_after(EVENTS)
    newer = output.record(output.text("next"), b"whatever a newer Pravega knows", kind=9)

    assert "next" in apply_event(state, changes_event([newer])).checkpoints.waiting


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (changes_event([output.record(b"", kind=99)]), "a change of kind 99 is not known"),
        (changes_event([output.record(output.text("x"), kind=9, version=1)]), "a record of kind 9 has version 1"),
        (changes_event([b"\x01\x09"]), "serialization format 1"),
        (output.int32(3), "an event of kind 3"),
        (b"", "4 bytes are promised"),
        (changes_event([output.record(output.text("r1"), kind=2)]), "'r1' joins the group a second time"),
        (changes_event([output.record(output.text("nobody") + output.text("a/b/0.#epoch.0"), kind=5)]), "'nobody'"),
        (
            changes_event([output.record(output.text("r1") + output.text("a/b"), kind=5)]),
            "is not the name of a segment",
        ),
    ],
)
def test_what_is_not_understood_is_refused(event, reason):
    with pytest.raises(ReaderGroupStateError) as refused:
        apply_event(state_after(EVENTS), event)
    assert reason in str(refused.value)


def test_changes_before_any_state_are_refused():
    with pytest.raises(ReaderGroupStateError, match="before any state"):
        apply_event(None, EVENTS[1])


@given(st.integers(0, len(EVENTS) - 1), st.data())
def test_damaged_records_are_read_or_refused(number, data):
    event = bytearray(EVENTS[number])
    for _ in range(data.draw(st.integers(1, 4))):
        event[data.draw(st.integers(0, len(event) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(event)))
    before = state_after(EVENTS[:number]) if number else None

    for damaged in (bytes(event), bytes(event[:cut])):
        try:
            apply_event(before, damaged)
        except ReaderGroupStateError:
            before = state_after(EVENTS[:number]) if number else None


@given(st.binary(max_size=200))
def test_bytes_at_random_are_read_or_refused(data):
    for start in (b"", output.int32(1), output.int32(2)):
        try:
            apply_event(state_after(EVENTS), start + data)
        except ReaderGroupStateError as error:
            assert str(error)
