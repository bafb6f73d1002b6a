"""Starts of events found in the middle of bytes: always true ones, or none, whatever the events contain."""

import random
import struct
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aiopravega.read.boundaries import find_boundary, window_bytes

MAX = 8 * 1024 * 1024
LONGEST = 2**31 - 9


def framed(events: list[bytes]) -> bytes:
    return b"".join(struct.pack(">q", len(event)) + event for event in events)


def starts(events: list[bytes]) -> set[int]:
    return set(accumulate((8 + len(event) for event in events), initial=0))


def found(events: list[bytes], at: int, largest: int = MAX) -> int | None:
    """What a window that begins at `at` finds, as a position in all of the bytes."""
    return found_at(events, [at], largest)[at]


def found_at(events: list[bytes], offsets: list[int], largest: int = MAX) -> dict[int, int | None]:
    """The same for windows at several offsets."""
    stream = framed(events)
    positions = {at: find_boundary(stream[at : at + window_bytes(largest)], largest) for at in offsets}
    return {at: None if position is None else at + position for at, position in positions.items()}


def repeated(event: bytes, size: int) -> list[bytes]:
    return [event] * (size // (8 + len(event)) + 1)


def json(number: int, size: int) -> bytes:
    text = b'{"id": %d, "carrier": "UA", "delay": %d, "note": "' % (number, number % 97)
    return text.ljust(size - 2, b"x") + b'"}'


def random_events(seed: int, least: int, most: int, size: int) -> list[bytes]:
    chance, events, total = random.Random(seed), [], 0
    while total < size:
        events.append(chance.randbytes(chance.randint(least, most)))
        total += 8 + len(events[-1])
    return events


SIZE = window_bytes() + 5_000_000
FRAMES_INSIDE = framed([json(number, 120) for number in range(MAX // 128)])
ORDINARY = {
    "JSON of 100 bytes": [json(number, 100) for number in range(SIZE // 108 + 1)],
    "JSON of one kilobyte": [json(number, 1000) for number in range(SIZE // 1008 + 1)],
    "random bytes": random_events(1, 0, 3000, SIZE),
    "mixed sizes": [*random_events(2, 0, 50, SIZE // 2), *random_events(3, 0, 900_000, SIZE // 2)],
    "the largest events": [json(1, MAX)] * 4,
    "the largest events, full of frames, in a row": [FRAMES_INSIDE] * 4,
    "JSON around large events with frames inside": [
        *repeated(json(1, 100), 2_000_000),
        FRAMES_INSIDE,
        *repeated(json(2, 100), SIZE),
    ],
}
DOUBTFUL = {
    "the largest events, of zeros": [bytes(MAX)] * 4,
    "events of no bytes": [b""] * (SIZE // 8),
    "zeros": repeated(bytes(1000), SIZE),
}


OFFSETS = [0, 1, 54_321, 1_999_999, 4_000_000]


@pytest.mark.parametrize("events", ORDINARY.values(), ids=ORDINARY)
def test_an_event_start_is_found_in_what_people_write(events):
    right = starts(events)
    assert {at: start for at, start in found_at(events, OFFSETS).items() if start not in right} == {}


@pytest.mark.parametrize("events", DOUBTFUL.values(), ids=DOUBTFUL)
def test_payloads_made_to_fool_it_give_a_true_start_or_none(events):
    right = starts(events) | {None}
    assert {at: start for at, start in found_at(events, OFFSETS).items() if start not in right} == {}


def test_frames_inside_an_event_are_not_taken_for_events():
    events = [FRAMES_INSIDE, FRAMES_INSIDE, FRAMES_INSIDE, json(1, 100)]
    inside = 8 + len(framed([json(0, 120)])) * 3  # a frame of the payload starts here

    assert found(events, inside) == 2 * (8 + MAX)


def test_a_window_that_is_too_small_for_certainty_is_refused():
    with pytest.raises(ValueError, match="less than two frames"):
        find_boundary(bytes(window_bytes() - 1))


def test_bytes_that_are_no_events_have_no_start():
    assert find_boundary(b"x" * window_bytes()) is None
    assert find_boundary(bytes(window_bytes())) is None


SPARSE = bytearray(2 * SIZE)
for index in random.Random(4).sample(range(2 * SIZE), SIZE // 25):
    SPARSE[index] = index % 251 + 1
INSIDE_LONG_EVENTS = {
    "random bytes": random.Random(5).randbytes(SIZE),
    "sparse bytes, as images and arrays have them": bytes(SPARSE[SIZE:]),
    "zeros": bytes(SIZE),
    "text": b"0123456789" * (SIZE // 10 + 1),
}


@pytest.mark.parametrize("data", INSIDE_LONG_EVENTS.values(), ids=INSIDE_LONG_EVENTS)
def test_nothing_is_said_of_bytes_inside_a_long_event(data):
    for at in OFFSETS:
        assert find_boundary(data[at : at + window_bytes()], longest=LONGEST) is None


@pytest.mark.parametrize("data", INSIDE_LONG_EVENTS.values(), ids=INSIDE_LONG_EVENTS)
@pytest.mark.parametrize("before", [1_000_000, 7_000_000, 12_000_000])
def test_before_a_long_event_a_true_start_is_found_or_none(data, before):
    events = [*repeated(json(1, 1000), before), data]
    right = starts(events) | {None}

    assert find_boundary(framed(events)[: window_bytes()], longest=LONGEST) in right


@pytest.mark.parametrize("data", INSIDE_LONG_EVENTS.values(), ids=INSIDE_LONG_EVENTS)
@pytest.mark.parametrize("before", [1_000_000, 7_000_000, 12_000_000])
def test_after_a_long_event_a_true_start_is_found_or_none(data, before):
    events = [data, *repeated(json(1, 1000), SIZE)]
    right = starts(events) | {None}
    begin = len(data) + 8 - before

    found = find_boundary(framed(events)[begin : begin + window_bytes()], longest=LONGEST)

    assert (None if found is None else begin + found) in right


@pytest.mark.parametrize("name", ["JSON of 100 bytes", "JSON of one kilobyte", "random bytes"])
def test_small_events_are_believed_although_long_ones_may_exist(name):
    events, begin = ORDINARY[name], 54_321

    found = find_boundary(framed(events)[begin : begin + window_bytes()], longest=LONGEST)

    assert found is not None
    assert begin + found in starts(events)


@pytest.mark.parametrize("name", ["the largest events", "the largest events, full of frames, in a row"])
def test_two_large_events_are_believed_if_few_positions_could_be_a_start(name):
    window = framed(ORDINARY[name])[: window_bytes()]
    believed = {"the largest events": 2 * (MAX + 8)}.get(name)

    assert find_boundary(window) is not None
    assert find_boundary(window, longest=LONGEST) == believed


LARGEST = 60
small = st.binary(max_size=LARGEST)
few_values = st.lists(st.sampled_from([0, 0, 0, 0, 1, 8, 16, 20]), max_size=LARGEST).map(bytes)
nested = st.lists(st.binary(max_size=12), max_size=3).map(framed).map(lambda data: data[:LARGEST])
zeros = st.integers(0, LARGEST).map(bytes)


@settings(max_examples=2000, deadline=None)
@given(st.lists(st.one_of(small, few_values, nested, zeros), min_size=1, max_size=60), st.integers(0, 500))
@example([b"", bytes(43), bytes(56), b""], 0)  # zeros up to the header that the window's end cuts off
def test_a_start_that_is_found_is_a_true_one(events, at):
    """With a smaller limit for events, so that chance reaches all that 8 MiB could hide."""
    data = framed(events)
    if len(data) - at < window_bytes(LARGEST):
        events = events + [json(1, 52)] * 20 + events
        at %= len(data)

    assert found(events, at, LARGEST) in starts(events) | {None}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=LARGEST).map(str.encode), min_size=40), st.integers(0, 100))
def test_a_start_is_always_found_between_events_of_text(events, at):
    events = events + [b"abcdefgh" * 5] * 10

    assert found(events, at, LARGEST) in starts(events)
