"""A backfill in a real DAG: a plan, mapped reads in parallel, and what a cleared run finds."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.sdk import DAG

from aiopravega.ledger import Interval
from airflow_pravega.operators.backfill import PravegaBackfillPlanOperator
from airflow_pravega.operators.events import PravegaReadEventsOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator

pytestmark = pytest.mark.usefixtures("spark")
DAY = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS = 600


@pytest.fixture
def written(client, stream):
    texts = [f"event {number:03}" for number in range(EVENTS)]
    with client.writer(stream) as writer:
        writer.write_many([text.encode() for text in texts], texts)
    return stream


def test_intervals_of_a_plan_are_read_by_mapped_tasks_and_done(client, written, run, spark, tmp_path: Path):
    def one_read(interval):
        return {"stream_cuts": interval, "output_path": f"{tmp_path}/{interval['interval'].replace(' ', '-')}"}

    with DAG("backfill", schedule=None) as dag:
        plan = PravegaBackfillPlanOperator(task_id="plan", stream=str(written), parts=3, consumer="backfill")
        read = PravegaSparkReadOperator.partial(task_id="read", stream=str(written))
        read.expand_kwargs(plan.output.map(one_read))

    first = run(dag, DAY)

    assert [each["interval"] for each in first.result("plan")] == ["1 of 3", "2 of 3", "3 of 3"]
    events = [row.event for row in spark.read.parquet(*(f"{tmp_path}/{number}-of-3" for number in (1, 2, 3))).collect()]
    assert sorted(bytes(event).decode() for event in events) == [f"event {number:03}" for number in range(EVENTS)]
    records = client.cut_ledger(written.scope).records("backfill", written)
    assert [record.is_done for record in records] == [True] * 3
    with client.writer(written) as writer:
        writer.write(b"late")
    assert run(dag, DAY).result("plan") == []  # done, whatever was written since


def test_a_retried_plan_has_the_same_ranges_without_the_done_ones(client, written, run_task):
    def plan(**common):
        return PravegaBackfillPlanOperator(stream=str(written), max_bytes="3000", consumer="backfill", **common)

    first = run_task(plan, DAY).result()
    client.cut_ledger(written.scope).finish(Interval("backfill", written, first[1]["interval"]))

    assert run_task(plan, DAY).result() == [first[0], *first[2:]]


def test_a_plan_that_cannot_be_mapped_records_nothing(client, written, run, capsys, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "3")
    with DAG("too_long", schedule=None) as dag:
        plan = PravegaBackfillPlanOperator(task_id="plan", stream=str(written), parts=4, consumer="too long", retries=1)
        PravegaReadEventsOperator.partial(task_id="read", stream=str(written)).expand(stream_cuts=plan.output)

    assert (run(dag, DAY).state("plan"), run(dag, DAY).tries("plan")) == ("failed", 1)

    assert "AIRFLOW__CORE__MAX_MAP_LENGTH" in capsys.readouterr().out
    assert client.list_tables(written.scope) == []


@pytest.mark.parametrize("wrong", [{"parts": "many"}, {"parts": 2, "max_bytes": 9}, {"stream": "nowhere/stream"}])
def test_what_cannot_work_fails_without_retries(written, run_task, wrong):
    run = run_task(lambda **common: PravegaBackfillPlanOperator(**({"stream": str(written)} | wrong | common)))
    assert (run.state(), run.tries()) == ("failed", 1)
