import asyncio
import json
from importlib.util import find_spec
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import Asset, AssetWatcher
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseEventTrigger

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition
from aiopravega.names import SegmentId, StreamName
from airflow_pravega.triggers.event_time import PravegaEventTimeTrigger
from airflow_pravega.triggers.next_range import PravegaNextRangeTrigger
from airflow_pravega.triggers.reachable import PravegaReachableTrigger
from airflow_pravega.triggers.spark_driver import PravegaSparkDriverTrigger
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger, PravegaStreamCutTrigger
from airflow_pravega.triggers.work import to_its_end

COMMON: dict[str, Any] = {
    "stream": "examples/flights", "poll_interval": 2.5, "pravega_conn_id": "pravega_default"
}  # fmt: skip
FLIGHTS = StreamName("examples", "flights")
CUT = StreamCut(FLIGHTS, {SegmentId(FLIGHTS, 0, 0): 12})


def test_a_trigger_is_rebuilt_from_its_serialized_form():
    trigger = PravegaStreamCutTrigger(since="cut", condition={"min_bytes": 100}, **COMMON)
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()


def test_a_serialized_trigger_keeps_all_its_conditions():
    condition = MoveCondition(
        min_bytes=100, quiet_for=60.0, sealed=True, reach=CUT, watermark=7, max_events=9, combine=Combine.ANY
    )
    trigger = PravegaStreamCutTrigger(since="cut", condition=condition.to_json(), **COMMON)
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    again = resolve_name(name)(**arguments)
    assert MoveCondition.from_json(again.condition) == condition
    assert again.serialize() == trigger.serialize()


def test_a_trigger_serializes_the_connection_id_and_no_secret(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_SECRET", "pravega://ada:s3cret@pravega:9090")
    trigger = PravegaStreamCutTrigger(since="cut", condition={}, **COMMON | {"pravega_conn_id": "pravega_secret"})
    assert trigger.serialize()[1]["pravega_conn_id"] == "pravega_secret"
    assert "s3cret" not in repr(trigger) + repr(vars(trigger))


def test_the_event_time_trigger_is_rebuilt_from_its_serialized_form():
    trigger = PravegaEventTimeTrigger(until=1_357_017_420_000, **COMMON)
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()


def test_the_next_range_trigger_is_rebuilt_from_its_serialized_form():
    trigger = PravegaNextRangeTrigger(
        consumer="dag/wait",
        interval="monday",
        order="2026-01-01T00:00:00.000000+00:00 monday",
        condition={"min_bytes": 1, "quiet_for": 60.0},
        on_open="take_over",
        on_truncated="skip",
        deadline="2026-01-01T00:00:00+00:00",
        carried={"waits_since": "2026-01-01"},
        give_up_at="2026-01-01T00:00:00+00:00",
        **COMMON,
    )
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()


def test_what_a_sensor_has_to_know_when_it_continues_is_carried():
    trigger = PravegaReachableTrigger(carried={"waits_since": "2026-01-01"}, **COMMON)
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).carried == {"waits_since": "2026-01-01"}


# Airflow 3.2 has moved it.
MOVED = find_spec("airflow.serialization.encoders") is not None
ENCODE = "encoders:encode_trigger" if MOVED else "serialized_objects:_encode_trigger"


def identity(trigger: BaseEventTrigger) -> int:
    """What Airflow knows a trigger of a watcher by."""
    encoded = resolve_name(f"airflow.serialization.{ENCODE}")(trigger)
    return BaseEventTrigger.hash(encoded["classpath"], encoded["kwargs"])


def test_a_rebuilt_watcher_trigger_has_the_same_identity():
    trigger = PravegaStreamCutEventTrigger("examples/flights", poll_interval=5, consumer="shop/flights")
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    again = resolve_name(name)(**dict(reversed(arguments.items())))
    assert again.serialize() == trigger.serialize()
    assert list(again.serialize()[1]) == list(trigger.serialize()[1])
    assert identity(again) == identity(trigger)


@pytest.mark.parametrize(
    "other",
    [
        {"stream": "examples/delays"},
        {"consumer": "shop/delays"},
        {"min_bytes": 2},
        {"poll_interval": 1.0},
        {"pravega_conn_id": "pravega_other"},
    ],
)
def test_a_watcher_trigger_with_other_arguments_differs(other):
    arguments: dict[str, Any] = {"stream": "examples/flights"}
    assert identity(PravegaStreamCutEventTrigger(**arguments)) != identity(
        PravegaStreamCutEventTrigger(**arguments | other)
    )


def test_an_asset_accepts_the_watcher_trigger():
    trigger = PravegaStreamCutEventTrigger("examples/flights")
    asset = Asset("flights", uri="pravega://examples/flights", watchers=[AssetWatcher(name="moved", trigger=trigger)])
    assert asset.watchers[0].trigger is trigger


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"consumer": " "}, "consumer is ' '"),
        ({"min_bytes": -1}, "min_bytes is -1"),
        ({"poll_interval": 0}, "poll_interval is 0 s"),
    ],
)
def test_invalid_arguments_of_the_watcher_trigger_stop_the_dag(wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        PravegaStreamCutEventTrigger("examples/flights", **wrong)


@pytest.mark.parametrize(
    ("state", "is_ended"),
    [
        ("deferred", False),
        ("scheduled", False),
        ("queued", False),
        ("running", False),
        ("failed", True),
        ("success", True),
        (None, True),
    ],
)
async def test_a_task_that_goes_on_elsewhere_was_not_ended(monkeypatch, state, is_ended):
    trigger = PravegaSparkDriverTrigger(
        cluster="standalone",
        servers=["http://spark:6066"],
        driver="driver-1",
        job={"scope": "examples", "job": "job", "submission": "one"},
        watcher="try",
        poll_interval=1.0,
        pravega_conn_id="pravega_default",
        carried={},
    )
    trigger.task_instance = cast("Any", SimpleNamespace(dag_id="dag", task_id="submit", run_id="run", map_index=-1))
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", lambda **_: {"run": {"submit": state}})
    assert await trigger._was_ended_by_a_person() is is_ended


async def test_what_a_cancelled_trigger_does_is_not_cut_off():
    done = []

    async def work():
        await asyncio.sleep(0.05)
        done.append("work")

    task = asyncio.create_task(to_its_end(work()))
    for _ in range(3):
        await asyncio.sleep(0.01)
        task.cancel()
    await task
    assert done == ["work"]


async def test_an_error_of_what_a_cancelled_trigger_does_is_raised():
    async def work():
        raise ConfigurationError("no connection")

    with pytest.raises(ConfigurationError, match="no connection"):
        await to_its_end(work())
