"""The Spark operators in real DAG runs, with a real Spark on this machine."""

import json
import time
import uuid
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from airflow.sdk import DAG
from pyspark.sql import functions as sql

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import Interval, IntervalState
from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.spark.file_digest import digest_of_files

pytestmark = pytest.mark.usefixtures("spark")
DAY = datetime(2026, 1, 1, tzinfo=UTC)
HEADER = 8  # bytes of an event's header, which count as the stream's


@pytest.fixture
def numbers(client, stream):
    """A stream of the numbers below 1,000 in JSON, spread over its segments."""
    with client.writer(stream) as writer:
        events = [json.dumps({"number": number, "rest": number % 7}).encode() for number in range(1000)]
        writer.write_many(events, [str(number) for number in range(1000)])
    return stream


@pytest.fixture
def whole(client, numbers):
    return StreamCutRange(client.head(numbers), client.tail(numbers)).to_json()


@pytest.fixture
def content(client):
    def content(stream: StreamName):
        cuts = StreamCutRange(client.head(stream), client.tail(stream))
        return sorted(event.data for event in client.read(cuts))

    return content


def number_per_rest(events):
    """A transformation that shuffles."""
    parsed = events.select(sql.from_json(sql.col("event").cast("string"), "number long, rest long").alias("row"))
    return parsed.groupBy("row.rest").agg(sql.count("*").alias("numbers"))


def as_events(frame):
    return frame.select(
        sql.to_json(sql.struct("*")).alias("event"), sql.col("rest").cast("string").alias("routing_key")
    )


def test_exactly_the_range_is_read(run_task, client, spark, numbers, whole, tmp_path):
    with client.writer(numbers) as writer:
        writer.write(b"after the range")
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=str(tmp_path / "out"))
    result = run_task(read).result()
    rows = spark.read.parquet(result["path"]).collect()
    assert {json.loads(row.event)["number"] for row in rows} == set(range(1000))
    assert result["events"] == result["rows"] == len(rows) == 1000
    assert result["bytes"] == sum(HEADER + len(row.event) for row in rows)
    assert result["digest"] is None


def test_json_becomes_the_columns_that_are_given(run_task, spark, numbers, whole, tmp_path):
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=str(tmp_path / "out"))
    decoded = partial(read, options={"decode": "json", "on_error": "null"}, columns="number long, rest double")
    rows = spark.read.parquet(run_task(decoded).result()["path"])
    assert rows.dtypes == [("number", "bigint"), ("rest", "double"), ("_corrupt_event", "binary")]
    assert {(row.number, row.rest) for row in rows.collect()} == {(number, number % 7) for number in range(1000)}


def test_a_read_that_fails_without_retries_says_why_in_the_cut_ledger(run_task, client, numbers, whole, tmp_path):
    interval = Interval("ada", numbers, "monday")
    ledger = client.cut_ledger(numbers.scope)
    ledger.create()
    ledger.claim(interval, StreamCutRange.from_json(whole))
    seen = []

    def broken(_):
        seen.append(ledger.find(interval).state)
        raise ValueError("no such carrier")

    named = {**whole, "consumer": "ada", "interval": "monday"}
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=named, output_path=str(tmp_path / "out"))
    assert run_task(partial(read, transform=broken)).state() == "failed"

    assert seen == [IntervalState.OPEN] * 2  # a try that is followed by another one says nothing
    failed = ledger.find(interval)
    assert failed.state is IntervalState.FAILED
    assert "no such carrier" in failed.reason
    run_task(read).result()
    assert ledger.find(interval).is_done


def refusing_splits(events):
    """A transformation whose tasks find, in a segment that several of them share, that they do not meet."""
    several = events.rdd.getNumPartitions() > 2

    def prove(batches):
        from aiopravega.errors import SplitProofError

        if several:
            raise SplitProofError("the stream's segment was split at 7")
        yield from batches

    return events.mapInArrow(prove, events.schema)


def test_a_range_that_was_split_at_a_wrong_place_is_read_again_unsplit(run_task, spark, numbers, whole, tmp_path):
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=str(tmp_path / "out"))

    result = run_task(partial(read, transform=refusing_splits, options={"split_bytes": "5000"})).result()

    assert result["events"] == spark.read.parquet(result["path"]).count() == 1000


def test_the_same_range_gives_the_same_rows_in_the_same_files(run_task, numbers, whole, tmp_path):
    def read(folder: str, **how):
        path = str(tmp_path / folder)
        operator = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=path)
        return run_task(partial(operator, digest=True, **how)).result()["digest"]

    assert read("one") == read("two") == read("one")
    shuffled = {"transform": number_per_rest, "sort_by": ["rest"], "files": 1}
    assert read("three", **shuffled) == read("four", **shuffled) != read("one")


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_a_digest_differs_with_contents_and_their_order(spark, tmp_path, form):
    def written(folder: str, numbers: list[int]) -> str:
        path = str(tmp_path / folder)
        spark.createDataFrame([(number,) for number in numbers], "n long").coalesce(1).write.format(form).save(path)
        return digest_of_files(spark, path, form)

    assert written("a", [1, 2]) == written("b", [1, 2])
    assert len({written("c", [1, 2]), written("d", [2, 1]), written("e", [1])}) == 3


def test_a_transformation_changes_the_rows_and_not_the_count_of_events(run_task, spark, numbers, whole, tmp_path):
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=str(tmp_path / "out"))
    result = run_task(partial(read, transform=number_per_rest)).result()
    assert (result["events"], result["rows"]) == (1000, 7)
    assert spark.read.parquet(result["path"]).agg(sql.sum("numbers")).collect()[0][0] == 1000


def test_an_empty_range_is_an_empty_result(run_task, spark, numbers, whole, tmp_path):
    cuts = {"start": whole["end"], "end": whole["end"]}
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=cuts, output_path=str(tmp_path / "out"))
    result = run_task(read).result()
    assert (result["events"], result["rows"], result["bytes"]) == (0, 0, 0)
    assert spark.read.parquet(result["path"]).count() == 0


def test_a_write_that_is_tried_again_adds_nothing(run_task, scope, numbers, whole, content, tmp_path):
    path = str(tmp_path / "out")
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=path)
    run_task(partial(read, transform=number_per_rest)).result()
    sink = StreamName(scope, "sink")
    write = partial(PravegaSparkWriteOperator, source=path, transform=as_events, stream=str(sink))
    first = run_task(write, DAY).result()
    assert (first["events"], first["written"]) == (7, True)
    assert first["bytes"] == sum(HEADER + len(event) for event in content(sink))
    again = run_task(write, DAY).result()
    assert (again["events"], again["bytes"], again["written"]) == (7, first["bytes"], False)
    assert again["write_id"] == first["write_id"]
    assert len(content(sink)) == 7
    assert run_task(write).result()["written"]  # another run, another write
    assert len(content(sink)) == 14


def test_a_run_that_gives_other_rows_than_were_written_fails(run_task, scope, content):
    def numbers(count):
        return lambda spark, _: spark.range(count).select(sql.col("id").cast("string").alias("event"))

    sink = StreamName(scope, "sink")
    write = partial(PravegaSparkWriteOperator, stream=str(sink), write_id="monday")
    run_task(partial(write, source=numbers(3))).result()

    again = run_task(partial(write, source=numbers(4)))

    assert (again.state(), again.tries()) == ("failed", 1)
    assert content(sink) == [b"0", b"1", b"2"]


def test_events_can_be_made_by_a_function(run_task, scope, content):
    def source(spark, context):
        text = context["ti"].task_id
        return spark.range(3).select(sql.concat(sql.lit(text), sql.col("id")).alias("event"))

    sink = StreamName(scope, "sink")
    result = run_task(
        partial(
            PravegaSparkWriteOperator,
            source=source,
            stream=str(sink),
            write_id="{{ 'once' }}",
            commit_ledger=f"{scope}/writes",
        )
    ).result()
    assert (result["write_id"], result["events"]) == ("once", 3)
    assert content(sink) == [b"task0", b"task1", b"task2"]


def test_a_sensor_a_read_and_a_write_make_a_job(run, scope, numbers, content, tmp_path):
    with DAG(f"dag-{scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(numbers), min_bytes=10_000, deferrable=True)
        read = PravegaSparkReadOperator(
            task_id="read",
            stream=str(numbers),
            stream_cuts=wait.output,
            transform=number_per_rest,
            output_path=f"{tmp_path}/{{{{ ti.xcom_pull('wait')['interval'] | replace(':', '') }}}}",
        )
        write = PravegaSparkWriteOperator(
            task_id="write",
            source="{{ ti.xcom_pull('read')['path'] }}",
            transform=as_events,
            stream=f"{scope}/sink",
        )
        read >> write
    done = run(dag)
    assert done.result("read")["events"] == 1000
    assert Path(done.result("read")["path"]).parent == tmp_path
    found = {row["rest"]: row["numbers"] for row in map(json.loads, content(StreamName(scope, "sink")))}
    assert found == {0: 143, 1: 143, 2: 143, 3: 143, 4: 143, 5: 143, 6: 142}


def test_a_transformation_can_be_named(run_task, numbers, whole, tmp_path, monkeypatch):
    (tmp_path / "my_transformations.py").write_text("def first_ten(events):\n    return events.limit(10)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    read = partial(PravegaSparkReadOperator, stream=str(numbers), stream_cuts=whole, output_path=str(tmp_path / "out"))
    assert run_task(partial(read, transform="my_transformations.first_ten")).result()["rows"] == 10


def test_a_killed_task_ends_its_jobs(run, spark, scope, numbers, whole, tmp_path, meanwhile):
    def slow(events):
        # A minute for the thousand rows; a task notices its end after each hundred.
        return events.where(sql.udf(lambda _: time.sleep(0.06), "boolean")("event"))

    running: list[PravegaSparkReadOperator] = []

    class ReadThatTellsItself(PravegaSparkReadOperator):
        def execute(self, context):
            running.append(self)  # Airflow executes, and kills, a copy
            return super().execute(context)

    with DAG(f"dag-{scope}", schedule=None) as dag:
        ReadThatTellsItself(
            task_id="read",
            stream=str(numbers),
            stream_cuts=whole,
            transform=slow,
            output_path=str(tmp_path / "out"),
        )

    def kill() -> None:
        deadline = time.monotonic() + 60
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running[0].on_kill()

    with meanwhile(kill):
        done = run(dag)
    assert done.state("read") == "failed"
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_a_read_only_account_reads_over_tls_and_is_refused_to_write(
    run_task, pravega_emulator_secure, connection_json, monkeypatch, tmp_path
):
    scope = f"airflow-{uuid.uuid4().hex}"
    with PravegaClient(pravega_emulator_secure.config) as owner:
        owner.create_scope(scope)
        owner.create_stream(f"{scope}/stream", ScalingPolicy.fixed(2))
        with owner.writer(f"{scope}/stream") as writer:
            writer.write_many([b"one", b"two"])
        cuts = StreamCutRange(owner.head(f"{scope}/stream"), owner.tail(f"{scope}/stream")).to_json()
    monkeypatch.setenv("AIRFLOW_CONN_READER", connection_json(pravega_emulator_secure.config_for("reader")))
    path = str(tmp_path / "out")
    read = partial(PravegaSparkReadOperator, stream=f"{scope}/stream", stream_cuts=cuts, output_path=path)
    assert run_task(partial(read, pravega_conn_id="reader")).result()["events"] == 2
    write = partial(PravegaSparkWriteOperator, source=path, transform=lambda frame: frame.select("event"))
    refused = run_task(partial(write, stream=f"{scope}/stream", pravega_conn_id="reader"))
    assert refused.state() == "failed"
    assert refused.tries() == 1
