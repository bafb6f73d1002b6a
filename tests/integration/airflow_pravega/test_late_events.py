"""Late events in a real Airflow: exactly their intervals run again, as the next claim and the next generation."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.models import DagRun
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable
from airflow.utils.session import create_session
from tests.pages.blocks import block_with

from aiopravega import StreamName
from aiopravega.blocking.intervals import claim_times, claim_times_again
from aiopravega.ledger import Interval
from airflow_pravega.operators.decision import LEAVE
from airflow_pravega.operators.late import RUN_AGAIN, PravegaLateEventsOperator
from airflow_pravega.operators.sql import PravegaSqlOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from pravega_jobs.late import find_late_events

OPTIONS = {"decode": "json", "event_time": "ordered_at"}
COLUMNS = "id long, ordered_at timestamp"


def day(number: int) -> datetime:
    return datetime(2013, 1, number, tzinfo=UTC)


@pytest.fixture
def orders(client, scope):
    """A stream of orders, complete for two days; `write` writes some of a day."""
    stream = StreamName(scope, "orders")
    assert client.create_stream(stream, timestamp_aggregation_timeout=timedelta(minutes=5))
    client.note_time(stream, "shop", day(1))
    next(iter(client.watermarks(stream, follow=True)))
    return stream


@pytest.fixture
def write(client, orders):
    def write(number: int, *ids: int) -> None:
        with client.writer(orders) as writer:
            writer.write_many(
                [json.dumps({"id": each, "ordered_at": day(number).isoformat()}).encode() for each in ids]
            )

    return write


@pytest.fixture
def complete(client, orders, write):
    """Writes two orders of each of two days, after which the stream is complete for them."""
    write(1, 1, 2)
    write(2, 3, 4)
    client.note_time(orders, "shop", day(3))
    next(iter(client.watermarks(orders, since=day(3), follow=True)))


@pytest.fixture
def daily(orders, tmp_path):
    """A DAG that lands the orders of a day."""
    every_day = CronDataIntervalTimetable("@daily", timezone="UTC")
    with DAG(f"daily-{orders.scope}", schedule=every_day, start_date=day(1), catchup=False) as dag:
        wait = PravegaEventTimeSensor(task_id="wait", stream=str(orders), poke_interval=0.1, timeout=600)
        PravegaSqlOperator(
            task_id="land",
            sql="SELECT id, ordered_at FROM events",
            stream_cuts=wait.output,
            columns=COLUMNS,
            options=OPTIONS,
            table=f"parquet:{tmp_path}/orders",
            rebuild="{{ ti.xcom_pull(task_ids='wait', key='claim') }}",
        )
    return dag


@pytest.fixture
def landed(tmp_path):
    """The ids that the table has."""

    def landed() -> list[int]:
        return sorted(pq.read_table(tmp_path / "orders")["id"].to_pylist())

    return landed


@pytest.fixture
def search(run_task, orders, daily):
    """Searches for late events of the DAG."""

    def search(late="rerun", **more):
        given: dict[str, Any] = {
            "stream": str(orders),
            "consumer": f"{daily.dag_id}/wait",
            "columns": COLUMNS,
            "options": OPTIONS,
        }
        return run_task(partial(PravegaLateEventsOperator, **given, late=late, **more)).result()

    return search


def states(dag):
    """The states of the runs of a DAG, by their logical dates."""
    with create_session() as session:
        found = session.query(DagRun).filter(DagRun.dag_id == dag.dag_id).order_by(DagRun.logical_date)
        return [str(each.state) for each in found]


@pytest.mark.usefixtures("complete")
def test_exactly_the_day_with_late_events_runs_again(client, orders, write, run, daily, search, landed):
    first = run(daily, day(2)).result("wait")
    run(daily, day(3))
    assert first["claim"] == "1"
    assert search()["rerun"] == []
    write(1, 5)
    found = search()
    [again] = found["rerun"]
    assert (found["events"], again["interval"], again["claim"]) == (1, first["interval"], 2)
    assert (again["dag_id"], found["not_rerun"]) == (daily.dag_id, {})
    assert states(daily) == ["queued", "success"]  # without a scheduler, nobody runs what is cleared

    second = run(daily, day(2)).result("wait")
    assert (second["claim"], second["consumer"]) == ("2", first["consumer"])
    assert landed() == [1, 2, 3, 4, 5]
    assert search()["rerun"] == []
    [own] = client.cut_ledger(orders.scope).records(f"{first['consumer']}, claim 2 of {first['interval']}", orders)
    assert own.is_done
    assert run(daily, day(3)).result("wait")["claim"] == "1"


@pytest.fixture
def asking(orders, daily):
    """A DAG that asks about late events."""
    with DAG(f"asking-{orders.scope}", schedule=None) as dag:
        PravegaLateEventsOperator(
            task_id="task",
            stream=str(orders),
            consumer=f"{daily.dag_id}/wait",
            columns=COLUMNS,
            options=OPTIONS,
            late="ask",
        )
    return dag


@pytest.mark.usefixtures("complete")
def test_people_decide_whether_a_day_runs_again(write, run, daily, asking, answered, landed):
    first = run(daily, day(2)).result("wait")
    assert run(asking).result("task")["events"] == 0  # nobody is asked
    write(1, 5)
    with answered(asking.dag_id, LEAVE) as asked:
        assert run(asking).state("task") == "skipped"
    assert asked[0].subject.startswith("1 late events of 1 intervals")
    assert first["interval"] in asked[0].body
    assert states(daily) == ["success"]

    with answered(asking.dag_id, RUN_AGAIN):
        done = run(asking)
    found = done.result("task")
    assert (done.state("task"), found["decision"]["choice"], found["not_rerun"]) == ("success", RUN_AGAIN, {})
    [again] = found["rerun"]
    assert (again["interval"], again["claim"], states(daily)) == (first["interval"], 2, ["queued"])
    assert run(daily, day(2)).result("wait")["claim"] == "2"
    assert landed() == [1, 2, 5]


@pytest.mark.usefixtures("complete")
def test_an_answer_counts_only_for_the_late_events_it_is_about(
    client, orders, write, run, daily, asking, answered, capsys
):
    run(daily, day(2))
    write(1, 5)

    def more():
        write(1, 6)
        options: Any = {"columns": COLUMNS, **OPTIONS}
        assert find_late_events(client, orders, f"{daily.dag_id}/wait", **options).events == 2

    with answered(asking.dag_id, RUN_AGAIN, more):
        assert run(asking).state("task") == "failed"
    assert "what was asked about has changed since" in capsys.readouterr().out
    assert states(daily) == ["success"]


def test_arguments_that_ask_nobody_are_refused():
    given: dict[str, Any] = {"stream": "shop/orders", "consumer": "orders/wait", "options": OPTIONS}
    with pytest.raises(AirflowFailException, match="which asks nobody"):
        PravegaLateEventsOperator(task_id="late", **given, late="rerun", response_timeout=timedelta(hours=1))
    with pytest.raises(AirflowFailException, match="must be one of"):
        PravegaLateEventsOperator(task_id="late", **given, late="perhaps")


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("fails", [False, True])
def test_a_run_whose_later_claim_was_left_or_failed_is_cleared(client, orders, run, daily, search, fails):
    first = run(daily, day(2)).result("wait")
    record = client.cut_ledger(orders.scope).find(Interval(first["consumer"], orders, first["interval"]))
    times = (day(1), day(2))
    later = claim_times_again(client, orders, first["consumer"], times, 2, claimant=record.claimant)
    if fails:
        client.cut_ledger(orders.scope).fail(later.identity, "its task has failed", by="a task")
    assert [each["claim"] for each in search()["rerun"]] == [2]
    assert states(daily) == ["queued"]


@pytest.mark.usefixtures("complete")
def test_a_day_that_airflow_cannot_run_again_is_named(client, orders, write, search, daily):
    consumer = f"{daily.dag_id}/wait"
    record = claim_times(client, orders, consumer, (day(1), day(2)))
    client.cut_ledger(orders.scope).finish(record.identity)
    write(1, 5)
    found = search()
    assert (found["rerun"], found["events"]) == ([], 1)
    assert "its record names no run" in found["not_rerun"][record.interval]


@pytest.mark.usefixtures("complete")
def test_late_events_are_reported_and_collected(run, daily, write, search):
    run(daily, day(2))
    write(1, 5)
    assert [(each["events"], each["new"]) for each in search("report")["intervals"]] == [(1, 1)]
    assert search("collect", late_after_events=2)["rerun"] == []
    write(1, 6)
    assert [each["claim"] for each in search("collect", late_after_events=2)["rerun"]] == [2]


def test_the_dag_of_the_page_can_be_defined():
    namespace: dict[str, object] = {}
    block = block_with("late-events", "PravegaLateEventsOperator(")
    exec(compile(block.code, block.name, "exec"), namespace)
    assert isinstance(namespace["dag"], DAG)
    assert isinstance(namespace["searches"], DAG)
