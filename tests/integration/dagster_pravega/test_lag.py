"""Observed streams, and checks of how far a consumer is behind: no event is read to be observed."""

from datetime import timedelta

import dagster as dg
import pytest
from dagster._core.definitions.observe import observe as observe_assets

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions.group_condition import GroupPosition
from aiopravega.ledger import Interval
from dagster_pravega import (
    PravegaResource,
    build_observed_stream,
    build_reader_group_lag_check,
    build_reader_group_sensor,
    build_stream_lag_check,
    pravega_stream_spec,
)

CONSUMER = "billing"
EVENTS = [f"event {number}" for number in range(10)]
BYTES = sum(8 + len(event) for event in EVENTS)


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def stream(make_stream, append):
    stream = make_stream()
    append(stream, EVENTS)
    return stream


@pytest.fixture
def resources(pravega_config):
    return {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}


@pytest.fixture
def record(client, stream):
    """Records a range of the consumer up to the tail as it is."""
    ledger = client.cut_ledger(stream.scope)
    ledger.create()

    def record(name: str, *, done: bool):
        interval = Interval(CONSUMER, stream, name)
        last = ledger.last(interval)
        start = client.head(stream) if last is None else last.end
        ledger.record(interval, StreamCutRange(start, client.tail(stream)), last)
        if done:
            ledger.finish(interval)

    return record


@pytest.fixture
def check(stream, resources, instance):
    """The verdict of a check, its severity, description and metadata."""

    def check(**limits):
        spec = pravega_stream_spec(str(stream))
        lag = build_stream_lag_check(spec, stream=str(stream), consumer=CONSUMER, **limits)
        job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())
        definitions = dg.Definitions([spec], asset_checks=[lag], resources=resources, jobs=[job])
        result = definitions.resolve_job_def("job").execute_in_process(instance=instance)
        [found] = result.get_asset_check_evaluations()
        metadata = {name: entry.value for name, entry in found.metadata.items()}
        return found.passed, found.severity, found.description, metadata

    return check


def test_a_consumer_without_intervals_is_behind_by_all_of_the_stream(check, stream, client):
    passed, severity, text, metadata = check(warn_bytes=BYTES - 1, error_bytes=BYTES)
    assert (passed, severity) == (False, dg.AssetCheckSeverity.WARN)
    assert f"{BYTES:,} bytes behind, more than {BYTES - 1:,}" in text
    assert metadata["pravega/lag_bytes"] == BYTES
    assert metadata["pravega/lag_seconds"] == "not known"
    assert metadata["pravega/cuts"]["end"] == client.tail(stream).to_text()
    assert check(error_after=timedelta(days=1))[:2] == (False, dg.AssetCheckSeverity.ERROR)


def test_what_is_done_counts_and_what_is_open_does_not(check, record, append, stream):
    record("1", done=True)
    passed, _, _, metadata = check(error_bytes=0, error_events=0, error_after=timedelta())
    assert (passed, metadata["pravega/lag_bytes"], metadata["pravega/lag_seconds"]) == (True, 0, 0)
    append(stream, ["more"])
    record("2", done=False)
    append(stream, ["and more"])
    passed, severity, _, metadata = check(error_bytes=1, warn_bytes=0)
    assert (passed, severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert metadata["pravega/lag_bytes"] == 12 + 16
    assert metadata["pravega/waiting_intervals"] == ["2"]
    assert metadata["pravega/lag_seconds"] > 0
    assert check(warn_after=timedelta(days=1))[0]


def test_events_are_counted_no_further_than_the_greatest_limit(check):
    passed, severity, text, metadata = check(warn_events=2, error_events=4)
    assert (passed, severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "at least 5 events behind, more than 4" in text
    assert metadata["pravega/lag_events"] == "at least 5"
    assert check(warn_events=10)[0]
    assert check(warn_events=10)[3]["pravega/lag_events"] == 10
    assert "pravega/lag_events" not in check(warn_bytes=10_000)[3]


def test_what_was_removed_before_it_was_processed_is_an_error(check, record, append, client, stream):
    record("1", done=True)
    append(stream, ["more"])
    client.truncate_stream(client.tail(stream))
    passed, severity, text, _ = check(warn_bytes=10_000)
    assert (passed, severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "12 bytes were removed before the consumer had processed them" in text


def test_an_observation_has_a_new_version_only_after_a_write(stream, append, resources, instance, client):
    observed = build_observed_stream(pravega_stream_spec(str(stream), options={"decode": "json"}))

    def observe():
        result = observe_assets([observed], resources=resources, instance=instance)
        [event] = result.get_asset_observation_events()
        observation = event.asset_observation_data.asset_observation
        return observation.tags["dagster/data_version"], {k: v.value for k, v in observation.metadata.items()}

    first, metadata = observe()
    assert first == client.tail(stream).to_text()
    assert metadata["pravega/readable_bytes"] == BYTES
    again, of_same_tail = observe()
    assert again == first
    append(stream, ["more"])
    other, of_write = observe()
    assert other != first
    times = [each["dagster/last_updated_timestamp"] for each in (metadata, of_same_tail, of_write)]
    assert times[0] <= times[1] < times[2]
    assert observed.specs_by_key[dg.AssetKey([stream.scope, stream.stream])].metadata["pravega/options"] == {
        "decode": "json"
    }


def test_a_reader_group_is_checked(client, stream, resources, instance):
    client.create_reader_group(stream.scope, "group", [stream])
    spec = pravega_stream_spec(str(stream))

    def verdict(**limits):
        check = build_reader_group_lag_check(spec, group=f"{stream.scope}/group", **limits)
        job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())
        definitions = dg.Definitions([spec], asset_checks=[check], resources=resources, jobs=[job])
        result = definitions.resolve_job_def("job").execute_in_process(instance=instance)
        (found,) = result.get_asset_check_evaluations()
        return found

    passed = verdict(error_bytes=BYTES)
    assert passed.passed
    assert passed.metadata["pravega/lag_bytes"].value == BYTES
    warned = verdict(warn_bytes=BYTES - 1, error_bytes=BYTES)
    assert (warned.passed, warned.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert warned.description == f"{BYTES:,} bytes are left, more than {BYTES - 1:,}"
    assert verdict(warn_bytes=0, error_bytes=0).severity is dg.AssetCheckSeverity.ERROR
    with pytest.raises(ConfigurationError, match="has no limit"):
        build_reader_group_lag_check(spec, group=f"{stream.scope}/group")


def test_a_sensor_runs_when_a_reader_group_has_moved_and_has_little_left(client, stream, resources, instance):
    client.create_reader_group(stream.scope, "group", [stream])

    @dg.asset
    def report():
        """What is made of it."""

    sensor = build_reader_group_sensor(
        "sensor", group=f"{stream.scope}/group", target=report, max_lag_bytes=0, by=GroupPosition.READ
    )
    cursor = None

    def tick():
        nonlocal cursor
        with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
            found = sensor.evaluate_tick(context)
        cursor = found.cursor or cursor
        return found.skip_message or [request.tags["pravega/group"] for request in found.run_requests or []]

    assert "bytes are left" in tick()
    client.reset_reader_group(stream.scope, "group", [client.tail(stream)])
    assert tick() == [f"{stream.scope}/group"]
    assert "has not moved" in tick()
