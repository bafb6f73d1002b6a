"""Times of watermarks as Spark's timestamps, in the unit that the user names."""

import pytest

from aiopravega.errors import ConfigurationError
from aiopravega.times import TimeUnit
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.time_columns import microseconds

OPTIONS = {"stream": "examples/orders"}


def test_times_are_milliseconds_unless_said_otherwise():
    assert ReadOptions.parse(OPTIONS).event_time_unit is TimeUnit.MS
    assert ReadOptions.parse(OPTIONS | {"event_time_unit": "Ns"}).event_time_unit is TimeUnit.NS


@pytest.mark.parametrize(
    ("unit", "time"), [("s", 1_700_000_000), ("ms", 1_700_000_000_000), ("us", 1_700_000_000_000_000)]
)
def test_a_time_of_each_unit_is_the_same_timestamp(unit, time):
    assert microseconds(TimeUnit[unit.upper()], time) == 1_700_000_000_000_000


def test_a_lower_bound_is_rounded_down():
    assert microseconds(TimeUnit.NS, 1_999) == 1
    assert microseconds(TimeUnit.NS, -1) == -1
    assert microseconds(TimeUnit.MS, None) is None


def test_an_unknown_unit_and_a_time_in_another_one_are_refused():
    with pytest.raises(
        ConfigurationError,
        match="'event_time_unit': 'hours' is not a unit.*: use one of ns, us, ms, s",
    ):
        ReadOptions.parse(OPTIONS | {"event_time_unit": "hours"})
    with pytest.raises(ConfigurationError, match="the time 1700000000000000000, which is not a date if it counts ms"):
        microseconds(TimeUnit.MS, 1_700_000_000_000_000_000)
