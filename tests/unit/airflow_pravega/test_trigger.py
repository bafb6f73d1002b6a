import json
from pkgutil import resolve_name

from airflow_pravega.triggers.event_time import PravegaEventTimeTrigger
from airflow_pravega.triggers.interval import PravegaIntervalTrigger
from airflow_pravega.triggers.reachable import PravegaReachableTrigger
from airflow_pravega.triggers.stream_cut import PravegaStreamCutTrigger


def test_it_can_be_made_again_from_what_it_serializes():
    trigger = PravegaStreamCutTrigger("examples/flights", "cut", 100, 2.5, "pravega_default")
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()


def test_it_keeps_its_further_conditions():
    trigger = PravegaStreamCutTrigger(
        "examples/flights", "cut", 100, 2.5, "pravega_default", quiet_for=60.0, sealed=True
    )
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    again = resolve_name(name)(**arguments)
    assert (again.quiet_for, again.sealed) == (60.0, True)
    assert again.serialize() == trigger.serialize()


def test_it_carries_the_id_of_the_connection_and_nothing_else_of_it(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_SECRET", "pravega://ada:s3cret@pravega:9090")
    trigger = PravegaStreamCutTrigger("examples/flights", "cut", 100, 2.5, "pravega_secret")
    assert trigger.serialize()[1]["pravega_conn_id"] == "pravega_secret"
    assert "s3cret" not in repr(trigger) + repr(vars(trigger))


def test_the_one_for_event_times_can_be_made_again_too():
    trigger = PravegaEventTimeTrigger("examples/flights", 1_357_017_420_000, 2.5, "pravega_default")
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()


def test_the_one_for_intervals_can_be_made_again_too():
    trigger = PravegaIntervalTrigger(
        "examples/flights", "dag/wait", "monday", "2026-01-01T00:00:00+00:00", True, 2.5, "pravega_default"
    )
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).serialize() == trigger.serialize()


def test_what_a_sensor_has_to_know_when_it_continues_is_carried():
    trigger = PravegaReachableTrigger("examples/flights", 2.5, "pravega_default", {"waits_since": "2026-01-01"})
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    assert resolve_name(name)(**arguments).carried == {"waits_since": "2026-01-01"}
