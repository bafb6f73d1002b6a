"""The head of an answer to a read, for those who receive its data elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import ProtocolError

SEGMENT = "examples/orders/0.#epoch.0"


def payload_of(read):
    return wire.encode(read)[wire.FRAME_HEADER :]


@given(st.integers(0, 2**63 - 1), st.booleans(), st.booleans(), st.binary(max_size=100))
def test_the_head_says_what_the_whole_command_says(offset, at_tail, end_of_segment, data):
    head = wire.SegmentReadHead(SEGMENT)
    payload = payload_of(wire.SegmentRead(SEGMENT, offset, at_tail, end_of_segment, data, 1))

    assert head.parse(payload[: head.size], len(payload)) == (offset, len(data), end_of_segment)
    assert payload[head.size : head.size + len(data)] == data


def test_bytes_of_another_segment_are_refused():
    for other in ("examples/orders/1.#epoch.0", "examples/orders/10.#epoch.0"):
        payload = payload_of(wire.SegmentRead(other, 0, False, False, bytes(100), 1))
        with pytest.raises(ProtocolError, match="another segment"):
            wire.SegmentReadHead(SEGMENT).parse(payload, len(payload))


@pytest.mark.parametrize("promised", [-1, 101, 2**31 - 1])
def test_more_data_than_the_frame_has_is_refused(promised):
    head = wire.SegmentReadHead(SEGMENT)
    payload = bytearray(payload_of(wire.SegmentRead(SEGMENT, 0, False, False, bytes(92), 1)))
    payload[head.size - 4 : head.size] = promised.to_bytes(4, "big", signed=True)

    with pytest.raises(ProtocolError, match=f"promises {promised} bytes"):
        head.parse(payload, len(payload))
