"""Real processes of Airflow ask people, who answer by the API: a loss is accepted, and a schema is stopped."""

import json

import pytest

from aiopravega import StreamName
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.ledger import Interval, IntervalState
from aiopravega.schema import GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

RIDES = StreamName("system-decided", "rides")
DAG_ID, GATE = "decided_rides", "decided_gate"
FIRST = {"type": "record", "name": "Ride", "fields": [{"name": "id", "type": "long"}]}
BAD = {**FIRST, "fields": [*FIRST["fields"], {"name": "amount", "type": "double"}]}


def test_people_accept_a_loss_and_the_next_range_begins_after_it(airflow, client, make_stream, record_property):
    api, write = airflow.api, make_stream(str(RIDES))
    write("first")
    api.unpause(DAG_ID)
    first = api.trigger(DAG_ID)
    api.wait_for_run(DAG_ID, first)
    assert api.result(DAG_ID, first, "decide") == {"decision": None}
    write("lost", "too")
    client.truncate_stream(client.tail(RIDES))
    write("kept")

    second = api.trigger(DAG_ID)
    question = api.question(DAG_ID, second, "decide")
    assert question["options"] == ["Accept the loss", "Leave it as it is"]
    assert "23 bytes after it are gone" in question["body"]
    api.answer(DAG_ID, second, "decide", "Accept the loss")

    api.wait_for_run(DAG_ID, second)
    assert api.result(DAG_ID, second, "read") == ["kept"]
    decision = api.result(DAG_ID, second, "decide")["decision"]
    [passage] = [
        record
        for record in client.cut_ledger(RIDES.scope).records(f"{DAG_ID}/wait", RIDES)
        if record.state is IntervalState.SKIPPED
    ]
    assert passage.recorded_by == f"{decision['by']}, asked by {DAG_ID}/decide in {second}"
    assert client.cut_ledger(RIDES.scope).find(Interval(f"{DAG_ID}/wait", RIDES, second)).is_done
    record_property("decision", decision)


def test_people_stop_a_schema_at_a_gate(airflow, pravega_emulator):
    api, candidate = airflow.api, airflow.home / "ride.avsc"
    candidate.write_text(json.dumps(BAD))
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as registry:
        registry.create_group("rides", GroupProperties.of(SchemaFormat.AVRO), RIDES.scope)
        registry.add_schema("rides", SchemaInfo.of(SchemaFormat.AVRO, "Ride", json.dumps(FIRST)), RIDES.scope)
    api.unpause(GATE)
    run_id = api.trigger(GATE, conf={"schema": str(candidate)})
    assert "Ride.amount" in api.question(GATE, run_id, "gate")["body"]
    api.answer(GATE, run_id, "gate", "Stop here")
    api.wait_for_run(GATE, run_id, "failed")
    assert api.task(GATE, run_id, "write")["state"] == "upstream_failed"
