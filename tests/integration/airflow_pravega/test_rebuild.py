"""An interval that is written again: the run's configuration names the generation, and the task says where it is."""

from datetime import UTC, datetime
from functools import partial

import pytest
from pyspark.sql import functions as sql

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from airflow_pravega.operators.spark import PravegaSparkWriteOperator

pytestmark = pytest.mark.usefixtures("spark")
DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def events(client):
    """The events of a stream, or between two cuts of it."""

    def events(stream: StreamName, cuts: StreamCutRange) -> list[bytes]:
        return sorted(event.data for event in client.read(cuts, stream))

    return events


def numbers(start: int):
    return lambda spark, _: spark.range(start, start + 3).select(sql.col("id").cast("string").alias("event"))


def test_a_run_writes_the_generation_that_its_configuration_names(run_task, scope, events):
    sink = StreamName(scope, "sink")
    write = partial(PravegaSparkWriteOperator, stream=str(sink), rebuild="{{ (dag_run.conf or {}).get('rebuild', 1) }}")

    first = run_task(partial(write, source=numbers(0)), DAY).result()
    second = run_task(partial(write, source=numbers(3)), DAY, {"rebuild": 2}).result()
    again = run_task(partial(write, source=numbers(3)), DAY, {"rebuild": 2}).result()

    assert [result["generation"] for result in (first, second, again)] == [1, 2, 2]
    assert [result["written"] for result in (first, second, again)] == [True, True, False]
    assert first["write_id"] == second["write_id"]
    assert events(sink, StreamCutRange(UNBOUNDED, UNBOUNDED)) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert events(sink, StreamCutRange.from_json(first["cuts"])) == [b"0", b"1", b"2"]
    assert events(sink, StreamCutRange.from_json(second["cuts"])) == [b"3", b"4", b"5"]
    assert again["cuts"] == second["cuts"]


@pytest.mark.parametrize("rebuild", [2, "{{ 'two' }}"])
def test_a_generation_that_cannot_be_written_fails_the_task_for_good(run_task, scope, rebuild):
    write = partial(PravegaSparkWriteOperator, stream=f"{scope}/sink", source=numbers(0), rebuild=rebuild)

    refused = run_task(write, DAY)

    assert (refused.state(), refused.tries()) == ("failed", 1)
