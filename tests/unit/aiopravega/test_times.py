"""Event times: numbers of a unit, and points in time that are the same everywhere."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import TimeUnit
from aiopravega.errors import ConfigurationError

MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))]))


def test_a_number_is_taken_as_it_is():
    assert [unit.number(-7) for unit in TimeUnit] == [-7] * 4


def test_a_point_in_time_is_counted_in_the_unit_and_rounded_down():
    moment = datetime(2013, 1, 1, 1, 0, 0, 999_999, timezone(timedelta(hours=1)))

    assert TimeUnit.S.number(moment) == 1_356_998_400
    assert TimeUnit.MS.number(moment) == 1_356_998_400_999
    assert TimeUnit.US.number(moment) == 1_356_998_400_999_999
    assert TimeUnit.NS.number(moment) == 1_356_998_400_999_999_000


@given(MOMENTS)
def test_the_first_number_that_is_not_before_a_time_is_rounded_up(moment):
    for unit in (TimeUnit.S, TimeUnit.MS, TimeUnit.US):
        number = unit.first_number(moment)
        assert (number - 1) * unit < TimeUnit.US.number(moment) * TimeUnit.US <= number * unit
    assert TimeUnit.S.first_number(7) == 7


@given(MOMENTS)
def test_a_point_in_time_comes_back(moment):
    assert TimeUnit.US.moment(TimeUnit.US.number(moment)) == moment
    assert timedelta() <= moment - TimeUnit.S.moment(TimeUnit.S.number(moment)) < timedelta(seconds=1)


def test_a_point_in_time_without_zone_is_refused():
    with pytest.raises(ConfigurationError, match="2013-01-01T00:00:00 has no zone"):
        TimeUnit.MS.number(datetime(2013, 1, 1))  # noqa: DTZ001 - what users forget


@pytest.mark.parametrize("wrong", [1.5, "2013-01-01", None, True])
def test_what_is_not_a_time_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="an event time is"):
        TimeUnit.MS.number(wrong)


def test_a_number_that_pravega_cannot_keep_is_refused():
    assert TimeUnit.MS.number(2**63 - 1) == 2**63 - 1
    for wrong in (2**63, -(2**63)):
        with pytest.raises(ConfigurationError, match="64 bits"):
            TimeUnit.MS.number(wrong)


def test_a_number_of_another_unit_is_no_date():
    with pytest.raises(ConfigurationError, match="not a date if it counts ms"):
        TimeUnit.MS.moment(1_700_000_000_000_000_000)


def test_units_are_named():
    assert [TimeUnit.parse(name) for name in ("ns", "us", "MS", "s")] == list(TimeUnit)
    with pytest.raises(ConfigurationError, match="'h' is not a unit of event times: use one of ns, us, ms, s"):
        TimeUnit.parse("h")
