"""The options of streaming queries: what is accepted, and what is refused."""

import pytest

from aiopravega.errors import ConfigurationError
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.stream_options import StreamingOptions


def parse(**options: str) -> ReadOptions:
    return ReadOptions.parse({"stream": "examples/orders", **options})


def test_a_query_reads_without_limit_and_alone_by_default():
    options = parse()

    assert options.streaming == StreamingOptions(None, None)


@pytest.mark.parametrize("name", ["max_bytes_per_trigger", "approx_bytes_per_trigger"])
def test_a_limit_has_two_names(name):
    assert parse(**{name: "1000"}).streaming.max_bytes == 1000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_bytes_per_trigger": "1", "approx_bytes_per_trigger": "1"}, "are the same"),
        ({"max_bytes_per_trigger": "0"}, "at least 1"),
        ({"approx_bytes_per_trigger": "many"}, "whole number"),
        ({"subscriber": "not a name"}, "not a subscriber name"),
        ({"reader_group": "scope/not a name"}, "not a reader group name"),
        ({"reader_group": "one", "subscriber": "other"}, "give one of them"),
    ],
)
def test_what_cannot_work_is_refused(options, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        parse(**options)


def test_a_group_is_named():
    for name in ("etl", "other/etl"):
        assert parse(reader_group=name).streaming.reader_group == name


def test_a_subscriber_is_named():
    assert parse(subscriber="etl").streaming.subscriber == "etl"
