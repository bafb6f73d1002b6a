"""Segments that several tasks share: every event once, whatever the events contain, and a proof of it."""

import pickle
import random
import struct
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from aiopravega import StreamCut
from aiopravega.cuts import SegmentRange
from aiopravega.errors import MalformedEventError, SplitProofError
from pyspark_pravega.read.batch import PravegaBatchReader
from pyspark_pravega.read.packing import ReadPartition
from pyspark_pravega.read.plan import SegmentPiece
from pyspark_pravega.source import PravegaDataSource

MIB = 1024 * 1024
LARGEST = 8 * MIB


def framed(events):
    return b"".join(struct.pack(">q", len(event)) + event for event in events)


def document(number, size=100):
    return (b'{"id": %d, "carrier": "UA", "delay": %d, "note": "' % (number, number % 97)).ljust(size - 2, b"x") + b'"}'


FRAMES = framed(document(number, 120) for number in range(LARGEST // 128))
CHANCE = random.Random(7)
PAYLOADS = {
    "json": [document(number) for number in range(60_000)],
    "events of no bytes": [b""] * 100_000,
    "zeros": [bytes(CHANCE.randrange(3000)) for _ in range(4000)],
    "random bytes": [CHANCE.randbytes(CHANCE.randrange(20_000)) for _ in range(1000)],
    "events with frames inside": [framed([document(number, 90)] * 3) for number in range(20_000)],
    "the largest events, full of frames": [*map(document, range(5000)), *[FRAMES] * 4, *map(document, range(5000))],
    "the largest events, of zeros": [document(1), *[bytes(LARGEST)] * 4, document(2)],
    "one event": [document(1, 5 * MIB)],
    "mixed": [CHANCE.choice([b"", document(1), bytes(5000), FRAMES[: 2 * MIB + 40], b"\0\0"]) for _ in range(60)],
}


@pytest.fixture
def put(client):
    def put(stream, events):
        with client.writer(stream) as writer:
            writer.write_many(events, ["key"] * len(events))

    return put


def contents(frame):
    return Counter((row.offset, row.digest) for row in frame.selectExpr("offset", "md5(event) as digest").collect())


@pytest.mark.parametrize("events", PAYLOADS.values(), ids=PAYLOADS)
def test_a_split_segment_gives_what_the_whole_one_gives(read, put, make_stream, events):
    stream = make_stream(1)
    put(stream, events)
    whole = contents(read(stream, split_bytes=0))
    assert whole.total() == len(events)

    for split_bytes in (300_000, 3 * MIB):
        assert contents(read(stream, split_bytes=split_bytes)) == whole


@pytest.mark.timeout(1500)  # 200 MB are written and read three times, on a machine that may be busy
def test_pieces_that_lie_far_apart_are_found_by_windows(read, put, make_stream):
    stream = make_stream(1)
    for turn in range(5):
        put(stream, [document(number, 1000) for number in range(turn, 20_000)])
        put(stream, [FRAMES, FRAMES, b"", document(3, MIB)])
    whole = contents(read(stream, split_bytes=0))

    frame = read(stream, split_bytes=40 * MIB)

    assert frame.rdd.getNumPartitions() == 5
    assert contents(frame) == whole


def test_a_segment_gives_at_least_as_many_tasks_as_there_are_cores(read, put, spark, make_stream):
    stream = make_stream(1)
    put(stream, PAYLOADS["json"])
    cores = spark.sparkContext.defaultParallelism

    assert read(stream).rdd.getNumPartitions() == cores == 2
    assert read(stream, min_partitions=5).rdd.getNumPartitions() == 5
    assert read(stream, split_bytes=1_000_000).rdd.getNumPartitions() == 7
    assert read(stream, split_bytes=0).rdd.getNumPartitions() == 1


def test_rows_of_a_segment_are_in_order_over_its_tasks(read, put, make_stream):
    stream = make_stream(1)
    put(stream, PAYLOADS["random bytes"])

    rows = read(stream, split_bytes=MIB).select("offset").collect()

    assert [row.offset for row in rows] == sorted(row.offset for row in rows)


def test_segments_before_and_after_a_scaling_are_split(read, put, fill, client, make_stream):
    stream = make_stream(1)
    put(stream, PAYLOADS["json"])
    client.scale_stream(stream, 3)
    fill(stream, 1000)

    frame = read(stream, split_bytes=MIB)

    assert contents(frame) == contents(read(stream, split_bytes=0))
    assert frame.rdd.getNumPartitions() > 6


@pytest.fixture
def planted(put, make_stream, pravega_config):
    """A reader of a stream, and its pieces with one wrong border: in the middle of an event, or at a frame in one."""

    def planted(events, wrong):
        stream = make_stream(1)
        put(stream, events)
        options = {"controller": pravega_config.controller_uri, "stream": str(stream), "split_bytes": "200000"}
        source = PravegaDataSource(options)
        reader = source.reader(source.schema())
        assert isinstance(reader, PravegaBatchReader)
        tasks = reader.partitions()
        pieces = [piece for task in tasks if isinstance(task, ReadPartition) for piece in task.pieces]
        assert len(pieces) > 2
        before, after = pieces[:2]
        border = before.part.end + wrong
        pieces[0] = SegmentPiece(SegmentRange(before.part.segment, before.part.start, border), before.whole)
        pieces[1] = SegmentPiece(SegmentRange(after.part.segment, border, after.part.end), after.whole)
        return pickle.loads(pickle.dumps(reader)), pieces

    return planted


@pytest.mark.parametrize("wrong", [8 + 3, 8, 50])
def test_a_wrong_border_is_caught_by_the_proof(planted, wrong):
    reader, pieces = planted([framed([document(1, 90)] * 30) for _ in range(500)], wrong)

    with pytest.raises(SplitProofError, match=rf"0\.#epoch\.0 was split at .*{pieces[0].part.end}.*split_bytes=0"):
        list(reader.read(ReadPartition(pieces[:1])))


@pytest.mark.parametrize("wrong", [0, 8])
def test_a_piece_that_is_read_for_its_proof_gives_no_rows(planted, wrong):
    reader, pieces = planted([framed([document(1, 90)] * 30) for _ in range(500)], wrong)
    before = ReadPartition([replace(pieces[0], gives_rows=False)])

    # From a wrong border the frames inside of an event are given, and nothing is noticed there.
    assert sum(batch.num_rows for batch in reader.read(ReadPartition(pieces[1:2]))) > 0
    if not wrong:
        assert list(reader.read(before)) == []
        return
    with pytest.raises(SplitProofError):
        list(reader.read(before))


def test_no_events_are_given_out_after_a_wrong_border(planted):
    reader, pieces = planted([document(number) for number in range(10_000)], 9)

    with pytest.raises(SplitProofError):
        list(reader.read(ReadPartition(pieces[1:2])))


def test_a_cut_inside_an_event_is_no_failure_of_a_split(read, put, client, make_stream):
    stream = make_stream(1)
    put(stream, PAYLOADS["json"])
    [segment] = client.head(stream).positions
    inside = StreamCut(stream, {segment: 12})

    with pytest.raises(Exception, match="MalformedEventError: .*no event starts at offset 12"):
        read(stream, start_stream_cut=inside.to_text(), split_bytes=100_000).collect()
    with pytest.raises(Exception, match="MalformedEventError|SplitProofError"):
        read(stream, end_stream_cut=inside.to_text(), split_bytes=5).collect()
    assert issubclass(SplitProofError, MalformedEventError)


def test_pieces_touch(planted):
    _, pieces = planted([document(number) for number in range(10_000)], 0)

    assert all(before.part.end == after.part.start for before, after in pairwise(pieces))
    assert (pieces[0].part.start, pieces[-1].part.end) == (pieces[0].whole.start, pieces[0].whole.end)
