"""Into how many pieces segments are split, and which of them share a task."""

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan, LessThan

from aiopravega.cuts import SegmentRange
from aiopravega.names import SegmentId, StreamName
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.filters import Pushed
from pyspark_pravega.read.packing import pack
from pyspark_pravega.read.plan import SegmentPiece, SplitPolicy, needed

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("tasks", "sizes", "expected"),
    [
        (4, [100 * MB], [4]),
        (4, [25 * MB] * 4, [1, 1, 1, 1]),
        (4, [24 * MB, 26 * MB, 25 * MB, 25 * MB], [1, 1, 1, 1]),
        (4, [10] * 8, [1] * 8),
        (4, [1000 * MB, MB, MB, MB], [4, 1, 1, 1]),
        (4, [30 * MB, 30 * MB], [2, 2]),
        (5, [30 * MB, 30 * MB], [3, 2]),
        (8, [3 * MB], [3]),
        (8, [MB // 2], [1]),
        (2, [10 * 1024 * MB], [10]),
        (4, [], []),
    ],
)
def test_there_are_at_least_as_many_pieces_as_tasks_if_they_are_worth_it(tasks, sizes, expected):
    assert SplitPolicy(min_partitions=tasks).pieces(sizes) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (SplitPolicy(0), [1, 1]),
        (SplitPolicy(0, 10), [1, 1]),
        (SplitPolicy(10 * MB), [2, 1]),
        (SplitPolicy(1), [20 * MB, MB]),
        (SplitPolicy(10 * MB, 4), [3, 1]),
    ],
)
def test_the_user_may_say_how_large_pieces_are(policy, expected):
    assert policy.pieces([20 * MB, MB]) == expected


def tasks(sizes, split):
    """The numbers of the pieces of each task."""
    parts = [
        SegmentRange(SegmentId(StreamName("shop", "orders"), number, 0), 0, size) for number, size in enumerate(sizes)
    ]
    packed = pack([SegmentPiece(part, part) for part in parts], split)
    return [[piece.part.segment.number for piece in task.pieces] for task in packed]


@pytest.mark.parametrize(
    ("sizes", "split", "expected"),
    [
        ([60] * 4, SplitPolicy(), [[0, 1, 2, 3]]),
        ([60] * 4, SplitPolicy(split_bytes=0), [[0], [1], [2], [3]]),
        ([25 * MB] * 4, SplitPolicy(min_partitions=2), [[0], [1], [2], [3]]),
        ([60, 60, 25 * MB, 60, 60], SplitPolicy(min_partitions=2), [[0, 1], [2], [3, 4]]),
        ([2 * MB] * 4, SplitPolicy(min_partitions=2), [[0, 1], [2, 3]]),
        ([2 * MB] * 4, SplitPolicy(min_partitions=4), [[0], [1], [2], [3]]),
        ([5 * MB, 5 * MB, MB], SplitPolicy(split_bytes=10 * MB), [[0], [1, 2]]),
        ([5 * MB, 4 * MB, MB], SplitPolicy(split_bytes=10 * MB), [[0, 1], [2]]),
        ([5 * MB, 5 * MB, MB], SplitPolicy(split_bytes=10 * MB, min_partitions=3), [[0], [1], [2]]),
        ([], SplitPolicy(), []),
    ],
)
def test_small_pieces_that_follow_one_another_share_a_task(sizes, split, expected):
    assert tasks(sizes, split) == expected


def test_many_small_segments_make_as_many_tasks_as_run_at_a_time():
    assert [len(task) for task in tasks([84] * 200, SplitPolicy(min_partitions=2))] == [100, 100]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], [(0, True), (100, True), (200, True), (300, True)]),
        ([LessThan(("offset",), 150)], [(0, True), (100, True)]),
        # The pieces before prove where the last one begins.
        ([GreaterThan(("offset",), 300)], [(0, False), (100, False), (200, False), (300, True)]),
        ([EqualTo(("offset",), 150)], [(0, False), (100, True)]),
        ([EqualTo(("offset",), 500)], []),
    ],
)
def test_pieces_before_a_fitting_one_are_read_for_their_proof(filters, expected):
    pushed = Pushed()
    pushed.add(filters, Columns.of())
    segments = [SegmentId(StreamName("shop", "orders"), number, 0) for number in (0, 1)]
    wholes = [SegmentRange(segment, 0, 400) for segment in segments]
    pieces = [
        SegmentPiece(SegmentRange(whole.segment, start, start + 100), whole)
        for whole in wholes
        for start in range(0, 400, 100)
    ]

    found = [(piece.part.segment.number, piece.part.start, piece.gives_rows) for piece in needed(pieces, pushed)]

    assert found == [(number, *one) for number in (0, 1) for one in expected]
