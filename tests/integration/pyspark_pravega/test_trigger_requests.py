"""How many requests a micro-batch takes on the driver: what each trigger of a query waits for."""

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from pyspark_pravega import PravegaDataSource
from pyspark_pravega.read.stream import PravegaStreamReader

EVENTS = 50


@pytest.fixture
def reader(pravega_config):
    """The reader as Spark's process of the query has it, which asks it for offsets and partitions."""

    def reader(stream) -> PravegaStreamReader:
        options = {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}
        source = PravegaDataSource({**options, "start_stream_cut": "earliest"})
        made = source.streamReader(source.schema())
        assert isinstance(made, PravegaStreamReader)
        return made

    return reader


@pytest.mark.parametrize("segments", [1, 8])
def test_a_trigger_takes_few_requests(make_stream, fill, reader, requests, segments):
    stream = make_stream(segments)
    fill(stream, EVENTS)
    query = reader(stream)
    start = query.latestOffset(query.initialOffset(), ReadAllAvailable())
    query.partitions(query.initialOffset(), start)
    fill(stream, EVENTS, "more")

    requests.begin()
    assert query.latestOffset(start, ReadAllAvailable()) != start
    asked = requests.count
    end = query.latestOffset(start, ReadAllAvailable())
    requests.begin()
    assert query.partitions(start, end)
    planned = requests.count

    assert asked == 2 * segments + 1  # the tail, and a check that nothing of the batch was removed
    assert planned == segments


@pytest.mark.parametrize("segments", [1, 8])
def test_a_query_without_new_events_asks_for_the_tail_only(make_stream, fill, reader, requests, segments):
    stream = make_stream(segments)
    fill(stream, EVENTS)
    query = reader(stream)
    start = query.latestOffset(query.initialOffset(), ReadAllAvailable())

    requests.begin()
    assert query.latestOffset(start, ReadAllAvailable()) == start
    assert requests.count == segments + 1
