"""Into how many pieces segments are split."""

import pytest

from pyspark_pravega.read.plan import SplitPolicy

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
