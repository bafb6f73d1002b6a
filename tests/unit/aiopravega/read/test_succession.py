"""Which segments may begin when: splits, merges, and several scalings between two looks."""

import pytest

from aiopravega import SegmentId, StreamName
from aiopravega.control import Successor
from aiopravega.read.succession import Succession

STREAM = StreamName("scope", "stream")


class Scaled:
    """A stream of `{segment: those that replaced it}`, whose cut begins in some segments; `done` are read."""

    def __init__(self, replaced: dict[int, set[int]], begin: set[int]) -> None:
        self.replaced = replaced
        self.done: set[int] = set()
        self.asked: list[int] = []
        self.positions = {self.name(number): 0 for number in begin}
        self.succession = Succession(self.positions, self.successors, lambda segment: segment.number in self.done)

    def name(self, number: int) -> SegmentId:
        epochs = [self.name(each).epoch for each in self.before(number)]
        return SegmentId(STREAM, number, 1 + max(epochs, default=-1))

    async def successors(self, segment: SegmentId) -> list[Successor]:
        self.asked.append(segment.number)
        return [
            Successor(self.name(each), 0.0, 1.0, tuple(map(self.name, self.before(each))))
            for each in self.replaced.get(segment.number, ())
        ]

    def before(self, number: int) -> list[int]:
        return [each for each, after in self.replaced.items() if number in after]

    async def enter(self, *done: int) -> set[int]:
        """The segments of the cut once these are read, too."""
        self.done.update(done)
        await self.succession.enter()
        return {segment.number for segment in self.positions}


@pytest.mark.parametrize(
    ("replaced", "begin", "steps"),
    [
        ({0: {1, 2}}, {0}, [((), {0}), ((0,), {1, 2})]),
        ({0: {2}, 1: {2}}, {0, 1}, [((0,), {0, 1}), ((1,), {2})]),
        # 3 is of parts of both, so 2 waits for 1 too.
        ({0: {2, 3}, 1: {3, 4}}, {0, 1}, [((0,), {0, 1}), ((1,), {2, 3, 4})]),
        # 4 merges 1 and a later part of the split of 0, which the cut has not reached.
        ({0: {2, 3}, 3: {4}, 1: {4}}, {0, 1}, [((1,), {0, 1}), ((0,), {2, 3, 1}), ((3,), {2, 4})]),
        # A cut of a Java reader has left 1, while 2 waits for 0.
        ({0: {2}, 1: {2}}, {0}, [((0,), {2})]),
        # Scaled three times since the last look: one after the other, as each is read.
        ({0: {1, 2}, 1: {3}, 2: {3}, 3: {4}}, {0}, [((0,), {1, 2}), ((2,), {1, 2}), ((1,), {3}), ((3,), {4})]),
    ],
)
async def test_successors_enter_when_all_before_them_are_read(replaced, begin, steps):
    scaled = Scaled(replaced, begin)
    for done, expected in steps:
        assert await scaled.enter(*done) == expected


async def test_a_segment_without_successors_yet_is_asked_for_again():
    scaled = Scaled({}, {0, 1})
    assert await scaled.enter(0) == {0, 1}
    assert scaled.succession.is_unsettled()

    scaled.replaced[0] = {2}
    assert await scaled.enter() == {1, 2}
    assert not scaled.succession.is_unsettled()
    assert scaled.asked == [0, 0]


async def test_known_successors_are_not_asked_for_again():
    scaled = Scaled({0: {2}, 1: {2}}, {0, 1})
    for _ in range(3):
        await scaled.enter(0)
    assert scaled.asked == [0, 1]
