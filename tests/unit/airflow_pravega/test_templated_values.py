"""Intervals on their way between tasks, and what templates give: positions, times, numbers."""

from datetime import UTC, datetime
from typing import Any

import pendulum
import pytest

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord, Interval
from aiopravega.positions import NamedCut
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from airflow_pravega.tasks.arguments import optional_number, position_of, time_of, whole_number
from airflow_pravega.tasks.intervals import to_xcom

STREAM = StreamName("examples", "flights")
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)


def record(**times) -> CutRecord:
    cut = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 100})
    return CutRecord.new(Interval("ada", STREAM, "monday"), StreamCutRange(cut, cut), by="me", number=0, **times)


def test_the_xcom_of_an_interval_has_consumer_name_and_times():
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
def test_what_is_not_a_time_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="since is .* but must be a time with its zone"):
        time_of("since", wrong)


@pytest.mark.parametrize("wrong", ["2013-01-01", NEW_YEAR.replace(tzinfo=None)])
def test_a_time_without_zone_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="since is 2013-01-01T00:00:00, which has no zone"):
        time_of("since", wrong)


def test_a_position_is_a_text_or_the_end_of_a_range():
    cuts = record().range.to_json()

    assert position_of("earliest", STREAM) is NamedCut.HEAD
    assert position_of(cuts["start"], STREAM) == position_of(cuts, STREAM) == record().range.end


@pytest.mark.parametrize("wrong", [None, 7, ["earliest"], {"start": "earliest"}])
def test_what_is_not_a_position_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="a position in examples/flights cannot be"):
        position_of(wrong, STREAM)


def test_a_number_may_come_as_text_and_may_be_left_out():
    assert (whole_number("parts", "8"), whole_number("parts", 0)) == (8, 0)
    assert (optional_number("parts", " 8"), optional_number("parts", ""), optional_number("parts", None)) == (
        8,
        None,
        None,
    )


@pytest.mark.parametrize("wrong", ["many", -1, 1.5])
def test_another_number_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="parts is .* but must be a whole number of at least 0"):
        whole_number("parts", wrong)


def test_a_run_without_a_data_interval_is_told_that_it_has_none():
    sensor = PravegaEventTimeSensor(task_id="wait", stream=str(STREAM))
    interval: Any = {"data_interval_start": NEW_YEAR, "data_interval_end": NEW_YEAR.replace(day=2)}
    assert time_of("since", sensor.render_template(sensor.since, interval)) == NEW_YEAR
    for name in ("since", "until"):
        rendered = sensor.render_template(getattr(sensor, name), {})
        with pytest.raises(ConfigurationError, match="a run without a logical date has no data interval"):
            time_of(name, rendered)
