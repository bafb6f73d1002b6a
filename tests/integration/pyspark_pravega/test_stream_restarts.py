"""Streaming queries that are killed: their next run continues where they were, and every event is written once."""

import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.cuts import SegmentRange
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.packing import PiecesPartition
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.stream import PravegaStreamReader

JOB = Path(__file__).with_name("follow_job.py")
JOB_SECONDS = 600


@pytest.fixture
def start(launch, files, pravega_config):
    """Starts a run of the query."""

    def start(stream: StreamName, begin: str, *more: str):
        command = [sys.executable, str(JOB), "--controller", pravega_config.controller_uri]
        command += ["--scope", stream.scope, "--stream", stream.stream, "--start", begin, "--limit", "4000"]
        return launch([*command, "--folder", str(files.folder), *more])

    return start


def wait_for(job, path: Path) -> None:
    """Until Spark has written something into its checkpoint."""
    deadline = time.monotonic() + JOB_SECONDS
    while not path.exists():
        assert job.process.poll() is None, job.said()
        assert time.monotonic() < deadline, job.said()
        time.sleep(0.002)


@pytest.mark.slow  # starts five JVMs; a query that reads, writes and is killed is also in test_stream_writes
@pytest.mark.timeout(6 * JOB_SECONDS)
def test_a_query_that_is_killed_again_and_again_writes_every_event_once(spark, start, files, fill, client, make_stream):
    stream = make_stream(2)
    fill(stream, 100, "before the query")
    offsets, commits = files.folder / "checkpoint" / "offsets", files.folder / "checkpoint" / "commits"

    # In the course of the first batch, which begins at the tail: that is elsewhere when it is repeated.
    job = start(stream, "latest")
    wait_for(job, offsets / "0")
    job.kill()
    assert not (commits / "0").exists()
    events = fill(stream, 1000, "first")
    # In the course of a batch.
    job = start(stream, "latest")
    wait_for(job, offsets / "2")
    job.kill()
    client.scale_stream(stream, 3)
    events += fill(stream, 1000, "second")
    # When a batch has just been committed.
    job = start(stream, "latest")
    wait_for(job, commits / "5")
    job.kill()
    # At any moment.
    job = start(stream, "latest")
    wait_for(job, commits / "7")
    time.sleep(random.random())
    job.kill()
    events += fill(stream, 200, "third")

    start(stream, "latest", "--to-the-end").succeed()

    assert files.contents(spark) == Counter(events)


@pytest.mark.parametrize("begin", ["latest", "earliest"])
def test_the_first_batch_is_the_same_when_it_is_repeated(client, fill, make_stream, pravega_config, begin):
    stream = make_stream(2)
    options = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
    options["start_stream_cut"] = begin
    reader = PravegaStreamReader(ReadOptions.parse(options), Columns.of())
    first = reader.initialOffset()
    events = fill(stream, 100)
    end = reader.latestOffset(first, ReadAllAvailable())
    fill(stream, 100, "later")

    # Spark has written the end into its checkpoint, and the process dies: the next one asks for the start again.
    restarted = PravegaStreamReader(ReadOptions.parse(options), Columns.of())
    repeated = pieces(restarted, restarted.initialOffset(), end)

    assert repeated == pieces(reader, first, end)
    assert sum(piece.size for piece in repeated) == sum(8 + len(event) for event in events)
    rest = pieces(restarted, end, restarted.latestOffset(end, ReadAllAvailable()))
    whole = client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
    assert sum(piece.size for piece in [*repeated, *rest]) == sum(piece.size for piece in whole)


def pieces(reader: PravegaStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[SegmentRange]:
    """What the tasks of a batch read."""
    tasks = reader.partitions(start, end)
    return sorted(piece.part for task in tasks if isinstance(task, PiecesPartition) for piece in task.pieces)


@pytest.mark.timeout(2 * JOB_SECONDS)
def test_executors_of_a_cluster_follow_a_stream(spark, start, files, fill, make_stream):
    stream = make_stream(4)
    events = fill(stream, 1000)

    start(stream, "earliest", "--to-the-end", "--master", "local-cluster[2,1,1024]").succeed()

    assert files.contents(spark) == Counter(events)
