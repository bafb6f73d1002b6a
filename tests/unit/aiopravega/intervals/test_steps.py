"""Steps through time, and the intervals that they make."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.plans.steps import Step

JANUARY, NEXT_YEAR = datetime(2013, 1, 1, tzinfo=UTC), datetime(2014, 1, 1, tzinfo=UTC)


def test_a_length_of_time_divides_it():
    assert Step.parse("1d").times(JANUARY, JANUARY + timedelta(days=2)) == [JANUARY.replace(day=d) for d in (1, 2, 3)]
    assert len(Step.parse("15m").times(JANUARY, JANUARY + timedelta(hours=1))) == 5
    assert Step.parse("1w").times(JANUARY, NEXT_YEAR)[-2:] == [NEXT_YEAR - timedelta(days=1), NEXT_YEAR]


def test_months_are_those_of_the_calendar():
    months = Step.parse("1mo").times(JANUARY, NEXT_YEAR)

    assert months == [*(JANUARY.replace(month=month) for month in range(1, 13)), NEXT_YEAR]
    assert Step.parse("3 MO").times(JANUARY, NEXT_YEAR)[1] == JANUARY.replace(month=4)


def test_hours_have_60_minutes_when_clocks_go_back():
    since, until = datetime(2013, 11, 3, tzinfo=ZoneInfo("America/New_York")), datetime(2013, 11, 3, 8, tzinfo=UTC)

    edges = Step.parse("1h").times(since, until)

    assert [edge.hour for edge in edges[:-1]] == [0, 1, 1, 2]
    assert {b.astimezone(UTC) - a.astimezone(UTC) for a, b in pairwise(edges)} == {timedelta(hours=1)}


def test_days_are_those_of_the_zone():
    new_york = datetime(2013, 3, 9, tzinfo=ZoneInfo("America/New_York"))

    edges = Step.parse("1d").times(new_york, new_york + timedelta(days=3))

    assert [edge.hour for edge in edges] == [0] * 4
    assert [(b.astimezone(UTC) - a.astimezone(UTC)).seconds // 3600 for a, b in pairwise(edges)] == [
        0,
        23,
        0,
    ]


@pytest.mark.parametrize("text", ["1x", "d", "0d", "-1d", "1.5h", "month"])
def test_what_is_not_a_step_is_refused(text):
    with pytest.raises(ConfigurationError, match="is not a step in time: give a number and one of s, m, h, d, w, mo"):
        Step.parse(text)


def test_steps_that_cannot_be_made_are_refused():
    with pytest.raises(ConfigurationError, match="more than 100,000"):
        Step.parse("1m").times(JANUARY, NEXT_YEAR)
    with pytest.raises(ConfigurationError, match="a month without this day"):
        Step.parse("1mo").times(JANUARY.replace(day=31), NEXT_YEAR)
