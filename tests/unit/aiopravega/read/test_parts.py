"""How cuts go forward through segments that follow one another."""

import pytest

from aiopravega import SegmentId, StreamName
from aiopravega.cuts import SegmentRange
from aiopravega.read.parts import Stages

STREAM = StreamName("examples", "orders")


def segment(number: int, epoch: int) -> SegmentId:
    return SegmentId(STREAM, number, epoch)


A, B = segment(0, 0), segment(1, 0)
C, D = segment(2, 1), segment(3, 1)  # replace A
E = segment(4, 2)  # replaces D and B
SIZES = {A: 100, B: 300, C: 200, D: 100, E: 300}
PARTS = [SegmentRange(one, 10, 10 + size) for one, size in SIZES.items()]
SUCCESSORS = {A: [C, D], B: [E], D: [E]}


def targets(share: float) -> dict[SegmentId, int]:
    return Stages.of(PARTS, [A, B], SUCCESSORS).targets(share)


def test_a_cut_has_the_segments_of_one_time_only():
    # B takes part in the stages of A, and of C and D; C in the last two.
    assert targets(0).keys() == {A, B}
    assert targets(0.2).keys() == {A, B}
    assert targets(0.26).keys() == {B, C, D}
    assert targets(0.59).keys() == {B, C, D}
    assert targets(0.61).keys() == {C, E}
    assert targets(1).keys() == {C, E}


@pytest.mark.parametrize("share", [number / 20 for number in range(21)])
def test_a_cut_has_about_its_share_of_the_bytes_before_it(share):
    wanted = targets(share)
    gone = {A, B, C, D, E} - wanted.keys() if E in wanted else {A} if C in wanted else set()
    before = sum(SIZES[one] for one in gone) + sum(offset - 10 for offset in wanted.values())

    assert before == pytest.approx(share * 1000, abs=5)


def test_offsets_never_go_back():
    last: dict[SegmentId, int] = {}
    for number in range(101):
        wanted = targets(number / 100)
        assert all(offset >= last.get(one, 10) for one, offset in wanted.items())
        last |= wanted


def test_a_range_without_bytes_is_one_stage():
    assert Stages.of([SegmentRange(A, 5, 5)], [A], {}).targets(0.5) == {A: 5}
