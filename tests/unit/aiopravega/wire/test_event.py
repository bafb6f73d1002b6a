"""Frames of events: where they start, what is left over, and what is not an event."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import EventTooLargeError, MalformedEventError

MIB = 1024 * 1024


def framed(*events):
    return b"".join(wire.event_header(len(event)) + event for event in events)


def test_a_header_is_a_zero_and_the_length():
    assert wire.event_header(0x01_02_03).hex() == "0000000000010203"


def test_frames_start_one_after_the_other():
    assert wire.scan_frames(framed(b"a", b"", b"ccc"), 0, 28) == ([0, 9, 17], 28)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(kind):
    assert wire.scan_frames(kind(framed(b"abc")), 0, 11) == ([0], 11)


def test_nothing_has_no_frames():
    assert wire.scan_frames(b"", 0, 0) == ([], 0)


def test_events_of_no_bytes_are_events():
    assert wire.scan_frames(framed(b"", b"", b""), 0, 24) == ([0, 8, 16], 24)


def test_what_is_cut_off_at_the_end_is_left_over():
    data = framed(b"first", b"second")

    for end in range(13, len(data)):
        assert wire.scan_frames(data, 0, end) == ([0], 13)


def test_only_what_lies_between_start_and_end_is_scanned():
    data = b"\xff" * 5 + framed(b"a", b"b") + b"\xff" * 20

    assert wire.scan_frames(data, 5, 23) == ([5, 14], 23)


def test_the_longest_event_is_an_event():
    data = framed(bytes(8 * MIB), b"next")

    assert wire.scan_frames(data, 0, len(data)) == ([0, 8 + 8 * MIB], len(data))


@pytest.mark.parametrize("length", [8 * MIB, 8 * MIB + 1, wire.LARGEST_EVENT])
def test_the_longest_events_may_be_cut_off_too(length):
    assert wire.scan_frames(wire.event_header(length), 0, 8) == ([], 0)
    assert wire.frame_size(wire.event_header(length) + b"more") == 8 + length


def test_an_event_longer_than_wanted_is_refused_with_its_offset_and_size():
    data = framed(b"good", b"x" * 101)

    assert wire.scan_frames(data, 0, len(data), 101)[1] == len(data)
    with pytest.raises(EventTooLargeError, match="the event at 12 has 101 bytes") as refused:
        wire.scan_frames(data, 0, 20, 100)

    assert (refused.value.at, refused.value.size) == (12, 101)


def test_half_a_header_does_not_say_how_long_its_frame_is():
    assert wire.frame_size(wire.event_header(5)[:7]) == 0


@pytest.mark.parametrize(
    "header",
    [
        "000000007ffffff8",  # one byte more than Java writes
        "00000000ffffffff",  # a negative length
        "0000000100000001",  # another type
        "ffffffff00000001",
        "8000000000000000",
    ],
)
def test_what_cannot_be_a_header_is_refused_with_its_position(header):
    data = framed(b"good") + bytes.fromhex(header) + b"more"

    with pytest.raises(MalformedEventError, match="no event starts at 12") as refused:
        wire.scan_frames(data, 0, len(data))

    assert refused.value.at == 12


@given(st.lists(st.binary(max_size=50)), st.binary(max_size=7))
def test_all_events_are_found_whatever_they_are(events, rest):
    data = framed(*events)

    frames, end = wire.scan_frames(data + rest, 0, len(data) + len(rest))

    assert end == len(data)
    ends = [*frames[1:], end]
    assert [data[start + wire.EVENT_HEADER : stop] for start, stop in zip(frames, ends, strict=False)] == events


@given(st.binary(max_size=200))
def test_garbage_is_frames_or_a_malformed_event(data):
    try:
        frames, end = wire.scan_frames(data, 0, len(data))
    except MalformedEventError as error:
        assert 0 <= error.at <= len(data) - wire.EVENT_HEADER
        return
    assert frames == sorted(frames)
    assert 0 <= end <= len(data)
