"""Rules of an upkeep: which files are put together, and which snapshots may expire."""

import pytest

from pravega_jobs.upkeep.rules import Upkept, expiring, groups

ANCESTORS = [(5, 500), (4, 400), (3, 300), (2, 200), (1, 100)]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([1], []),
        ([100, 100], []),
        ([60, 60], []),
        ([60, 50, 40, 50, 100, 300], [[60, 40], [50, 50]]),
        ([10] * 21, [[10] * 10, [10] * 10]),
    ],
)
def test_small_files_are_put_together_up_to_the_size_that_is_wanted(sizes, expected):
    assert groups(((each, each) for each in sizes), 100) == expected


@pytest.mark.parametrize(
    ("others", "kept", "cutoff", "expected"),
    [
        ([], {5}, 50, set()),
        ([], {5}, 100, set()),
        ([], {5}, 350, {1, 2}),
        ([], {5}, 999, {1, 2, 3, 4}),
        ([], {5, 2}, 999, {1}),  # a gap would end the history behind it
        ([(8, 250), (9, 350)], {5}, 350, {1, 2, 8}),
        ([(8, 250), (9, 350)], {5, 8}, 999, {1, 2, 3, 4, 9}),
    ],
)
def test_snapshots_expire_that_were_replaced_before_a_time(others, kept, cutoff, expected):
    assert expiring(ANCESTORS, others, kept, cutoff) == expected


def test_a_report_says_what_was_done_or_would_be():
    report = Upkept("delta:/t", dry_run=True, compacted_files=2, compacted_bytes=1000, new_files=1, left=("why",))
    assert str(report) == (
        "delta:/t: 2 files of 1,000 bytes would be put together to 1; 0 snapshots would be expired; "
        "0 files of 0 bytes would be removed; why"
    )
    assert report.to_json()["left"] == ["why"]
