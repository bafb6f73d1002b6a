"""Tasks with frames that write into several streams and a table at once, in DAG runs; see the page several-sinks."""

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task

from aiopravega import ScalingPolicy, StreamName
from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.sql import PravegaSqlOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.landing import holdings

DAY = datetime(2026, 1, 1, tzinfo=UTC)
READ: Any = {"options": {"decode": "json"}, "columns": "id long"}


@pytest.fixture
def dag(stream: StreamName, write):
    """A DAG that takes five orders."""
    write(*(b'{"id": %d}' % number for number in range(5)))
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="ada", poke_interval=1)
        yield dag


@pytest.fixture
def sinks(client, stream, tmp_path) -> list[str]:
    """Two streams, and a table."""
    streams = [f"{stream.scope}/{name}" for name in ("few", "many")]
    for each in streams:
        client.create_stream(each, ScalingPolicy.fixed(1))
    return [*streams, f"parquet:{tmp_path}/orders"]


def divider(sinks, calls):
    def divide(orders: "pl.LazyFrame") -> dict[str, pl.LazyFrame]:
        calls.append(1)
        few = pl.col("id") < 2
        return dict(zip(sinks, (orders.filter(few), orders.filter(~few), orders), strict=True))

    return divide


def test_a_result_for_several_sinks_is_written_together_once(run, dag, sinks, client, stream):
    calls: list[int] = []
    task.pravega(task_id="work", into=sinks, **READ)(divider(sinks, calls))(dag.get_task("wait").output)
    first = run(dag, DAY).result("work")["streams"]
    assert [(each["stream"], each["events"], each["written"]) for each in first] == [
        (sinks[0], 2, True),
        (sinks[1], 3, True),
    ]
    again = run(dag, DAY).result("work")["streams"]
    assert ([each["written"] for each in again], len(calls)) == ([False, False], 2)
    record = client.visible_write(sinks[1], first[0]["write_id"])
    assert (record.waiting_tables, [each.target for each in record.tables]) == ((), [sinks[2]])
    for sink, ids in ((sinks[0], [0, 1]), (sinks[1], [2, 3, 4])):
        assert sorted(json.loads(each.data)["id"] for each in client.read_visible(sink, record.write_id)) == ids
    [held] = holdings(sinks[2])
    assert (held.consumer, held.rows) == ("ada", 5)
    [interval] = client.cut_ledger(stream.scope).records("ada", stream)
    assert interval.is_done
    assert interval.parts[0].sink.target == sinks[0]


def test_a_result_without_one_of_its_sinks_leaves_all_of_them_empty(run, dag, sinks, client):
    def forgets(orders: "pl.LazyFrame") -> dict[str, pl.LazyFrame]:
        return {sinks[0]: orders}

    task.pravega(task_id="work", into=sinks, **READ)(forgets)(dag.get_task("wait").output)
    found = run(dag, DAY)
    assert found.state("work") == "failed"
    assert client.head(sinks[0]) == client.tail(sinks[0])


@pytest.mark.parametrize("into", [["parquet:/orders"], ["a/b", "a/b"], []])
def test_sinks_that_cannot_work_are_refused_when_the_task_is_made(into):
    with pytest.raises(AirflowFailException, match="must name at least one stream, and each sink once"):
        task.pravega(task_id="work", into=into, **READ)(divider([], []))({})
    with pytest.raises(ConfigurationError, match="a query has one result"):
        PravegaSqlOperator(task_id="ask", sql="select 1", stream_cuts={}, into=["a/b", "a/c"])
