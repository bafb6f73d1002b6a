"""Frames found by arrays are those that the simple loop finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import EventTooLargeError, MalformedEventError
from aiopravega.schema.arrow.frames import find_frames


def framed(lengths, filling=b"\x00"):
    return memoryview(b"".join(wire.event_header(length) + filling * length for length in lengths))


def both(buffer, start=0, end=None):
    """What the two scans find."""
    limit = len(buffer) if end is None else end
    positions, reached = find_frames(buffer, start, limit)
    assert positions.dtype == np.int32
    return (positions.tolist(), reached), wire.scan_frames(buffer, start, limit)


# Runs of one length, long and short, between single events.
runs = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 120)), max_size=12)


@given(runs, st.binary(min_size=1, max_size=1), st.integers(0, 70), st.integers(0, 200))
def test_runs_and_single_events_are_found_alike(found, filling, missing, lead):
    lengths = [length for length, count in found for _ in range(count)]
    buffer = memoryview(b"?" * lead + bytes(framed(lengths, filling)))

    ours, simple = both(buffer, lead, max(lead, len(buffer) - missing))

    assert ours == simple


@given(st.lists(st.integers(0, 5000), max_size=200))
def test_events_of_all_lengths_are_found_alike(lengths):
    ours, simple = both(framed(lengths, b"\x07"))

    assert ours == simple
    assert len(ours[0]) == len(lengths)


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param([], id="nothing"),
        pytest.param([0] * 10_000, id="no bytes"),
        pytest.param([100] * 20_000, id="one length"),
        pytest.param([100, 101] * 5_000, id="in turn"),
        pytest.param([100] * 9_000 + [7] + [100] * 9_000, id="one other"),
        pytest.param([3] * 33 + [4] * 33 + [5] * 32 + [6] * 31, id="runs of about the shortest"),
        pytest.param([300_000] * 3 + [10] * 50 + [8 * 1024 * 1024, 0, 1], id="large and small"),
    ],
)
def test_particular_lengths_are_found_alike(lengths):
    ours, simple = both(framed(lengths))

    assert ours == simple
    assert len(ours[0]) == len(lengths)


def test_headers_inside_events_are_not_taken_for_frames():
    # Each event is full of headers of its own length.
    event = wire.event_header(80) * 10
    buffer = memoryview(b"".join(wire.event_header(80) + event for _ in range(500)))

    ours, simple = both(buffer)

    assert ours == simple
    assert len(ours[0]) == 500


@pytest.mark.parametrize("good", [0, 10, 5_000])
@pytest.mark.parametrize("header", [b"\xff" * 8, b"\0\0\0\1" + bytes(4), (wire.LARGEST_EVENT + 1).to_bytes(8, "big")])
def test_what_is_not_a_header_is_refused_with_its_position(good, header):
    before = bytes(framed([50] * good))
    buffer = memoryview(before + header + bytes(100))

    with pytest.raises(MalformedEventError) as raised:
        find_frames(buffer, 0, len(buffer))
    assert raised.value.at == len(before)


@pytest.mark.parametrize("good", [0, 10, 5_000])
def test_an_event_that_is_longer_than_wanted_is_refused_with_its_place(good):
    buffer = framed([50] * good + [51] * 100)

    with pytest.raises(EventTooLargeError) as raised:
        find_frames(buffer, 0, len(buffer), 50)
    assert (raised.value.at, raised.value.size) == (58 * good, 51)
