"""`@task.pravega_spark` in real DAG runs, with a real Spark on this machine."""

import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest
from airflow.sdk import DAG, task
from pyspark.sql import functions as sql

from aiopravega import StreamCutRange
from aiopravega.ledger import IntervalState
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

pytestmark = pytest.mark.usefixtures("spark")
DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def numbers(write, stream):
    """A stream of the numbers below 100 in JSON."""
    write(*(json.dumps({"number": number, "rest": number % 7}).encode() for number in range(100)))
    return stream


def job(dag_id: str, numbers, function, *more, **arguments) -> DAG:
    with DAG(dag_id, schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(numbers), consumer="ada")
        decorated = task.pravega_spark(task_id="work", stream=str(numbers), **arguments)
        decorated(function)(wait.output, *more)
    return dag


def typed(events):
    return events.select(sql.from_json(sql.col("event").cast("string"), "number long, rest long").alias("row"))


def interval_of(client, numbers):
    [record] = client.cut_ledger(numbers.scope).records("ada", numbers)
    return record


def test_what_a_function_makes_of_a_range_is_written_once(run, client, scope, numbers):
    def per_rest(events, name, dag_run=None):
        """A function of the range, of an argument, and of the run."""
        day = sql.lit(dag_run.logical_date.date().isoformat()).alias("day")
        totals = typed(events).groupBy("row.rest").agg(sql.count("*").alias("numbers")).orderBy("rest")
        event = sql.to_json(sql.struct("*", sql.lit(name).alias("name"), day))
        return totals.select(event.alias("event"), sql.col("rest").cast("string").alias("routing_key"))

    dag = job(f"dag-{scope}", numbers, per_rest, "{{ dag_run.logical_date.year }}", into=f"{scope}/totals")
    first = run(dag, DAY)
    result = first.result("work")
    written = [
        json.loads(event.data)
        for event in client.read(StreamCutRange(client.head(f"{scope}/totals"), client.tail(f"{scope}/totals")))
    ]
    assert sum(row["numbers"] for row in written) == 100
    assert {row["rest"] for row in written} == set(range(7))
    assert {row["day"] for row in written} == {"2026-01-01"}
    assert {row["name"] for row in written} == {"2026"}
    assert (result["stream"], result["events"], result["written"]) == (f"{scope}/totals", 7, True)
    assert interval_of(client, numbers).is_done

    again = run(dag, DAY)
    assert again.result("wait") == first.result("wait")
    assert (again.result("work")["written"], again.result("work")["cuts"]) == (False, result["cuts"])
    assert client.tail(f"{scope}/totals").to_text() == result["cuts"]["end"]


def test_what_a_function_returns_is_the_result_of_the_task(run, client, scope, numbers):
    def largest(events):
        return {"number": typed(events).agg(sql.max("row.number")).first()[0]}

    assert run(job(f"dag-{scope}", numbers, largest), DAY).result("work") == {"number": 99}
    assert interval_of(client, numbers).is_done


def test_the_example_writes_the_delays_of_a_range(run, client, scope, stream, write, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "example_dags" / "airflow"))
    example = import_module("flights_taskflow")
    flights = [("UA", 2.0), ("UA", 4.0), ("DL", -1.0)]
    write(
        *(
            json.dumps({"departure": "2013-01-01T05:00:00", "carrier": carrier, "dep_delay": delay}).encode()
            for carrier, delay in flights
        )
    )
    done = run(example.flights_taskflow, DAY, {"flights": str(stream), "delays": f"{scope}/delays"})
    cuts = StreamCutRange.from_json(done.result("delays")["cuts"])
    rows = [json.loads(event.data) for event in client.read(cuts)]
    assert {(row["carrier"], row["flights"], row["delay_minutes"]) for row in rows} == {("UA", 2, 6.0), ("DL", 1, -1.0)}


def count(events):
    return events.count()


@pytest.mark.parametrize(
    ("function", "into", "message"),
    [(lambda events: events, False, "nothing says where to"), (count, True, "returns int, but for into=")],
)
def test_a_result_that_has_no_place_to_go_fails_the_task(run, client, scope, numbers, function, into, message):
    arguments = {"into": f"{scope}/totals"} if into else {}
    assert run(job(f"dag-{scope}", numbers, function, **arguments), DAY).state("work") == "failed"
    record = interval_of(client, numbers)
    assert record.state is IntervalState.FAILED
    assert message in record.reason
