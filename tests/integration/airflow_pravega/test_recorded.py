"""Ranges that another scheduler took, processed in a real DAG by their names."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.sdk import DAG

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from airflow_pravega.operators.recorded import PravegaRecordedRangesOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator

DAY = datetime(2026, 1, 1, tzinfo=UTC)
CONSUMER = "pages"


@pytest.fixture
def take(client, stream, write):
    """Writes events, and records the range that has them, as other schedulers do; gives the interval's name."""
    ledger = client.cut_ledger(stream.scope)
    ledger.create()

    def take(name, *events):
        start = client.tail(stream)
        write(*events)
        taken = StreamCutRange(start, client.tail(stream))
        ledger.claim(Interval(CONSUMER, stream, name), taken, by="dagster/visits")
        return name

    return take


@pytest.mark.usefixtures("spark")
def test_ranges_of_others_are_processed_by_their_names(client, stream, take, run, spark, tmp_path: Path):
    ledger = client.cut_ledger(stream.scope)
    first, second = take("first", b"a", b"b"), take("second", b"c")
    ledger.finish(Interval(CONSUMER, stream, first))

    def dag_of(**which):
        with DAG(f"dag-{stream.scope}", schedule=None) as dag:
            ranges = PravegaRecordedRangesOperator(task_id="ranges", stream=str(stream), consumer=CONSUMER, **which)
            read = PravegaSparkReadOperator.partial(task_id="read", stream=str(stream))
            read.expand_kwargs(
                ranges.output.map(lambda cuts: {"stream_cuts": cuts, "output_path": f"{tmp_path}/{cuts['interval']}"})
            )
        return dag

    # By default what is not done; by its name, what is done too.
    assert [each["interval"] for each in run(dag_of(), DAY).result("ranges")] == [second]
    assert ledger.find(Interval(CONSUMER, stream, second)).is_done
    [found] = run(dag_of(intervals=[first]), DAY).result("ranges")
    record = ledger.find(Interval(CONSUMER, stream, first))
    assert (found["start"], found["end"]) == (record.start, record.end)

    def events(name):
        return sorted(bytes(row.event) for row in spark.read.parquet(f"{tmp_path}/{name}").collect())

    assert (events(first), events(second)) == ([b"a", b"b"], [b"c"])


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ({"intervals": "never"}, "has no interval never"),
        ({"consumer": "nobody"}, "took no range"),
        ({"intervals": ["left"]}, "is skipped"),
    ],
)
def test_what_cannot_be_processed_is_refused_by_name(client, stream, write, run_task, which, said, capfd):
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    interval = Interval(CONSUMER, stream, "left")
    write(b"a")
    head, tail = (find(stream.scope, stream.stream) for find in (client.head, client.tail))
    ledger.claim(interval, StreamCutRange(head, tail))
    ledger.skip(interval, "a test")

    given = {"stream": str(stream), "consumer": CONSUMER} | which
    run = run_task(lambda **common: PravegaRecordedRangesOperator(**given, **common), DAY)

    assert (run.state(), run.tries()) == ("failed", 1)
    assert said in capfd.readouterr().out
