"""Pravega is away for three minutes while a sensor waits on the triggerer."""

import threading
from urllib.parse import urlsplit

import pytest
from tests.faults.proxy import Proxy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "rides_in_an_outage"
EVENTS = ["ride 1", "ride 2"]
OUTAGE_SECONDS = 180.0


@pytest.fixture
def proxy(airflow, pravega_config):
    """Before the controller, with a connection of Airflow that goes through it."""
    port = urlsplit(pravega_config.controller_uri).port
    assert port is not None
    with Proxy(port) as proxy:
        fields = {"conn_type": "pravega", "host": "127.0.0.1", "port": proxy.port}
        airflow.api.request("POST", "connections", json={"connection_id": "pravega_proxied", **fields})
        yield proxy


def test_a_sensor_waits_through_an_outage_and_reports_its_start_and_end(airflow, make_stream, proxy):
    write = make_stream("system-outage/rides")
    api = airflow.api
    api.unpause(DAG_ID)
    run_id = api.trigger(DAG_ID)
    api.wait_for_task(DAG_ID, run_id, "wait", "deferred")

    proxy.refuse(True)
    proxy.cut()
    write(*EVENTS)
    api.wait(lambda: proxy.refused, "the trigger has noticed")
    threading.Event().wait(OUTAGE_SECONDS)  # the outage itself: how long it lasts is what is tested
    assert api.task(DAG_ID, run_id, "wait")["state"] == "deferred"
    proxy.refuse(False)

    api.wait_for_run(DAG_ID, run_id)
    assert sorted(api.result(DAG_ID, run_id, "read")) == EVENTS
    log = api.log(DAG_ID, run_id, "wait")
    assert log.count("system-outage/rides cannot be checked") == 1
    assert log.count("system-outage/rides can be checked again") == 1
