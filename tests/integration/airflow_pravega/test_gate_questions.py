"""Gates of a real Airflow that ask people about a schema that may not follow, and do what was chosen."""

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo
from airflow_pravega.operators.schema import PravegaSchemaGateOperator

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
NOTE = {"name": "note", "type": "string", "default": ""}
BAD = {**FIRST, "fields": [*FIRST["fields"], {"name": "amount", "type": "double"}]}


def order(schema: dict[str, Any]) -> SchemaInfo:
    return SchemaInfo.of(SchemaFormat.AVRO, "Order", json.dumps(schema))


@pytest.fixture
def stream(registry) -> str:
    """A stream whose group has the first schema; gates need no events, and so no stream."""
    scope = f"scope-{uuid.uuid4().hex}"
    registry.create_group("orders", GroupProperties.of(SchemaFormat.AVRO, "BackwardTransitive"), scope)
    registry.add_schema("orders", order(FIRST), scope)
    return f"{scope}/orders"


@pytest.fixture
def asking(run, stream, schema_file, answered):
    """Runs a DAG with a gate that asks, and one task after it; somebody chooses the answer."""

    def asking(choice: str, schema: dict[str, Any] = BAD, then=lambda: None, **arguments):
        with DAG(f"dag-{uuid.uuid4().hex}", schedule=None) as dag:
            gate = PravegaSchemaGateOperator(
                task_id="gate", stream=stream, candidate=schema_file(schema), on_violation="ask", **arguments
            )
            gate >> EmptyOperator(task_id="write")
        with answered(dag.dag_id, choice, then) as asked:
            return run(dag), asked

    return asking


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("Let it pass", ["success", "success"]),
        ("Stop here", ["failed", "upstream_failed"]),
        ("Skip what follows", ["skipped", "skipped"]),
    ],
)
def test_people_decide_about_a_schema_that_may_not_follow(asking, registry, stream, choice, expected):
    ran, [asked] = asking(choice, register=True)

    assert [ran.state(task) for task in ("gate", "write")] == expected
    assert asked.options == ["Let it pass", "Stop here", "Skip what follows"]
    assert "refused: Order" in asked.subject
    assert "Order.amount" in asked.body
    result = ran._results["gate"]
    assert (result["decision"]["choice"], result["decision"]["by"]) == (choice, "Ann")
    assert [violation["path"] for violation in result["violations"]] == ["Order.amount"]
    assert len(registry.versions("orders", stream.partition("/")[0])) == 1  # the group's policy refuses it


def test_a_schema_that_is_let_pass_is_registered_if_its_group_allows_it(asking, registry, stream):
    other = {**FIRST, "fields": [NOTE]}
    ran, [asked] = asking("Let it pass", other, register=True, policy="Forward")

    assert ran.state("write") == "success"
    assert "only if the group's own policy allows it" in asked.body
    assert ran.result("gate")["registered"]["version"] == 1
    assert len(registry.versions("orders", stream.partition("/")[0])) == 2


def test_an_answer_is_not_acted_on_if_the_report_has_changed_since(asking, registry, stream, capsys):
    def another_version():
        more = {**FIRST, "fields": [*FIRST["fields"], NOTE]}
        registry.add_schema("orders", order(more), stream.partition("/")[0])

    ran, _ = asking("Let it pass", then=another_version)

    assert [ran.state(task) for task in ("gate", "write")] == ["failed", "upstream_failed"]
    assert "what was asked about has changed since" in capsys.readouterr().out


def test_a_try_that_nobody_answers_in_time_fails(run, stream, schema_file, answered, capsys):
    with DAG(f"dag-{uuid.uuid4().hex}", schedule=None) as dag:
        PravegaSchemaGateOperator(
            task_id="gate",
            stream=stream,
            candidate=schema_file(BAD),
            on_violation="ask",
            response_timeout=timedelta(seconds=30),
        )
    with answered(dag.dag_id, None):
        assert run(dag).state("gate") == "failed"
    assert "nobody has answered" in capsys.readouterr().out


def test_a_gate_that_asks_nobody_refuses_arguments_of_asking(stream):
    given = {"task_id": "gate", "stream": stream, "candidate": "order.avsc"}
    with pytest.raises(AirflowFailException, match="which asks nobody"):
        PravegaSchemaGateOperator(**given, response_timeout=timedelta(hours=1))
    with pytest.raises(AirflowFailException, match=r"default_choice is 'Yes', but must be one of .*Let it pass"):
        PravegaSchemaGateOperator(**given, on_violation="ask", default_choice="Yes")
    with pytest.raises(AirflowFailException, match="default_choice needs response_timeout"):
        PravegaSchemaGateOperator(**given, on_violation="ask", default_choice="Stop here")
