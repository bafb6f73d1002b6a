"""Code that is tested in a DAG on an interval that another DAG has processed, before it is deployed."""

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task

from aiopravega import ScalingPolicy
from airflow_pravega.operators.replay import PravegaReplayOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

DAY = datetime(2026, 1, 1, tzinfo=UTC)
JSON: Any = {"options": {"decode": "json"}, "columns": "carrier string, delay double"}


def sums(flights: "pl.LazyFrame") -> pl.LazyFrame:
    return flights.group_by("carrier").agg(pl.col("delay").sum())


def means(flights: "pl.LazyFrame") -> pl.LazyFrame:
    return flights.group_by("carrier").agg(pl.col("delay").mean())


@pytest.fixture
def processed(client, stream, write, run):
    """The name of an interval that a DAG has written into `sums`; the task is not named, as the ledger knows it."""
    flights = [("AA", 5.0), ("AA", 7.5), ("UA", 1.0)]
    write(*(json.dumps({"carrier": carrier, "delay": delay}).encode() for carrier, delay in flights))
    client.create_stream(f"{stream.scope}/sums", ScalingPolicy.fixed(1))
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        wait: Any = PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="ada", poke_interval=1)
        task.pravega(task_id="sums", into=f"{stream.scope}/sums", **JSON)(sums)(wait.output)
    assert run(dag, DAY).result("sums")["events"] == 2
    [record] = client.cut_ledger(stream.scope).records("ada", stream)
    assert record.is_done
    return record.interval


@pytest.fixture
def replayed(run_task, stream, processed):
    def replayed(code, **arguments: Any):
        given = {"intervals": [processed], "consumer": "ada", "key": "carrier", **JSON} | arguments
        return run_task(lambda **common: PravegaReplayOperator(stream=str(stream), code=code, **given, **common))

    return replayed


def test_the_task_succeeds_with_the_same_rows_and_fails_with_others(replayed, stream, tmp_path):
    decorated = task.pravega(into="elsewhere/sums")(sums)
    for code in (sums, decorated, f"{sums.__module__}:sums"):
        same = replayed(code).result()
        assert (same["same"], same["output"], same["intervals"][0]["before"]) == (True, f"{stream.scope}/sums", 2)
    page, sample = tmp_path / "replay.html", [{"key": {"carrier": "AA"}, "before": 12.5, "now": 6.25}]
    failed = replayed(means, page=str(page))
    assert (failed.state(), failed.tries()) == ("failed", 1)
    assert failed._results["task"]["columns"][0]["samples"] == sample
    assert '<span class="different">different</span>' in page.read_text()
    reported = replayed(means, on_difference="report", into=f"{stream.scope}-scratch").result()
    assert (reported["same"], reported["columns"][0]["samples"]) == (False, sample)
    assert reported["intervals"][0]["scratch"]["stream"] == f"{stream.scope}-scratch/sums"


def test_an_interval_that_was_never_taken_fails_the_task_at_once(replayed):
    failed = replayed(sums, intervals="{{ 'never' }}")
    assert (failed.state(), failed.tries()) == ("failed", 1)


def test_a_rule_that_is_not_known_is_refused_when_the_dag_is_read():
    with pytest.raises(AirflowFailException, match="on_difference is 'ask'"):
        PravegaReplayOperator(
            task_id="replay", stream="a/b", consumer="ada", intervals="day", code=sums, on_difference="ask"
        )
