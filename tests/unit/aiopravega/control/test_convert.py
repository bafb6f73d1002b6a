"""Messages and our types: ids of transactions and segments at their limits."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.control.convert import key_ranges, positions, segment_id, stream_info, txn_id, uuid_of
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.names import SegmentId, StreamName

STREAM = StreamName("scope", "stream")


@given(st.uuids() | st.sampled_from([uuid.UUID(int=value) for value in (0, 1, 2**63, 2**64 - 1, 2**64, 2**128 - 1)]))
def test_a_transaction_id_survives_as_two_signed_halves(txn):
    message = pb.TxnId.FromString(txn_id(txn).SerializeToString())

    assert uuid_of(message) == txn


def test_the_high_half_of_a_transaction_id_comes_first():
    message = txn_id(uuid.UUID("00000001-0000-0002-8000-000000000003"))

    assert message.highBits == 0x0000_0001_0000_0002
    assert message.lowBits == 3 - 2**63


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_a_segment_keeps_number_and_epoch(number, epoch):
    segment = SegmentId(STREAM, number, epoch)

    assert SegmentId.from_int(STREAM, segment_id(segment).segmentId) == segment
    assert positions({segment: 7}) == {epoch << 32 | number: 7}


def test_segments_come_in_the_order_of_the_key_space():
    ranges = [
        pb.SegmentRange(segmentId=pb.SegmentId(segmentId=2), minKey=0.5, maxKey=1.0),
        pb.SegmentRange(segmentId=pb.SegmentId(segmentId=1 << 32 | 3), minKey=0.0, maxKey=0.5),
    ]

    assert [entry.segment for entry in key_ranges(STREAM, ranges)] == [SegmentId(STREAM, 3, 1), SegmentId(STREAM, 2, 0)]


@pytest.mark.parametrize(("access", "number"), [("NONE", 1), ("READ", 3), ("WRITE", 4), ("READ_WRITE", 5)])
def test_a_stream_says_which_access_a_token_is_to_grant(access, number):
    assert stream_info(STREAM, access).accessOperation == number
