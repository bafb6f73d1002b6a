"""Ranges as frames in real DAG runs, without Spark: read, written and landed once, asked by SQL, checked."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task
from deltalake import DeltaTable

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.sql import PravegaSqlCheckOperator, PravegaSqlOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
JSON: Any = {"options": {"decode": "json"}, "columns": "carrier string, delay double"}
FLIGHTS = [("AA", 5.0), ("AA", 7.5), ("UA", 1.0)]
SUMS = "select carrier, sum(delay) as delay from events group by carrier"


@pytest.fixture
def dag(stream: StreamName):
    """A DAG whose sensor waits for the stream; the test adds the tasks that take `wait.output`."""
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="ada", poke_interval=1)
        yield dag


@pytest.fixture
def cuts(dag) -> Any:
    return dag.get_task("wait").output


@pytest.fixture
def fly(write):
    def fly(flights=FLIGHTS) -> None:
        write(*(json.dumps({"carrier": carrier, "delay": delay}).encode() for carrier, delay in flights))

    return fly


@pytest.fixture
def sums(client: PravegaClient, stream: StreamName) -> StreamName:
    name = StreamName(stream.scope, "sums")
    client.create_stream(name, ScalingPolicy.fixed(1))
    return name


@pytest.fixture
def states(client: PravegaClient, stream: StreamName):
    def states() -> list[tuple[str, str]]:
        records = client.cut_ledger(stream.scope).records("ada", stream)
        return [(record.state.value, record.reason or "") for record in records]

    return states


def arrow(flights: pa.Table) -> Any:
    return pc.sum(flights["delay"]).as_py()


def batches(flights: "pa.RecordBatchReader") -> Any:
    return sum(pc.sum(batch["delay"]).as_py() for batch in flights)


def lazy(flights: "pl.LazyFrame") -> Any:  # a text, which needs no import when the DAG is read
    return flights.select(pl.col("delay").sum()).collect().item()


def eager(flights: "pl.DataFrame") -> Any:
    return flights["delay"].sum()


def pandas(flights: pd.DataFrame) -> float:
    return float(flights["delay"].sum())


def duck(flights: duckdb.DuckDBPyRelation) -> Any:
    assert flights.count("*").fetchall() == [(3,)]  # it is read a second time
    return flights.sum("delay").fetchall()[0][0]


def test_a_function_gets_the_range_as_its_annotation_says(run, dag, cuts, fly, states):
    functions = (arrow, batches, lazy, eager, pandas, duck)
    for function in functions:
        task.pravega(**JSON)(function)(cuts)
    fly()
    done = run(dag, DAYS[0])
    assert {function.__name__: done.result(function.__name__) for function in functions} == {
        function.__name__: 13.5 for function in functions
    }
    assert states() == [("done", "")]


def totals(flights: "pl.LazyFrame") -> pl.LazyFrame:
    return flights.group_by("carrier").agg(pl.col("delay").sum()).sort("carrier")


@pytest.mark.parametrize("way", ["function", "sql"])
def test_what_comes_of_a_range_is_written_once(run, dag, cuts, fly, sums, client, states, way):
    if way == "function":
        task.pravega(task_id="work", into=str(sums), **JSON)(totals)(cuts)
    else:
        PravegaSqlOperator(task_id="work", sql=f"{SUMS} order by all", stream_cuts=cuts, into=str(sums), **JSON)
    fly()
    first = run(dag, DAYS[0]).result("work")
    assert (first["stream"], first["events"], first["written"]) == (str(sums), 2, True)
    again = run(dag, DAYS[0]).result("work")  # as a task that was killed after its write, or cleared
    assert (again["events"], again["written"]) == (2, False)
    fly([("DL", 3.0)])
    assert run(dag, DAYS[1]).result("work")["events"] == 1
    with client.follow(sums, since="earliest") as follower:
        found = [json.loads(next(follower).data) for _ in range(3)]
    assert [(each["carrier"], each["delay"]) for each in found] == [("AA", 12.5), ("UA", 1.0), ("DL", 3.0)]
    assert client.tail(sums) == follower.cut
    assert states() == [("done", "")] * 2


def test_what_comes_of_a_range_is_landed_once(run, dag, cuts, fly, tmp_path, states):
    table = f"delta:{tmp_path}/sums"
    task.pravega(task_id="function", table=f"parquet:{tmp_path}/files", **JSON)(totals)(cuts)
    PravegaSqlOperator(task_id="sql", sql=SUMS, stream_cuts=cuts, table=table, **JSON)
    fly()
    done = run(dag, DAYS[0])
    assert [(done.result(each)["action"], done.result(each)["rows"]) for each in ("function", "sql")] == [
        ("append", 2)
    ] * 2
    again = run(dag, DAYS[0])
    assert [again.result(each)["action"] for each in ("function", "sql")] == ["nothing"] * 2
    found = DeltaTable(f"{tmp_path}/sums").to_pyarrow_table().to_pylist()
    assert sorted((row["carrier"], row["delay"]) for row in found) == [("AA", 12.5), ("UA", 1.0)]
    assert {row["_consumer"] for row in found} == {"ada"}
    assert states() == [("done", "")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "function"),
    [
        ("call", "declare"),
        ("return", "declare"),
        ("call", "write_arrow"),
        ("call", "_write"),
        ("return", "write_event_batches"),
        ("return", "write_arrow"),
        ("return", "described"),
    ],
)
def test_a_process_killed_at_a_step_and_run_again_writes_once(client, stream, fly, sums, states, event, function):
    fly()
    job = Path(__file__).with_name("frame_job.py")

    def work(*step: str) -> int:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(job), stream.scope, *step]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()[-3000:]
        return done.returncode

    assert work(event, function) == -signal.SIGKILL
    assert work() == 0
    with client.follow(sums, since="earliest") as follower:
        found = [json.loads(next(follower).data) for _ in range(2)]
        assert client.tail(sums) == follower.cut
    assert [(each["carrier"], each["delay"]) for each in found] == [("AA", 12.5), ("UA", 1.0)]
    assert states() == [("done", "")]


def test_the_example_without_spark_writes_the_delays(run, client, stream, write, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "example_dags" / "airflow"))
    example = import_module("flights_polars")
    flights = [("UA", 2.0), ("UA", 4.0), ("DL", -1.0), ("DL", None)]
    days = [{"departure": "2013-01-01T05:00:00", "carrier": name, "dep_delay": delay} for name, delay in flights]
    write(*(json.dumps(day).encode() for day in days))
    done = run(example.flights_polars, DAYS[0], {"flights": str(stream), "delays": f"{stream.scope}/delays"})
    cuts = StreamCutRange.from_json(done.result("delays")["cuts"])
    rows = [json.loads(event.data) for event in client.read(cuts)]
    assert sorted(rows, key=lambda row: row["carrier"]) == [
        {"day": "2013-01-01", "carrier": "DL", "flights": 2, "departed": 1, "delay_minutes": -1.0},
        {"day": "2013-01-01", "carrier": "UA", "flights": 2, "departed": 2, "delay_minutes": 6.0},
    ]


@pytest.mark.parametrize(
    ("sql", "state", "said"),
    [
        ("select count(*) > 2 as many, min(delay) >= 0 as positive from events", "success", ""),
        ("select count(*) > 5 as many, max(delay) as latest from events", "failed", "many of {'many': False"),
        ("select carrier from events", "failed", "must give one row, and gives 3"),
        ("select * from read_csv('/etc/passwd')", "failed", "DuckDB does not run the query"),
        ("create table other (id int)", "failed", "must be a query (SELECT) over events"),
    ],
)
def test_a_range_is_checked_by_sql(run, dag, cuts, fly, states, sql, state, said):
    PravegaSqlCheckOperator(task_id="check", sql=sql, stream_cuts=cuts, retries=1, retry_delay=0, **JSON)
    fly()
    done = run(dag, DAYS[0])
    assert (done.state("check"), done.tries("check")) == (state, 1)
    [(found, reason)] = states()
    assert (found, said in reason) == ("done" if state == "success" else "failed", True)


def test_rows_of_a_query_without_a_target_are_the_result(run, dag, cuts, fly):
    PravegaSqlOperator(task_id="ask", sql=f"{SUMS} order by all", stream_cuts=cuts, **JSON)
    fly()
    assert run(dag, DAYS[0]).result("ask") == [{"carrier": "AA", "delay": 12.5}, {"carrier": "UA", "delay": 1.0}]


@pytest.mark.parametrize("function", [lazy, duck])
def test_an_event_that_cannot_be_decoded_fails_at_once(run, dag, cuts, write, states, function):
    task.pravega(task_id="work", retries=2, retry_delay=0, **JSON)(function)(cuts)
    write(b"no JSON")
    done = run(dag, DAYS[0])
    assert (done.state("work"), done.tries("work")) == ("failed", 1)
    [(state, reason)] = states()
    assert (state, "MalformedEventError" in reason) == ("failed", True)


def test_what_is_returned_and_where_it_goes_have_to_agree(run, dag, cuts, fly, sums, states):
    def nothing(flights: "pa.Table") -> None: ...

    task.pravega(task_id="lost", **JSON)(totals)(cuts)
    task.pravega(task_id="nothing", into=str(sums), **JSON)(nothing)(cuts)
    fly()
    done = run(dag, DAYS[0])
    assert [done.state("lost"), done.state("nothing")] == ["failed"] * 2
    [(_, reason)] = states()
    assert "but nothing says where to" in reason or "it must return a pyarrow" in reason


def test_options_that_are_none_are_refused_by_name(run, dag, cuts, fly, sums, states):
    task.pravega(task_id="read", options={"decode": "json", "largest": "5"}, columns="delay double")(arrow)(cuts)
    task.pravega(task_id="write", into=str(sums), into_options={"registry": "here"}, **JSON)(totals)(cuts)
    twins: Any = {"options": {"decode": "json"}, "columns": "delay double, `DELAY` double"}
    task.pravega(task_id="twins", **twins)(duck)(cuts)
    fly()
    done = run(dag, DAYS[0])
    assert [(done.state(each), done.tries(each)) for each in ("read", "write", "twins")] == [("failed", 1)] * 3
    [(state, reason)] = states()
    assert state == "failed"
    assert "has no option" in reason or "is there more than once" in reason


def no_annotation(flights):
    pass


def other_annotation(flights: dict[str, str]):
    pass


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: task.pravega(no_annotation)({}), ConfigurationError, "'flights' of no_annotation .* has none"),
        (lambda: task.pravega(other_annotation)({}), ConfigurationError, "must have one of pyarrow.RecordBatchReader"),
        (lambda: task.pravega(into="a/b", table="delta:/c")(arrow)({}), ConfigurationError, "give one of them"),
        (lambda: task.pravega(table="nowhere")(arrow)({}), AirflowFailException, "what kind of table it is"),
        (lambda: task.pravega(key=["id"], order_by=[])(arrow)({}), ConfigurationError, "give table"),
        (lambda: task.pravega(table="delta:/c", key=["id"])(arrow)({}), AirflowFailException, "needs order_by"),
        (lambda: task.pravega(table="delta:/c", order_by=[])(arrow)({}), AirflowFailException, "there is no key"),
        (
            lambda: task.pravega(table="parquet:/c", key=["id"], order_by=[])(arrow)({}),
            AirflowFailException,
            "changes cannot be merged",
        ),
        (
            lambda: PravegaSqlCheckOperator(task_id="t", sql="", stream_cuts={}, into="a/b"),
            ConfigurationError,
            "a check writes nothing",
        ),
    ],
)
def test_a_mistake_stops_the_dag(make, error, complaint):
    with DAG("dag"), pytest.raises(error, match=complaint):
        make()
