"""Events in Arrow become the frames that Pravega's writers make, and blocks cover them once and in order."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import ConfigurationError, EventTooLargeError
from pyspark_pravega.write.framing import FramedEvents, frame_events

EVENTS = st.lists(st.binary(max_size=300), max_size=40)


def framed(events: list[bytes]) -> bytes:
    return b"".join(wire.event_header(len(event)) + event for event in events)


def whole(frames: FramedEvents) -> bytes:
    return b"".join(block.payload for block in frames.blocks(0, len(frames)))


@given(EVENTS)
@example([])
@example([b""])
def test_frames_are_those_of_single_events(events: list[bytes]) -> None:
    frames = frame_events(pa.array(events, pa.binary()))

    assert whole(frames) == framed(events)
    assert len(frames) == len(events)


@given(EVENTS, st.data())
def test_a_slice_of_an_array_has_the_frames_of_its_events_only(events: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(events)))
    end = data.draw(st.integers(start, len(events)))

    frames = frame_events(pa.array(events, pa.binary()).slice(start, end - start))

    assert whole(frames) == framed(events[start:end])


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary_view()]
)
def test_every_kind_of_text_and_binary_is_framed(kind: pa.DataType) -> None:
    texts = ["", "ä", "longer than twelve bytes"]
    values = texts if "string" in str(kind) else [text.encode() for text in texts]

    frames = frame_events(pa.array(values, kind))

    assert whole(frames) == framed([text.encode() for text in texts])


@given(EVENTS, st.integers(1, 700))
def test_blocks_cover_all_events_once_in_order(events: list[bytes], largest: int) -> None:
    frames = frame_events(pa.array(events, pa.binary()))

    blocks = list(frames.blocks(0, len(events), largest=largest))

    assert b"".join(block.payload for block in blocks) == framed(events)
    assert sum(block.events for block in blocks) == len(events)
    assert all(block.size <= largest or block.events == 1 for block in blocks)


def test_what_is_a_little_longer_than_a_block_leaves_no_tiny_one() -> None:
    frames = frame_events(pa.array([bytes(92)] * 11, pa.binary()))

    assert [block.events for block in frames.blocks(0, 11, largest=1000)] == [5, 6]


@given(EVENTS, st.data())
def test_frames_can_be_taken_in_another_order(events: list[bytes], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(events))))

    taken = frame_events(pa.array(events, pa.binary())).take(np.array(order, np.intp))

    assert whole(taken) == framed([events[index] for index in order])


def test_a_null_event_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigurationError, match=r"1 of 3 rows have no event.*row 1"):
        frame_events(pa.array([b"a", None, b"c"], pa.binary()))


def test_an_event_of_8_mib_is_framed_and_one_more_byte_is_refused() -> None:
    largest = pa.array([b"x" * wire.MAX_EVENT], pa.binary())
    assert len(whole(frame_events(largest))) == wire.EVENT_HEADER + wire.MAX_EVENT

    with pytest.raises(EventTooLargeError, match=r"row 1 .* 8,388,609 bytes"):
        frame_events(pa.array([b"small", b"x" * (wire.MAX_EVENT + 1)], pa.binary()))
