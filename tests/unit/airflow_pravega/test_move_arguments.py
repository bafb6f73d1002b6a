"""Conditions on their way from the keywords of a sensor to its triggers."""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from inspect import signature
from typing import Any

import pytest

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.names import SegmentId, StreamName
from airflow_pravega.sensors.move_arguments import condition_of
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

ORDERS = StreamName("examples", "orders")
CUT = StreamCut(ORDERS, {SegmentId(ORDERS, 0, 0): 8})
# For each condition: a keyword of the sensor as a template renders it, and the field that it becomes.
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "min_bytes": ("100", 100),
    "quiet_for": (timedelta(minutes=1), 60.0),
    "sealed": (True, True),
    "min_events": ("7", 7),
    "max_bytes": ("200", 200),
    "reach": ({"start": StreamCut.unbounded().to_text(), "end": CUT.to_text()}, CUT),
    "watermark": ("2013-01-01T00:00:00Z", int(datetime(2013, 1, 1, tzinfo=UTC).timestamp() * 1000)),
    "max_events": (9, 9),
    "combine": ("any", Combine.ANY),
    "transactions": ("transactions", "transactions"),
}
CONDITIONS = [each.name for each in fields(MoveCondition)]
SOMETHING_TO_WAIT_FOR = {"combine": {"sealed": True}}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_comes_from_its_keyword_and_reaches_the_trigger(name):
    given, wanted = EXAMPLES[name]
    more: dict[str, Any] = SOMETHING_TO_WAIT_FOR.get(name, {})
    condition = condition_of(
        PravegaStreamCutSensor(task_id="wait", stream="examples/orders", **{name: given}, **more), "ms"
    )
    assert condition == MoveCondition(**{name: wanted}, **more)
    assert MoveCondition.from_json(json.loads(json.dumps(condition.to_json()))) == condition


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_keyword_that_is_left_out_or_empty_is_the_default_condition(name):
    default = signature(PravegaStreamCutSensor.__init__).parameters[name].default
    keywords: dict[str, Any] = {name: "" if name in PravegaStreamCutSensor.template_fields else default}
    sensor = PravegaStreamCutSensor(task_id="wait", stream="examples/orders", **keywords)
    assert condition_of(sensor, "ms") == MoveCondition()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quiet_for": 60}, "quiet_for is 60, but must be a timedelta"),
        ({"reach": 7}, "reach cannot be 7: give the text of a StreamCut, or a range"),
        ({"watermark": "2013-01-01T00:00:00"}, "has no zone"),
        ({"min_bytes": "few"}, "min_bytes is 'few', but must be a whole number"),
    ],
)
def test_an_argument_that_cannot_be_read_is_named(wrong, message):
    sensor = PravegaStreamCutSensor(task_id="wait", stream="examples/orders", **wrong)
    with pytest.raises(ConfigurationError, match=message):
        condition_of(sensor, "ms")
