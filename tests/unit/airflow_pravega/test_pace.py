"""How often a stream is checked."""

import pytest

from airflow_pravega.polling.pace import CHECKS_PER_SECOND, IDLE, SHORTEST, Pace

LONGEST = 5.0


def pauses(changes: list[bool], longest: float = LONGEST, streams: int = 1) -> list[float]:
    pace = Pace()
    return [pace.next(changed, longest, streams) for changed in changes]


def test_an_idle_stream_is_checked_five_times_in_the_longest_pause():
    assert all(0.9 * LONGEST * IDLE <= pause <= LONGEST * IDLE for pause in pauses([False] * 50))


def test_a_stream_is_checked_more_often_while_it_moves():
    *_, busy = pauses([True] * 50)
    assert busy <= LONGEST / 20
    *_, idle = pauses([True] * 50 + [False] * 50)
    assert idle >= 0.9 * LONGEST * IDLE


@pytest.mark.parametrize("longest", [0.01, 0.1, 1.0, 60.0])
@pytest.mark.parametrize("streams", [1, 500, 100_000])
def test_pauses_never_exceed_the_longest_pause(longest, streams):
    assert all(0 < pause <= longest for pause in pauses([False] * 20 + [True] * 20, longest, streams))


def test_no_stream_is_checked_very_often_unless_it_was_promised():
    assert min(pauses([True] * 50)) >= 0.9 * SHORTEST
    assert max(pauses([True] * 50, longest=0.01)) <= 0.01


def test_many_streams_are_checked_less_often_each():
    streams = 1500
    for changed in (True, False):
        assert min(pauses([changed] * 50, streams=streams)) >= 0.9 * streams / CHECKS_PER_SECOND


def test_a_shorter_longest_pause_counts_at_once():
    pace = Pace()
    assert pace.next(False, 3600.0, 1) > 600
    assert pace.next(False, 1.0, 1) <= 1.0
