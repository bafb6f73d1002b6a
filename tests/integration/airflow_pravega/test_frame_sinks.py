"""Tasks with frames that write into several streams and a table at once, in DAG runs; see the page several-sinks."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task

from aiopravega import ScalingPolicy, StreamName
from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.sql import PravegaSqlOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
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


def test_days_whose_ranges_overlap_are_written_with_a_table(run, client, scope, tmp_path):
    timed, days = f"{scope}/timed", [datetime(2026, 1, number, tzinfo=UTC) for number in (1, 2, 3)]
    into = [f"{scope}/day", f"parquet:{tmp_path}/days"]
    client.create_stream(timed, ScalingPolicy.fixed(1), timestamp_aggregation_timeout=timedelta(minutes=5))
    client.create_stream(into[0], ScalingPolicy.fixed(1))
    client.note_time(timed, "writer", days[0])
    next(iter(client.watermarks(timed, follow=True)))
    with client.writer(timed) as writer:
        writer.write_many([b'{"id": %d, "at": %d}' % (each, days[each % 2].timestamp() * 1000) for each in range(6)])
    client.note_time(timed, "writer", days[2])

    def same(orders: "pl.LazyFrame") -> dict[str, pl.LazyFrame]:
        return dict.fromkeys(into, orders)

    read: Any = {"options": {"decode": "json", "event_time": "at"}, "columns": "id long, at long"}
    with DAG(f"days-{scope}", schedule=None) as dag:
        wait = PravegaEventTimeSensor(
            task_id="wait",
            stream=timed,
            since="{{ logical_date.isoformat() }}",
            until="{{ (logical_date + macros.timedelta(days=1)).isoformat() }}",
            poke_interval=1,
        )
        work: Any = task.pravega(task_id="work", into=into, **read)(same)
        work(wait.output)
    assert [run(dag, each).result("work")["streams"][0]["events"] for each in days[:2]] == [3, 3]
    assert [held.rows for held in holdings(into[1])] == [3, 3]


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
