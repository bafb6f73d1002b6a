"""Events without routing keys become blocks: every event once, in order, no block too large."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import EventTooLargeError
from aiopravega.write.batch import BLOCK_BYTES, BLOCK_EVENTS, FramedBlock, keyless_blocks

KIB = 1024


def events_of(blocks: list[FramedBlock]) -> list[bytes]:
    found = []
    for block in blocks:
        starts, end = wire.scan_frames(block.payload, 0, block.size)
        assert (len(starts), end) == (block.events, block.size)
        borders = [*starts, end]
        found += [bytes(block.payload[a + 8 : b]) for a, b in pairwise(borders)]
    return found


@given(st.lists(st.sampled_from([0, 1, 100, 2 * KIB, 300 * KIB, 1024 * KIB - 8, 1024 * KIB, 3072 * KIB]), max_size=30))
def test_blocks_hold_every_event_once_and_in_order(sizes: list[int]) -> None:
    events = [bytes([number]) * size for number, size in enumerate(sizes)]
    blocks = list(keyless_blocks(events))
    assert events_of(blocks) == events
    assert all(block.size <= BLOCK_BYTES or block.events == 1 for block in blocks)


def test_small_events_fill_blocks() -> None:
    blocks = list(keyless_blocks(b"x" for _ in range(2 * BLOCK_EVENTS + 1)))
    assert [block.events for block in blocks] == [BLOCK_EVENTS, BLOCK_EVENTS, 1]


def test_events_before_one_that_is_too_large_are_given() -> None:
    blocks = keyless_blocks([b"a", b"b", bytes(wire.MAX_EVENT + 1), b"c"])
    assert events_of([next(blocks)]) == [b"a", b"b"]
    with pytest.raises(EventTooLargeError, match="8,388,609"):
        next(blocks)
