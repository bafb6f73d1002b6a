"""One sensor observes hundreds of streams in one tick; a stream that stands is not reported."""

from datetime import UTC, datetime

import dagster as dg
import pytest

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.bounded import each
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from dagster_pravega import PravegaResource, build_observation_sensor, pravega_stream_spec
from dagster_pravega.sensors import observation_sensor

MANY = 500


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def tick(pravega_config, instance):
    """Evaluates ticks of a sensor one after the other; gives events, and the reason of a tick without events."""
    cursors: dict[str, str | None] = {}

    def tick(sensor):
        resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
        with dg.build_sensor_context(
            instance=instance, cursor=cursors.get(sensor.name), resources=resources
        ) as context:
            found = sensor.evaluate_tick(context)
        cursors[sensor.name] = found.cursor
        for event in found.asset_events:
            instance.report_runless_asset_event(event)
        return list(found.asset_events), found.skip_message

    return tick


def plain(event):
    return {name: entry.value for name, entry in event.metadata.items()}


def test_a_write_is_reported_and_a_stream_that_stands_is_not(tick, make_stream, append, client):
    first, second = make_stream("first"), make_stream("second")
    append(first, ["one"])
    sensor = build_observation_sensor("sensor", streams=[pravega_stream_spec(str(first), key="first"), str(second)])
    events, _ = tick(sensor)
    assert [event.asset_key.to_user_string() for event in events] == ["first", str(second)]
    assert all(isinstance(event, dg.AssetMaterialization) for event in events)
    assert plain(events[0])["pravega/readable_bytes"] == 11
    assert events[0].tags["dagster/data_version"] == client.tail(first).to_text()
    assert tick(sensor) == ([], "none of 2 streams was written since it was last seen")
    before = datetime.now(UTC).timestamp()
    append(first, ["two", "three"])
    [event], _ = tick(sensor)
    found = plain(event)
    assert (found["pravega/readable_bytes"], found["pravega/new_bytes"]) == (35, 24)
    assert found["pravega/cuts"] == StreamCutRange(client.head(first), client.tail(first)).to_json()
    assert before - 60 < found["dagster/last_updated_timestamp"] < datetime.now(UTC).timestamp()
    assert tick(sensor)[0] == []


def test_five_hundred_streams_are_observed_in_one_tick(tick, client, scope, requests):
    names = [StreamName(scope, f"stream-{number}") for number in range(MANY)]
    several = ScalingPolicy.fixed(1)
    client.run(each(lambda name: client.asynchronous.create_stream(name, several), names, 32))
    sensor = build_observation_sensor("sensor", streams=[str(name) for name in names])
    requests.begin()
    events, _ = tick(sensor)
    assert len(events) == MANY
    assert requests.count <= 4 * MANY + 10
    requests.begin()
    assert tick(sensor)[0] == []
    assert requests.count <= 2 * MANY + 10
    with client.writer(names[7]) as writer:
        writer.write(b"event")
    assert [event.asset_key.path[-1] for event in tick(sensor)[0]] == ["stream-7"]


def test_a_tick_whose_time_is_over_is_continued_by_the_next(tick, make_stream, append, monkeypatch):
    streams = [make_stream(f"stream-{number}", 1) for number in range(3)]
    sensor = build_observation_sensor("sensor", streams=[str(stream) for stream in streams])
    monkeypatch.setattr(observation_sensor, "_AT_ONCE", 1)
    monkeypatch.setattr(observation_sensor, "_BEGIN_SECONDS", 0.0)

    def seen():
        return [event.asset_key.path[-1] for event in tick(sensor)[0]]

    assert [seen() for _ in range(4)] == [["stream-0"], ["stream-1"], ["stream-2"], []]
    append(streams[0], ["one"])
    assert [seen() for _ in range(3)] == [[], [], ["stream-0"]]


def test_a_stream_that_is_missing_does_not_hold_the_others(tick, make_stream, scope, capsys):
    there = make_stream()
    sensor = build_observation_sensor("sensor", streams=[f"{scope}/missing", str(there)])
    events, _ = tick(sensor)
    assert [event.asset_key.path[-1] for event in events] == ["stream"]
    assert "missing cannot be observed: StreamNotFoundError" in capsys.readouterr().err


def test_the_lag_of_a_consumer_is_observed_without_a_write(tick, make_stream, append, client):
    stream = make_stream()
    append(stream, ["one", "two"])
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    sensor = build_observation_sensor("sensor", streams=[str(stream)], consumers={str(stream): "billing"})
    [written], _ = tick(sensor)
    assert plain(written)["pravega/lag_bytes billing"] == 22
    assert tick(sensor)[0] == []
    first = Interval("billing", stream, "1")
    ledger.record(first, StreamCutRange(client.head(stream), client.tail(stream)), None)
    ledger.finish(first)
    [observed], _ = tick(sensor)
    assert isinstance(observed, dg.AssetObservation)
    assert plain(observed)["pravega/lag_bytes billing"] == 0
    assert observed.tags == written.tags
    client.truncate_stream(client.tail(stream))
    assert tick(sensor)[0] == []


def test_events_and_event_times_are_found_where_they_are_wanted(tick, timed, append):
    sensor = build_observation_sensor("sensor", streams=[str(timed)], event_times=True, count_to=3)
    [first], _ = tick(sensor)
    assert plain(first)["pravega/complete_until"] == "2013-01-04T00:00:00+00:00"
    assert "pravega/new_events" not in plain(first)
    append(timed, ["one", "two"])
    assert plain(tick(sensor)[0][0])["pravega/new_events"] == 2
    append(timed, ["one", "two", "three", "four"])
    assert plain(tick(sensor)[0][0])["pravega/new_events"] == "at least 3"


def test_a_stream_that_is_scaled_sealed_and_made_again_is_followed(tick, make_stream, append, client):
    stream = make_stream("stream", 1)
    append(stream, ["one"])
    sensor = build_observation_sensor("sensor", streams=[str(stream)])
    tick(sensor)
    client.scale_stream(stream, 2)
    append(stream, ["two"])
    [event], _ = tick(sensor)
    assert plain(event)["pravega/new_bytes"] == 11
    client.seal_stream(stream)
    tick(sensor)
    assert tick(sensor)[0] == []
    client.delete_stream(stream)
    make_stream("stream", 1)
    [event], _ = tick(sensor)
    assert plain(event)["pravega/readable_bytes"] == 0
    assert "pravega/new_bytes" not in plain(event)


@pytest.mark.parametrize("cursor", ["", "not one", "eJw="])
def test_a_cursor_that_is_not_understood_starts_again(make_stream, pravega_config, instance, cursor):
    sensor = build_observation_sensor("sensor", streams=[str(make_stream())], as_materializations=False)
    resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
        [event] = sensor.evaluate_tick(context).asset_events
    assert isinstance(event, dg.AssetObservation)


def test_arguments_that_cannot_work_are_refused():
    for arguments, message in (
        ({"streams": ["shop/a", "shop/a"]}, "asset shop/a is observed twice"),
        ({"streams": ["shop/a"], "consumers": {"shop/b": "billing"}}, "consumers of shop/b are given"),
        ({"streams": ["shop/a"], "count_to": -1}, "at least 0"),
        ({"streams": ["a"]}, "has no scope"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            build_observation_sensor("sensor", **arguments)
