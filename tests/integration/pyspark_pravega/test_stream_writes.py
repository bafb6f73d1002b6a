"""Streaming queries that write to a stream: each micro-batch once, whatever is killed or done again."""

import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.ledger import CommitState
from pyspark_pravega.write.stream import PravegaStreamWriter

JOB = Path(__file__).with_name("copy_job.py")
JOB_SECONDS = 600
RUN_SECONDS = 600

Run = Callable[..., StreamingQuery]


@pytest.fixture
def events_in(client):
    """The events of a stream, in the order of their segments."""

    def events_in(sink: StreamName) -> list[bytes]:
        return [event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink)]

    return events_in


@pytest.fixture
def run(pravega_config, tmp_path) -> Run:
    """Runs a query into a stream over all that there is now; its checkpoint is the test's."""

    def run(frame: DataFrame, sink: StreamName, mode: str = "append", **options: object) -> StreamingQuery:
        named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
        texts = {name: str(value) for name, value in options.items()}
        writer = frame.writeStream.format("pravega").outputMode(mode).options(**named | texts)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(RUN_SECONDS)
        return query

    return run


def forget_commit(checkpoint: Path, batch: int) -> None:
    """Make the checkpoint what it is when the driver dies after a batch is committed, and before Spark notes that."""
    for name in (f"{batch}", f".{batch}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)


def test_a_query_writes_every_row_once_over_several_runs(run, follow, fill, make_stream, events_in, client):
    source, sink = make_stream(2), make_stream(3, "sink")
    written = fill(source, 500, "first")
    rows = follow(source, start_stream_cut="earliest", max_bytes_per_trigger=4000).select("event")

    run(rows, sink)
    written += fill(source, 300, "second")
    query = run(rows, sink)

    assert Counter(events_in(sink)) == Counter(written)
    last = query.lastProgress["batchId"]
    record = client.commit_ledger(sink.scope).lookup(sink, f"{query.id}/{last}").record
    assert record.state is CommitState.DONE


def test_a_batch_that_is_done_is_not_written_again(run, follow, fill, make_stream, events_in, tmp_path):
    source, sink = make_stream(2), make_stream(3, "sink")
    written = fill(source, 500)
    rows = follow(source, start_stream_cut="earliest").select("event")
    query = run(rows, sink)
    forget_commit(tmp_path / "checkpoint", query.lastProgress["batchId"])

    run(rows, sink)

    assert Counter(events_in(sink)) == Counter(written)


def test_a_query_with_a_new_checkpoint_is_another_write(run, follow, fill, make_stream, events_in, tmp_path):
    source, sink = make_stream(1), make_stream(1, "sink")
    written = fill(source, 50)
    rows = follow(source, start_stream_cut="earliest").select("event")
    run(rows, sink)
    shutil.rmtree(tmp_path / "checkpoint")

    run(rows, sink)

    assert Counter(events_in(sink)) == Counter(written * 2)


def test_a_query_on_a_checkpoint_of_a_backup_fails_and_loses_no_rows(
    run, follow, fill, make_stream, events_in, tmp_path
):
    source, sink = make_stream(2), make_stream(2, "sink")
    written = fill(source, 200, "first")
    rows = follow(source, start_stream_cut="earliest").select("event")
    run(rows, sink)
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "backup")
    written += fill(source, 100, "second")
    run(rows, sink)
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.move(tmp_path / "backup", tmp_path / "checkpoint")
    fill(source, 600, "third")

    with pytest.raises(
        StreamingQueryException, match=r"WriteIdReusedError.*other rows: 100 events.*this run has 700 events"
    ):
        run(rows, sink)

    assert Counter(events_in(sink)) == Counter(written)


def test_a_batch_that_is_done_is_not_compared_if_the_query_says_so(run, follow, fill, make_stream, events_in, tmp_path):
    source, sink = make_stream(1), make_stream(1, "sink")
    written = fill(source, 100)
    rows = follow(source, start_stream_cut="earliest")
    query = run(rows.selectExpr("concat(event, uuid()) as event"), sink, on_written="skip")
    forget_commit(tmp_path / "checkpoint", query.lastProgress["batchId"])

    run(rows.selectExpr("concat(event, uuid()) as event"), sink, on_written="skip")

    assert len(events_in(sink)) == len(written)


def test_a_batch_whose_rows_are_random_cannot_be_done_again(run, follow, fill, make_stream, events_in, tmp_path):
    source, sink = make_stream(1), make_stream(1, "sink")
    written = fill(source, 100)
    rows = follow(source, start_stream_cut="earliest")
    query = run(rows.selectExpr("concat(event, uuid()) as event"), sink)
    forget_commit(tmp_path / "checkpoint", query.lastProgress["batchId"])

    with pytest.raises(StreamingQueryException, match=r"WriteIdReusedError.*on_written=skip"):
        run(rows.selectExpr("concat(event, uuid()) as event"), sink)

    assert len(events_in(sink)) == len(written)


@pytest.fixture
def copy_by_foreach_batch(follow, pravega_config, tmp_path):
    """Copies a stream by a query whose batches are written by `foreachBatch`; `name` makes their write ids."""

    def copy(source: StreamName, sink: StreamName, checkpoint: str, name: str | None) -> None:
        options = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}

        def save(frame: DataFrame, batch: int) -> None:
            ids = {} if name is None else {"write_id": f"{name}/{batch}"}
            frame.select("event").write.format("pravega").mode("append").options(**options, **ids).save()

        writer = follow(source, start_stream_cut="earliest").writeStream.foreachBatch(save)
        query = writer.option("checkpointLocation", str(tmp_path / checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(RUN_SECONDS)

    return copy


def test_rows_of_a_foreach_batch_under_a_used_name_are_an_error(copy_by_foreach_batch, fill, make_stream, events_in):
    source, sink = make_stream(1), make_stream(1, "sink")
    written = fill(source, 50, "first")
    copy_by_foreach_batch(source, sink, "one", "totals")
    fill(source, 50, "second")

    with pytest.raises(StreamingQueryException, match=r"WriteIdReusedError.*'totals/0'.*this run has 100 events"):
        copy_by_foreach_batch(source, sink, "two", "totals")  # as after a checkpoint was deleted

    assert Counter(events_in(sink)) == Counter(written)


@pytest.mark.parametrize(("name", "times"), [("totals", 1), (None, 2)])
def test_a_repeated_foreach_batch_is_written_once_if_it_has_a_name(
    copy_by_foreach_batch, fill, make_stream, events_in, name, times
):
    source, sink = make_stream(1), make_stream(1, "sink")
    written = fill(source, 50, "first")

    for checkpoint in ("one", "two"):
        copy_by_foreach_batch(source, sink, checkpoint, name)

    assert Counter(events_in(sink)) == Counter(written * times)


@pytest.mark.parametrize(("mode", "complaint"), [("complete", "cannot be overwritten"), ("update", "Update mode")])
def test_rows_can_only_be_appended(run, follow, fill, make_stream, events_in, mode, complaint):
    source, sink = make_stream(1), make_stream(1, "sink")
    fill(source, 10)
    counted = follow(source, start_stream_cut="earliest").groupBy().count().selectExpr("cast(count as string) as event")

    with pytest.raises(Exception, match=complaint):
        run(counted, sink, mode)

    assert events_in(sink) == []


def test_a_failed_batch_leaves_nothing_and_the_next_run_writes_it(run, follow, fill, make_stream, events_in):
    source, sink = make_stream(1), make_stream(1, "sink")
    written = fill(source, 100)
    rows = follow(source, start_stream_cut="earliest")
    broken = rows.selectExpr("if(event = cast('event-99' as binary), null, event) as event")

    with pytest.raises(StreamingQueryException, match="no event"):
        run(broken, sink)
    assert events_in(sink) == []
    run(rows.select("event"), sink)

    assert Counter(events_in(sink)) == Counter(written)


def test_plain_writes_of_a_query_have_no_ledger(run, follow, fill, make_stream, events_in, client):
    source, sink = make_stream(1), make_stream(2, "sink")
    written = fill(source, 100)

    run(follow(source, start_stream_cut="earliest").select("event"), sink, exactly_once="false")

    assert Counter(events_in(sink)) == Counter(written)
    assert client.run(client.controller.list_tables(sink.scope)) == []


def test_a_write_id_is_refused_since_the_checkpoint_names_the_writes(run, follow, make_stream):
    source = make_stream(1)

    with pytest.raises(Exception, match="named by its checkpoint"):
        run(follow(source).select("event"), source, write_id="daily")


@pytest.mark.slow  # the fault matrix, of which make test runs a part, kills writes too
@pytest.mark.timeout(6 * JOB_SECONDS)  # starts three JVMs on a machine that may be busy with other tests
def test_a_query_that_is_killed_again_and_again_writes_every_event_once(
    launch, client, make_stream, events_in, pravega_config, tmp_path
):
    source, sink = make_stream(2), make_stream(2, "sink")
    checkpoint = tmp_path / "checkpoint"

    def start(*more: str):
        command = [sys.executable, str(JOB), "--controller", pravega_config.controller_uri, "--scope", source.scope]
        command += ["--stream", source.stream, "--sink", sink.stream, "--limit", "4000"]
        return launch([*command, "--checkpoint", str(checkpoint), *more])

    def kill_when_there_is(job, path: Path) -> None:
        deadline = time.monotonic() + JOB_SECONDS
        while not path.exists():
            assert job.process.poll() is None, job.said()
            assert time.monotonic() < deadline, job.said()
            time.sleep(0.002)
        job.kill()

    events = [f"key-{number % 10}:{number}" for number in range(2000)]
    with client.writer(source) as writer:
        writer.write_many([event.encode() for event in events], [event.split(":")[0] for event in events])

    kill_when_there_is(start(), checkpoint / "offsets" / "1")  # in the course of a batch
    client.scale_stream(sink, 3)
    kill_when_there_is(start(), checkpoint / "commits" / "3")  # when one has just been committed
    start("--to-the-end").succeed()

    found = events_in(sink)
    assert Counter(found) == Counter(event.encode() for event in events)
    by_key = defaultdict(list)
    for event in found:
        key, number = event.decode().split(":")
        by_key[key].append(int(number))
    assert by_key == {f"key-{key}": list(range(key, 2000, 10)) for key in range(10)}


def test_a_query_whose_stream_cannot_be_marked_says_so_once(make_stream, client, pravega_config, caplog):
    sink = make_stream(1)
    client.seal_stream(sink)
    options = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}

    for _ in range(3):  # Spark makes one for each micro-batch
        PravegaStreamWriter(options, StructType().add("event", "string"), overwrite=False)

    # On a slow machine there are also records of requests that are repeated.
    said = [message for message in caplog.messages if "marked" in message]
    assert [message.partition(" with")[0] for message in said] == [f"{sink} is not marked"]
