"""Streams read by a real Spark: every event once with its offset, whatever happened to the stream, or a clear error."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from aiopravega import UNBOUNDED, StreamCut, StreamCutRange, StreamName

LARGEST = 8 * 1024 * 1024
COLUMNS = ["event", "scope", "stream", "segment_id", "offset"]


def contents(frame: DataFrame) -> Counter[bytes]:
    return Counter(bytes(row.event) for row in frame.collect())


def tail(client, stream: StreamName) -> StreamCut:
    found: StreamCut = client.tail(stream)
    return found


def test_every_event_is_a_row_with_its_offset(read, fill, client, make_stream):
    stream = make_stream(4)
    fill(stream, 1000)
    expected = [
        (event.data, stream.scope, stream.stream, event.segment.to_int(), event.offset)
        for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
    ]

    frame = read(stream)

    assert frame.columns == COLUMNS
    assert sorted((bytes(row[0]), *row[1:]) for row in frame.collect()) == sorted(expected)
    assert frame.rdd.getNumPartitions() == 1
    assert read(stream, split_bytes=0).rdd.getNumPartitions() == 4


def test_a_column_can_be_read_alone(read, fill, make_stream):
    stream = make_stream(2)
    fill(stream, 100)

    assert read(stream).selectExpr("sum(length(event))", "count(distinct segment_id)").first()[1] == 2
    assert read(stream).where("event = 'event-7'").count() == 1


def test_a_stream_without_events_is_an_empty_frame(read, make_stream):
    frame = read(make_stream(3))

    assert frame.columns == COLUMNS
    assert frame.collect() == []


def test_a_range_has_what_lies_between_its_cuts(read, fill, client, make_stream):
    stream = make_stream(3)
    cuts = [tail(client, stream)]
    written = []
    for number in range(3):
        written.append(Counter(fill(stream, 50, f"part{number}")))
        cuts.append(tail(client, stream))
    texts = [cut.to_text() for cut in cuts]

    ranges = [contents(read(stream, start_stream_cut=start, end_stream_cut=end)) for start, end in pairwise(texts)]

    assert ranges == written
    assert contents(read(stream, end_stream_cut=texts[1])) == written[0]
    assert contents(read(stream, start_stream_cut=texts[2], end_stream_cut="latest")) == written[2]
    assert contents(read(stream, start_stream_cut=texts[1], end_stream_cut=texts[1])) == Counter()
    assert contents(read(stream, start_stream_cut="latest")) == Counter()
    assert contents(read(stream, end_stream_cut="earliest")) == Counter()


def test_names_of_cuts_are_looked_up_when_the_job_starts(read, fill, make_stream):
    stream = make_stream(2)
    fill(stream, 10)
    frame = read(stream)
    fill(stream, 10)

    assert frame.count() == 20


def test_a_frame_keeps_the_range_of_its_first_job(read, fill, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    frame = read(stream)
    assert frame.count() == 10
    fill(stream, 10)

    assert frame.select("event").count() == frame.where("offset >= 0").count() == 10
    assert read(stream).count() == 20


@pytest.mark.parametrize(("options", "tasks"), [({"min_partitions": 3}, 3), ({"split_bytes": 0}, 64)])
def test_64_segments_are_read_by_few_tasks_or_by_one_each(read, fill, make_stream, options, tasks):
    stream = make_stream(64)
    events = fill(stream, 5000)

    frame = read(stream, **options)

    assert contents(frame) == Counter(events)
    assert frame.rdd.getNumPartitions() == tasks


def test_events_of_no_bytes_and_of_8_mib_are_read(read, client, make_stream):
    stream = make_stream(1)
    events = [b"", b"a" * LARGEST, b"", b"b", b"c" * LARGEST, b"d" * 1000, b""]
    with client.writer(stream) as writer:
        writer.write_many(events, ["key"] * len(events))

    rows = read(stream).selectExpr("md5(event)", "offset").orderBy("offset").collect()

    assert [row[0] for row in rows] == [hashlib.md5(event).hexdigest() for event in events]


def test_many_events_of_no_bytes_come_in_several_batches(read, client, make_stream):
    stream = make_stream(1)
    count = 250_000
    with client.writer(stream) as writer:
        writer.write_many([b""] * count, ["key"] * count)

    row = read(stream).selectExpr("count(*)", "max(offset)", "count(distinct offset)").first()

    assert tuple(row) == (count, 8 * (count - 1), count)


def test_a_stream_that_was_scaled_up_and_down_is_read_whole(read, fill, client, make_stream):
    stream = make_stream(1)
    written = []
    for number, segments in enumerate((4, 2, 3)):
        written += fill(stream, 200, f"epoch{number}")
        client.scale_stream(stream, segments)
    written += fill(stream, 200, "last")

    frame = read(stream)

    assert contents(frame) == Counter(written)
    assert frame.select("segment_id").distinct().count() == 10


def test_a_range_is_the_same_while_its_stream_scales_and_grows(read, fill, client, make_stream):
    stream = make_stream(1)
    written = fill(stream, 3000)
    end = tail(client, stream).to_text()

    def scale_and_grow():
        for number, segments in enumerate((4, 1, 3)):
            client.scale_stream(stream, segments)
            fill(stream, 100, f"later{number}")

    with ThreadPoolExecutor() as pool:
        busy = pool.submit(scale_and_grow)
        found = []
        while not busy.done():
            found.append(contents(read(stream, end_stream_cut=end)))
        busy.result()

    assert found
    assert all(each == Counter(written) for each in found)


def test_a_range_may_start_before_and_end_after_a_scaling(read, fill, client, make_stream):
    stream = make_stream(2)
    fill(stream, 100, "before")
    start = tail(client, stream).to_text()
    inside = fill(stream, 100, "old")
    client.scale_stream(stream, 3)
    inside += fill(stream, 100, "new")
    end = tail(client, stream).to_text()
    fill(stream, 100, "after")

    assert contents(read(stream, start_stream_cut=start, end_stream_cut=end)) == Counter(inside)


def test_a_sealed_stream_is_read_to_its_end(read, fill, client, make_stream):
    stream = make_stream(3)
    events = fill(stream, 300)
    client.seal_stream(stream)

    assert contents(read(stream)) == Counter(events)


def test_a_truncated_stream_is_read_from_its_head(read, fill, client, make_stream):
    stream = make_stream(2)
    fill(stream, 100, "removed")
    head = tail(client, stream)
    kept = fill(stream, 100, "kept")
    client.truncate_stream(head)

    assert contents(read(stream)) == Counter(kept)
    assert contents(read(stream, start_stream_cut="unbounded")) == Counter(kept)


@pytest.mark.timeout(1500)  # three JVMs start on a machine that may be busy with other tests
def test_executors_of_a_cluster_share_the_work(fill, make_stream, pravega_config):
    stream = make_stream(4)
    fill(stream, 4000)
    job = Path(__file__).with_name("read_job.py")
    arguments = ["--master", "local-cluster[2,1,1024]", "--controller", pravega_config.controller_uri]
    arguments += ["--scope", stream.scope, "--stream", stream.stream]

    done = subprocess.run(
        [sys.executable, str(job), *arguments], capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["executors"] == 2
    assert len(said["segments"]) == 4
    assert sum(segment["events"] for segment in said["segments"]) == 4000
    assert all(segment["events"] == segment["distinct"] for segment in said["segments"])
