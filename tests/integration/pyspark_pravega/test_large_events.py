"""Events over 8 MiB that the Java client wrote, as rows of Spark: whole and split, in batches and in micro-batches."""

import hashlib
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql.datasource import GreaterThan
from tests.integration.aiopravega.large_events import KEY, LARGE, MIB, frames_inside, numbers
from tests.java.peer import JavaClient

from aiopravega import StreamName
from pyspark_pravega.read.batch import PravegaBatchReader
from pyspark_pravega.read.packing import ReadPartition
from pyspark_pravega.source import PravegaDataSource

# Two Java clients that write large events at the same time can wait forever for the small server of the tests.
pytestmark = pytest.mark.slow

# More than one window of small events on each side of large ones.
EVENTS = [*numbers(0, 20_000), *LARGE.values(), b"", *numbers(20_000, 20_000), LARGE["sparse"], b"end"]
BYTES = sum(map(len, EVENTS))


def digests(events) -> Counter[str]:
    return Counter(hashlib.md5(event).hexdigest() for event in events)


@pytest.fixture(scope="module")
def java(pravega_config, tmp_path_factory) -> Iterator[JavaClient]:
    with JavaClient(pravega_config.controller_uri, tmp_path_factory.mktemp("java")) as peer:
        yield peer


@pytest.fixture
def stream(java, client, make_stream) -> StreamName:
    name: StreamName = make_stream(1)
    small: list[bytes] = []
    for event in EVENTS:
        if len(event) <= 8 * MIB:
            small.append(event)
            continue
        with client.writer(name) as writer:
            writer.write_many(small, [KEY] * len(small))
        small.clear()
        java.write(name, [(KEY, event)], large=True)
    with client.writer(name) as writer:
        writer.write_many(small, [KEY] * len(small))
    return name


@pytest.mark.timeout(1500)
def test_a_batch_has_them_whole_and_split(read, stream):
    for split_bytes in (0, 8 * MIB, 30 * MIB, None):
        frame = read(stream) if split_bytes is None else read(stream, split_bytes=split_bytes)
        rows = frame.selectExpr("md5(event) AS digest", "length(event) AS size").collect()

        assert Counter(row.digest for row in rows) == digests(EVENTS)
        assert sum(row.size for row in rows) == BYTES
        assert frame.rdd.getNumPartitions() > 1 or split_bytes == 0


@pytest.mark.timeout(1500)
def test_micro_batches_have_each_of_them_once(spark, follow, files, stream):
    frame = follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=25 * MIB)

    query = files.run(frame)

    assert len([each for each in query.recentProgress if each.numInputRows]) > 5
    rows = spark.read.parquet(str(files.folder / "events")).selectExpr("md5(event) AS digest").collect()
    assert Counter(row.digest for row in rows) == digests(EVENTS)


def test_an_event_beyond_the_option_fails_the_read_and_says_where_it_is(read, stream):
    with pytest.raises(Exception, match=r"EventTooLargeError.*has 9,000,000 bytes.*max_event_bytes=8,388,608"):
        read(stream, max_event_bytes=8 * MIB, split_bytes=0).selectExpr("length(event)").collect()


def reader_of(stream: StreamName, controller: str) -> PravegaBatchReader:
    source = PravegaDataSource({"controller": controller, "stream": str(stream), "split_bytes": str(20 * MIB)})
    reader = source.reader(source.schema())
    assert isinstance(reader, PravegaBatchReader)
    return reader


def test_pieces_that_begin_inside_a_large_event_of_frames_are_noticed(java, make_stream, pravega_config):
    """Such an event fools the search for a start; no row may come of it unnoticed."""
    stream = make_stream(1)
    java.write(stream, [(KEY, frames_inside(60_000 * 1008))], large=True)  # whole frames: their chain ends with it
    for filters in ([], [GreaterThan(("offset",), 25 * MIB)]):
        reader = reader_of(stream, pravega_config.controller_uri)
        vars(reader)["pushFilters"](filters)
        tasks = reader.partitions()
        pieces = [piece for task in tasks if isinstance(task, ReadPartition) for piece in task.pieces]
        assert len(pieces) > 1
        with pytest.raises(Exception, match=r"was split at .*split_bytes=0"):
            list(reader.read(ReadPartition(pieces)))
