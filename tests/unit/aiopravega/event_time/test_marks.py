"""Marks as a real controller wrote them, and what they say about cuts."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.errors import ProtocolError
from aiopravega.event_time.marks import Watermark

STREAM = StreamName("examples", "orders")
MARKS = json.loads((Path(__file__).parents[3] / "vectors" / "watermarks.json").read_text(encoding="utf-8"))


def segment(number: int, epoch: int = 0) -> SegmentId:
    return SegmentId(STREAM, number, epoch)


def cut(**offsets: int) -> StreamCut:
    """`s1e2=5` is offset 5 of segment 1 of epoch 2."""
    positions = {segment(*map(int, name[1:].split("e"))): offset for name, offset in offsets.items()}
    return StreamCut(STREAM, positions)


@pytest.mark.parametrize("mark", MARKS, ids=[mark["note"] for mark in MARKS])
def test_marks_of_a_real_controller_are_read(mark):
    found = Watermark.parse(bytes.fromhex(mark["hex"]), STREAM)

    assert (found.lower, found.upper) == (mark["lower"], mark["upper"])
    assert found.positions == {
        SegmentId.from_int(STREAM, entry["segmentId"]): entry["offset"] for entry in mark["positions"]
    }


@pytest.mark.parametrize("mark", MARKS[:3], ids=[mark["note"] for mark in MARKS[:3]])
def test_a_mark_that_is_cut_off_or_too_long_is_refused(mark):
    data = bytes.fromhex(mark["hex"])

    for wrong in (*(data[:length] for length in range(len(data))), data + b"\0", b"\1" + data[1:]):
        with pytest.raises(ProtocolError, match="marks of examples/orders is not a watermark"):
            Watermark.parse(wrong, STREAM)


@given(st.binary(max_size=200))
def test_garbage_is_no_mark(data):
    with pytest.raises(ProtocolError):
        Watermark.parse(data, STREAM)


MARK = Watermark(10, 20, {segment(0): 100, segment(1): 200})


def test_a_mark_is_before_a_cut_that_has_passed_all_of_its_positions():
    assert MARK.is_before(cut(s0e0=100, s1e0=300))
    assert not MARK.is_before(cut(s0e0=100, s1e0=199))


def test_a_mark_is_after_a_cut_that_has_passed_none_of_its_positions():
    assert MARK.is_behind(cut(s0e0=0, s1e0=200))
    assert not MARK.is_behind(cut(s0e0=101, s1e0=0))


def test_a_later_epoch_lies_after_a_mark_and_an_earlier_one_before_it():
    later = Watermark(10, 20, {segment(2, 1): 0, segment(3, 1): 0})

    assert MARK.is_before(cut(s0e0=500, s2e1=0))
    assert not MARK.is_behind(cut(s0e0=50, s2e1=0))
    assert later.is_behind(cut(s0e0=50, s1e0=60))
    assert not later.is_before(cut(s0e0=50, s1e0=60))


def test_the_end_of_a_segment_lies_after_every_position_in_it():
    assert MARK.is_before(cut(s0e0=-1, s1e0=200))
    assert not MARK.is_behind(cut(s0e0=-1, s1e0=0))
