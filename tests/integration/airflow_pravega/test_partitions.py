"""Intervals of event times as partitions of assets in a real Airflow: keys of events, and spans of keys."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.models.asset import AssetEvent, AssetModel
from airflow.sdk import DAG, Asset, task
from airflow.utils.session import create_session
from tests.pages.blocks import blocks_of

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from airflow_pravega.asset_events import KEY, Kind, took, union_of_events, written
from airflow_pravega.assets import PARTITIONS, takes_keys
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

# Days of hours have come with the keys that tasks give.
given_keys = pytest.mark.skipif(not takes_keys(), reason="Airflow takes keys from tasks from 3.3 on")

HOUR = datetime(2013, 1, 1, 5, tzinfo=UTC)


@pytest.fixture
def complete(client, scope):
    """A stream with one event, complete for the hour."""
    stream = StreamName(scope, "orders")
    client.create_stream(stream, timestamp_aggregation_timeout=timedelta(minutes=5))
    client.note_time(stream, "shop", HOUR)
    next(iter(client.watermarks(stream, follow=True)))
    with client.writer(stream) as writer:
        writer.write(b"a")
    client.note_time(stream, "shop", HOUR + timedelta(hours=1))
    next(iter(client.watermarks(stream, since=HOUR + timedelta(hours=1), follow=True)))
    return stream


def keys_of(asset):
    with create_session() as session:
        found = session.query(AssetEvent).join(AssetModel, AssetEvent.asset_id == AssetModel.id)
        return [event.partition_key for event in found.filter(AssetModel.name == asset.name)]


def reading(wait, *outlets):
    @task.pravega_range(outlets=[*outlets])
    def read(stream_cuts):
        return sorted(event.data.decode() for event in stream_cuts.events())

    return read(wait.output)


@given_keys
def test_an_interval_is_a_partition_of_the_assets_that_ask_for_keys(run, complete):
    hourly = Asset(f"hourly-{complete.scope}", extra={PARTITIONS: "%Y-%m-%dT%H"})
    plain = Asset(f"plain-{complete.scope}")
    with DAG(f"hourly-{complete.scope}", schedule=None) as dag:
        times: dict[str, Any] = {"since": HOUR.isoformat(), "until": (HOUR + timedelta(hours=1)).isoformat()}
        wait = PravegaEventTimeSensor(task_id="wait", stream=str(complete), poke_interval=0.1, timeout=60, **times)
        reading(wait, hourly, plain)
    assert run(dag).result("read") == ["a"]
    assert keys_of(hourly) == ["2013-01-01T05"]
    assert keys_of(plain) == [None]


@given_keys
def test_a_range_without_event_times_is_no_partition_and_the_log_says_so(run, stream, write, capsys):
    write(b"a")
    asset = Asset(f"taken-{stream.scope}", extra={PARTITIONS: "%Y-%m-%d"})
    with DAG(f"taken-{stream.scope}", schedule=None) as dag:
        reading(PravegaStreamCutSensor(task_id="wait", stream=str(stream), poke_interval=0.1, timeout=60), asset)
    assert run(dag).result("read") == ["a"]
    assert keys_of(asset) == [None]
    assert "has no partition: the range has no event times" in capsys.readouterr().out


def test_a_run_without_a_partition_key_fails_at_once(run_task, stream, capsys):
    def sensor(**common):
        return PravegaEventTimeSensor(stream=str(stream), partition=timedelta(hours=1), **common)

    ran = run_task(sensor)
    assert (ran.state(), ran.tries()) == ("failed", 1)
    assert "has no partition key: give its DAG a timetable of partitions" in capsys.readouterr().out


@pytest.fixture
def hours(client, scope):
    """The events of three hours of an asset; the stream was scaled in the second one."""
    stream = StreamName(scope, "hours")
    client.create_stream(stream, timestamp_aggregation_timeout=timedelta(minutes=5))
    client.note_time(stream, "shop", HOUR)
    next(iter(client.watermarks(stream, follow=True)))
    ends = [HOUR + timedelta(hours=number) for number in range(4)]
    for number, until in enumerate(ends[1:]):
        with client.writer(stream) as writer:
            writer.write(f"{number}".encode())
        if number == 1:
            client.scale_stream(stream, 2)
        client.note_time(stream, "shop", until)
        next(iter(client.watermarks(stream, since=until, follow=True)))
    times = list(pairwise(ends))
    return [event_of(client.range_for(stream, each, ahead=timedelta()), each) for each in times]


def event_of(cuts, times, kind=Kind.TAKE):
    given = {} if times is None else dict(zip(("since", "until"), (time.isoformat() for time in times), strict=True))
    return SimpleNamespace(asset=SimpleNamespace(uri="hours"), extra={KEY: took(cuts.stream, cuts, given, kind)})


def test_the_ranges_of_hours_are_united_to_one_range(client, hours):
    found = union_of_events([hours[2], hours[0], hours[1], hours[1]], client)
    assert found.times == (HOUR, HOUR + timedelta(hours=3))
    assert {"0", "1", "2"} <= {event.data.decode() for event in client.read(found.range)}
    assert client.union(found.range, client.union(range_in(hours[0]), range_in(hours[1]))) == found.range
    assert found.to_json()["until"] == (HOUR + timedelta(hours=3)).isoformat()


def range_in(event):
    return StreamCutRange.from_json(event.extra[KEY])


def test_what_is_no_whole_day_is_not_united(client, hours, scope):
    first, _, third = hours
    cuts = range_in(first)
    client.create_stream(f"{scope}/other")
    other = StreamCutRange(client.head(f"{scope}/other"), client.tail(f"{scope}/other"))
    wrote = SimpleNamespace(
        asset=SimpleNamespace(uri="hours"),
        extra={KEY: written({"stream": str(cuts.stream), "cuts": cuts.to_json()}, first.extra[KEY])},
    )
    for events, said in (
        ([], "these are of none"),
        ([first, third], "no event has the times from 2013-01-01T06:00:00.00:00 to 2013-01-01T07:00:00.00:00"),
        ([first, event_of(other, None)], "are of .*/hours and .*/other"),
        ([first, event_of(cuts, None)], "an event of .*/hours has no event times"),
        ([first, wrote], "others may have written between them"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            union_of_events(events, client)


@given_keys
def test_the_page_makes_dags_of_partitions():
    namespace: dict[str, Any] = {}
    for block in blocks_of("airflow-partitions"):
        exec(compile(block.code, "airflow-partitions", "exec"), namespace)
    assert namespace["hours"].task_dict["wait"].partition == timedelta(hours=1)
    assert namespace["days"].task_dict["wait"].partition == timedelta(days=1)
    assert namespace["reports"].task_dict.keys() == {"whole", "report"}
