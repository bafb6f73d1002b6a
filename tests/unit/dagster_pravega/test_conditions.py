"""Conditions of automation: what cannot work is refused where it is written, and a daemon need not know them."""

from datetime import datetime, timedelta

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap

from aiopravega.errors import ConfigurationError
from dagster_pravega import PravegaCondition, build_automation_sensor, pravega_stream_spec


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PravegaCondition.late_events(0), "late_events is of 0 events, but must be of at least 1"),
        (lambda: PravegaCondition.bytes_waiting(0), "bytes_waiting is of 0 bytes, but must be of at least 1"),
        (lambda: PravegaCondition.lag_over(timedelta(seconds=-1)), "lag_over is of .*, but must not be negative"),
        (lambda: PravegaCondition.watermark_past(timedelta(-1)), "before now, but must not be negative"),
        (lambda: PravegaCondition.watermark_past(datetime(2026, 1, 1)), "has no time zone"),  # noqa: DTZ001 - it is what is refused
        (lambda: PravegaCondition.watermark_past(unit="days"), "days"),
    ],
    ids=["late", "bytes", "lag", "before now", "zone", "unit"],
)
def test_limits_that_cannot_work_are_refused_where_they_are_written(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_a_daemon_gets_the_names_of_conditions_and_not_their_classes():
    spec = pravega_stream_spec("shop/visits", key="visits")
    waits = PravegaCondition.bytes_waiting(10_000) & ~dg.AutomationCondition.in_progress()

    @dg.asset(deps=[spec], automation_condition=waits)
    def pages() -> None:
        pass

    definitions = dg.Definitions([spec, pages], sensors=[build_automation_sensor()])
    sent = dg.serialize_value(RepositorySnap.from_def(definitions.get_repository_def()))
    assert "bytes_waiting(10,000)" in sent
    assert "BytesWaiting" in sent  # the class of the node, as a text that pages show
    again = dg.deserialize_value(sent, RepositorySnap)
    [node] = [each for each in again.asset_nodes if each.asset_key == pages.key]
    assert node.automation_condition is None
    assert node.automation_condition_snapshot is not None


def test_the_sensor_evaluates_conditions_where_the_code_is():
    sensor = build_automation_sensor("mine", target=dg.AssetSelection.groups("shop"), run_tags={"team": "shop"})
    assert sensor.sensor_type.value == "AUTOMATION"
    assert sensor.run_tags == {"team": "shop"}
    changed = sensor.with_attributes(metadata={"team": "shop"})
    assert type(changed) is type(sensor)
    assert (changed.name, changed.run_tags, changed.sensor_type) == ("mine", sensor.run_tags, sensor.sensor_type)
    assert changed.asset_selection == sensor.asset_selection


def test_trees_of_other_limits_are_other_trees_for_dagster():
    first, second = (PravegaCondition.bytes_waiting(n).newly_true() for n in (1, 2))
    assert first.get_unique_id() != second.get_unique_id()
    assert first.get_unique_id() == PravegaCondition.bytes_waiting(1).newly_true().get_unique_id()
