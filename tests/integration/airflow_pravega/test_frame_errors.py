"""Dead letters of tasks with frames in real DAG runs, beside streams and tables: see the page dead-letters."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from airflow.sdk import DAG, task

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from airflow_pravega.operators.errors import PravegaErrorsCheckOperator
from airflow_pravega.sensors.errors import PravegaErrorsSensor
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.landing import ErrorsStream, WrittenStream, list_errors, table_of

DAY = datetime(2026, 1, 1, tzinfo=UTC)
DEAD: Any = {"options": {"decode": "json", "on_error": "dead", "missing_fields": "fail"}, "columns": "id long"}
BAD = [b"no json", b'{"other": 1}']


@pytest.fixture
def dag(stream: StreamName, write):
    """A DAG that takes five orders and two events that are none."""
    write(*(b'{"id": %d}' % number for number in range(5)), *BAD)
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="ada", poke_interval=1)
        yield dag


@pytest.fixture
def made(client: PravegaClient, stream: StreamName) -> tuple[StreamName, StreamName]:
    """A stream for orders, and one for errors."""
    found = StreamName(stream.scope, "clean"), StreamName(stream.scope, "dead")
    for each in found:
        client.create_stream(each, ScalingPolicy.fixed(1))
    return found


def events(client: PravegaClient, stream: StreamName) -> list[bytes]:
    everything = StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded())
    return [event.data for event in client.read(everything, stream)]


def big(orders: "pl.LazyFrame") -> pl.LazyFrame:
    return orders.filter((pl.col("id") > 1) | pl.col("_error").is_not_null())


def test_errors_beside_a_stream_are_written_once_and_counted(run, dag, made, client, stream):
    clean, dead = made
    wait = dag.get_task("wait").output
    task.pravega(task_id="work", into=str(clean), errors=f"stream:{dead}", **DEAD)(big)(wait)
    first = run(dag, DAY).result("work")
    assert (first["events"], first["errors"], first["written"]) == (3, 2, True)
    assert ": cannot be decoded as Json" in first["first_error"]
    again = run(dag, DAY).result("work")
    assert (again["events"], again["errors"], again["written"]) == (3, 2, False)
    letters = [json.loads(each) for each in events(client, dead)]
    assert sorted(base64.b64decode(each["event"]) for each in letters) == sorted(BAD)
    assert {(each["_consumer"], each["stream"], each["target"]) for each in letters} == {
        ("ada", str(stream), f"stream:{clean}")
    }
    [counted] = list_errors(WrittenStream(clean, client))
    assert (counted.consumer, counted.interval, counted.state) == ("ada", letters[0]["interval_name"], "counted")


def test_more_errors_than_allowed_fail_the_task_and_leave_nothing(run, dag, made, client, stream):
    clean, dead = made
    wait = dag.get_task("wait").output
    task.pravega(task_id="work", into=str(clean), errors=f"stream:{dead}", most_errors="1%", **DEAD)(big)(wait)
    assert run(dag, DAY).state("work") == "failed"
    [record] = client.cut_ledger(stream.scope).records("ada", stream)
    assert "most_errors is 1%" in str(record.reason)
    assert events(client, clean) == events(client, dead) == []


def test_errors_beside_a_table_are_in_a_stream_and_counted(run, dag, made, client, tmp_path):
    _, dead = made
    wait = dag.get_task("wait").output
    table = f"parquet:{tmp_path}/orders"
    task.pravega(task_id="work", table=table, errors=f"stream:{dead}", **DEAD)(big)(wait)
    landed = run(dag, DAY).result("work")
    assert (landed["action"], landed["rows"], landed["errors"]) == ("append", 3, 2)
    [counted] = list_errors(table_of(table), ErrorsStream(dead, client))
    assert (counted.state, counted.landed) == ("counted", 2)


def test_letters_are_waited_for_and_judged_by_their_number(run, dag, made):
    clean, dead = made
    wait = dag.get_task("wait").output
    with dag:
        done = task.pravega(task_id="work", into=str(clean), errors=f"stream:{dead}", **DEAD)(big)(wait)
        seen = PravegaErrorsSensor(task_id="seen", table=f"stream:{clean}", at_least=2, poke_interval=1)
        few = PravegaErrorsCheckOperator(task_id="few", table=f"stream:{clean}", most_errors=2)
        none = PravegaErrorsCheckOperator(task_id="none", table=f"stream:{clean}", errors=f"stream:{dead}")
    done >> seen >> [few, none]
    found = run(dag, DAY)
    for name in ("seen", "few"):
        result = found.result(name)
        assert (result["errors"], result["missing"], result["intervals"][0]["consumer"]) == (2, 0, "ada")
    assert found.state("none") == "failed"
