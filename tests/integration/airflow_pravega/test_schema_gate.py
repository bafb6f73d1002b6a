"""Gates for schemas in DAGs of a real Airflow: what passes, and what a refused schema does to the tasks after."""

import json
import socket
import sys
import uuid
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from pydantic import BaseModel
from pyspark.sql.types import IntegerType, StructType

from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.errors import GroupNotFoundError
from aiopravega.schema import SchemaFormat, SchemaInfo
from airflow_pravega.catalog import scope_assets
from airflow_pravega.operators.schema import PravegaRegisterSchemaOperator, PravegaSchemaGateOperator

EXAMPLES = Path(__file__).parents[3] / "example_dags"
FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
GOOD = {**FIRST, "fields": [*FIRST["fields"], {"name": "note", "type": "string", "default": ""}]}
BAD = {**FIRST, "fields": [*FIRST["fields"], {"name": "amount", "type": "double"}]}


class Visit(BaseModel):
    page: int


@pytest.fixture(autouse=True)
def with_registry(registry):
    """Before all others: the connection names the registry."""
    return registry


@pytest.fixture
def stream() -> str:
    """A stream that has no group yet; gates need no events, and so no stream either."""
    return f"scope-{uuid.uuid4().hex}/orders"


@pytest.fixture
def gate(run, stream, schema_file):
    """Runs a DAG with a gate, in front of one task that writes and one that puts aside."""

    def gate(schema: dict[str, Any], **arguments):
        with DAG(f"dag-{uuid.uuid4().hex}", schedule=None) as dag:
            gate = PravegaSchemaGateOperator(
                task_id="gate", stream=stream, candidate=schema_file(schema), retries=1, retry_delay=0, **arguments
            )
            gate >> [EmptyOperator(task_id="write"), EmptyOperator(task_id="put_aside")]
        return run(dag)

    return gate


@pytest.fixture
def registered(run_task, stream, schema_file):
    """The first schema of the stream, registered by a task."""
    file = schema_file(FIRST)
    return run_task(lambda **common: PravegaRegisterSchemaOperator(stream=stream, candidate=file, **common)).result()


def states(ran) -> list[str]:
    return [ran.state(task) for task in ("gate", "write", "put_aside")]


def test_a_schema_that_may_follow_passes_and_is_registered(registered, gate, registry, stream):
    assert (registered["registered"]["version"], registered["namespace"]) == (0, stream.partition("/")[0])

    ran = gate(GOOD, register=True)

    assert states(ran) == ["success"] * 3
    assert ran.result("gate")["registered"]["version"] == 1
    assert len(registry.versions("orders", registered["namespace"])) == 2


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("on_violation", "expected"),
    [
        ("fail", ["failed", "upstream_failed", "upstream_failed"]),
        ("skip", ["skipped", "skipped", "skipped"]),
        (["put_aside"], ["success", "skipped", "success"]),
    ],
)
def test_a_schema_that_may_not_follow_fails_skips_or_branches(gate, capsys, on_violation, expected):
    ran = gate(BAD, on_violation=on_violation, register=True)

    assert states(ran) == expected
    assert ran.tries("gate") == 1
    assert [violation["path"] for violation in ran._results["gate"]["violations"]] == ["Order.amount"]
    said = capsys.readouterr().out
    assert "refused: Order" in said
    assert "amount" in said


@pytest.mark.usefixtures("registered")
def test_a_branch_for_violations_is_skipped_if_there_are_none(gate):
    ran = gate(GOOD, on_violation="put_aside")

    assert states(ran) == ["success", "success", "skipped"]
    assert ran.result("gate")["passed"] is True


@pytest.mark.usefixtures("registered")
def test_a_branch_that_does_not_follow_is_refused(gate, capsys):
    assert gate(GOOD, on_violation="nowhere").state("gate") == "failed"
    assert "tasks that directly follow: put_aside, write" in capsys.readouterr().out


def test_a_group_that_is_missing_is_an_error_and_is_not_made(gate, registry, stream, capsys):
    assert gate(GOOD).state("gate") == "failed"
    assert "GroupNotFoundError" in capsys.readouterr().out
    with pytest.raises(GroupNotFoundError):
        registry.group("orders", stream.partition("/")[0])


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (Visit, "Json"),
        (StructType().add("page", IntegerType()), "Avro"),
        (pa.schema([("page", pa.int32())]), "Avro"),
        ("google.protobuf.timestamp_pb2.Timestamp", "Protobuf"),
    ],
)
def test_classes_and_columns_can_be_registered(run_task, stream, candidate, kind):
    report = run_task(
        lambda **common: PravegaRegisterSchemaOperator(stream=stream, candidate=candidate, new_policy="Full", **common)
    ).result()
    assert (report["format"], report["passed"]) == (kind, True)


def test_imports_of_a_proto_file_are_found_from_its_roots(run_task, stream, tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "money.proto").write_text('syntax = "proto3"; message Money { int64 cents = 1; }')
    order = tmp_path / "shop" / "order.proto"
    order.write_text('syntax = "proto3"; import "shop/money.proto"; message Order { Money price = 1; }')

    def gate(**common):
        roots = ["{{ params.root }}"]
        return PravegaSchemaGateOperator(
            stream=stream,
            candidate=str(order),
            proto_path=roots,
            register=True,
            params={"root": str(tmp_path)},
            **common,
        )

    report = run_task(gate).result()

    assert (report["format"], report["type"], report["passed"]) == ("Protobuf", "Order", True)


def test_the_streams_of_a_scope_are_assets(client, scope, registry):
    text = '{"type":"object","properties":{"page":{"type":"integer"}}}'
    PravegaCatalog(client, registry).create(f"{scope}/visits", SchemaInfo.of(SchemaFormat.JSON, "visit", text))
    client.create_stream(f"{scope}/raw", tags=["sales"])

    raw, visits = scope_assets(scope)

    assert (raw.uri, visits.uri) == (f"pravega://{scope}/raw", f"pravega://{scope}/visits")
    assert (raw.extra["tags"], raw.extra["schema"], raw.extra["columns"]) == (["sales"], None, [])
    assert '"name": "page"' in json.dumps(visits.extra["columns"])
    assert [asset.uri for asset in scope_assets(scope, tag="sales")] == [raw.uri]


def test_the_example_lets_one_schema_through_and_refuses_another(run, scope, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES / "airflow"))
    dag = import_module("delays_schema").delays_schema
    monkeypatch.delitem(sys.modules, "delays_schema")

    good, bad = (
        run(dag, conf={"delays": f"{scope}/delays", "schema": str(EXAMPLES / "schemas" / f"delays-{name}.json")})
        for name in ("longest", "means")
    )

    assert good.result("use")["version"] == 1
    assert (bad.state("gate"), bad.state("use")) == ("failed", "upstream_failed")


def test_a_registry_that_is_not_there_is_tried_again(pravega_config, run_task, monkeypatch, connection_json, stream):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{unused.getsockname()[1]}"
        connection = connection_json(pravega_config, schema_registry_uri=uri, connect_timeout=1, retry_timeout=1)
        monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_DEFAULT", connection)
        ran = run_task(lambda **common: PravegaSchemaGateOperator(stream=stream, candidate=Visit, **common))
    assert (ran.state(), ran.tries()) == ("failed", 2)


def test_a_connection_without_a_registry_is_an_error(pravega_config, run_task, monkeypatch, connection_json, capsys):
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_DEFAULT", connection_json(pravega_config))
    ran = run_task(lambda **common: PravegaSchemaGateOperator(stream="a/b", candidate=Visit, **common))
    assert (ran.state(), ran.tries()) == ("failed", 1)
    assert "schema_registry_uri" in capsys.readouterr().out
