"""A tick of a sensor ends in time, whatever the cluster does, and says which host did not answer."""

import socket
from collections.abc import Iterator

import dagster as dg
import pytest

from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.loop import LoopThread
from dagster_pravega import (
    PravegaResource,
    StreamCutPartitions,
    build_complete_partitions_sensor,
    build_stream_cut_sensor,
    build_stream_lag_check,
)
from dagster_pravega.sensors.outages import Outages
from dagster_pravega.sensors.ticks import ask_in_tick, ask_within


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield "{}:{}".format(*server.getsockname())


async def _never(client: object) -> None:
    raise AssertionError(f"{client} was connected")


def test_a_server_that_never_answers_ends_the_tick_with_its_name(silent):
    found = ask_in_tick(PravegaResource(controller_uri=f"tcp://{silent}"), _never, seconds=0.2)
    assert isinstance(found, dg.SkipReason)
    assert silent in str(found.skip_message)
    assert "within 0.2 s" in str(found.skip_message)


def test_an_unanswered_request_ends_before_the_tick_and_names_its_host(silent):
    pravega = PravegaResource(
        controller_uri=f"tcp://{silent}", connect_timeout=0.2, request_timeout=0.2, retry_timeout=0.2
    )
    found = ask_in_tick(pravega, _never)
    assert isinstance(found, dg.SkipReason)
    assert silent in str(found.skip_message)
    assert "within 20 s" not in str(found.skip_message)


def test_a_cluster_that_is_away_gets_short_tries_until_it_answers():
    now = 0.0
    outages = Outages(lambda: now)
    full = outages.limits("there")
    outages.failed("away")
    short = outages.limits("away")
    assert all(short[name] < full[name] for name in full)
    assert outages.limits("there") == full
    now = 119.0
    outages.failed("away")
    assert outages.limits("away") == short
    now = 121.0
    assert outages.limits("away") == full, "a slow cluster would never be reached again"
    outages.failed("away")
    assert outages.limits("away") == short
    outages.answered("away")
    assert outages.limits("away") == full


def test_a_tick_remembers_the_cluster_that_did_not_answer(silent):
    outages = Outages()
    config = PravegaResource(
        controller_uri=f"tcp://{silent}", connect_timeout=0.2, request_timeout=0.2, retry_timeout=0.2
    ).get_config()
    full = outages.limits(config.controller_uri)
    with pytest.raises(PravegaError, match=silent):
        LoopThread.shared().run(ask_within(config, _never, 20.0, outages))
    assert outages.limits(config.controller_uri) != full


@pytest.mark.parametrize("kind", ["cuts", "times"])
def test_the_sensors_skip_a_tick_while_the_cluster_is_away(silent, kind):
    stream = "shop/orders"
    if kind == "cuts":
        partitions = StreamCutPartitions(stream, consumer="billing")
        sensor = build_stream_cut_sensor("sensor", partitions_def=partitions, target="*")
    else:
        days = dg.DailyPartitionsDefinition(start_date="2026-01-01")
        sensor = build_complete_partitions_sensor("sensor", stream=stream, partitions_def=days, target="*")
    pravega = PravegaResource(
        controller_uri=f"tcp://{silent}", connect_timeout=0.2, request_timeout=0.2, retry_timeout=0.2
    )
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources={"pravega": pravega}) as context,
    ):
        found = sensor.evaluate_tick(context)
    assert silent in str(found.skip_message)
    assert found.run_requests == []


def test_arguments_that_cannot_work_are_refused_where_they_are_written():
    partitions = StreamCutPartitions("shop/orders", consumer="billing")
    for arguments, message in (
        ({"since": "yesterday"}, "since is 'yesterday', but must be one of 'last', 'latest'"),
        ({"on_open": "hope"}, "on_open is 'hope'"),
        ({"on_truncated": "hope"}, "on_truncated is 'hope'"),
        ({"min_bytes": 10, "max_bytes": 9}, "at least min_bytes"),
        ({"min_events": -1}, "at least 0 each"),
        ({"max_ranges": 0}, "max_ranges is 0, but must be at least 1"),
        ({"max_ranges": 2, "on_open": "skip"}, "never a second one: give max_bytes or max_events"),
        ({"max_ranges": 2, "max_bytes": 9}, "with on_open='wait' a range waits for the one before it"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            build_stream_cut_sensor("sensor", partitions_def=partitions, target="*", **arguments)
    with pytest.raises(ConfigurationError, match="has no scope"):
        StreamCutPartitions("orders", consumer="billing")
    with pytest.raises(ConfigurationError, match="need names"):
        StreamCutPartitions("shop/orders", consumer="")
    with pytest.raises(ConfigurationError, match="has no limit"):
        build_stream_lag_check("orders", stream="shop/orders", consumer="billing")


@pytest.mark.parametrize(
    "partitions",
    [
        dg.StaticPartitionsDefinition(["north", "south"]),
        dg.MultiPartitionsDefinition(
            {"region": dg.StaticPartitionsDefinition(["north"]), "shop": dg.StaticPartitionsDefinition(["1"])}
        ),
        dg.MultiPartitionsDefinition(
            {
                "day": dg.DailyPartitionsDefinition(start_date="2026-01-01"),
                "hour": dg.HourlyPartitionsDefinition(start_date="2026-01-01-00:00"),
            }
        ),
    ],
    ids=["static", "two static", "two of time"],
)
def test_complete_partitions_without_one_dimension_of_time_are_refused(partitions):
    with pytest.raises(ConfigurationError, match="no windows of time to wait for, or two"):
        build_complete_partitions_sensor("sensor", stream="shop/orders", partitions_def=partitions, target="*")
