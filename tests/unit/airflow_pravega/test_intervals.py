"""Intervals on their way between tasks, and times that templates give."""

from datetime import UTC, datetime

import pendulum
import pytest

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord, Interval
from airflow_pravega.intervals import to_xcom
from airflow_pravega.templated_values import time_of

STREAM = StreamName("examples", "flights")
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)


def record(**times) -> CutRecord:
    cut = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 100})
    return CutRecord.new(Interval("ada", STREAM, "monday"), StreamCutRange(cut, cut), by="me", number=0, **times)


def test_an_interval_says_whose_it_is_and_of_which_times():
    plain = to_xcom(record())

    assert plain == {**record().range.to_json(), "consumer": "ada", "interval": "monday"}
    timed = to_xcom(record(times=(NEW_YEAR, NEW_YEAR.replace(day=2))))
    assert timed == plain | {"since": "2013-01-01T00:00:00+00:00", "until": "2013-01-02T00:00:00+00:00"}


@pytest.mark.parametrize(
    "given",
    [
        NEW_YEAR,
        "2013-01-01T00:00:00Z",
        "2013-01-01 00:00:00+00:00",
        str(pendulum.instance(NEW_YEAR)),
        " 2013-01-01T01+01 ",
    ],
)
def test_a_time_comes_as_templates_write_it(given):
    assert time_of("since", given) == NEW_YEAR


@pytest.mark.parametrize("wrong", ["", "None", "yesterday", "1357017420"])
def test_what_is_no_time_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="since is .* but must be a time with its zone"):
        time_of("since", wrong)


@pytest.mark.parametrize("wrong", ["2013-01-01", NEW_YEAR.replace(tzinfo=None)])
def test_a_time_without_zone_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="since is 2013-01-01T00:00:00, which has no zone"):
        time_of("since", wrong)
