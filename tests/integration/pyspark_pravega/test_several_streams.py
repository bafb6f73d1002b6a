"""Several streams in one read, and the tables that say which streams there are and where they begin and end."""

from collections import Counter

import pytest
from pyspark.errors import AnalysisException

from aiopravega import StreamCut


@pytest.fixture
def load(spark, pravega_config, scope):
    """A DataFrame by options alone, in the test's scope."""

    def load(**options):
        named = {"controller": pravega_config.controller_uri, "scope": scope}
        return spark.read.format("pravega").options(**named | options).load()

    return load


def events(frame):
    return Counter((row.stream, bytes(row.event)) for row in frame.collect())


def named(stream, written):
    return Counter((stream.stream, event) for event in written)


def test_several_streams_are_read_at_once(load, fill, make_stream):
    orders, returns = make_stream(2, "orders"), make_stream(3, "Returns")
    written = named(orders, fill(orders, 200)) + named(returns, fill(returns, 300))

    assert events(load(streams="orders,Returns")) == written
    assert events(load(streams=f"{orders}, {returns}", scope="another")) == written


def test_each_stream_is_read_between_cuts_of_its_own(load, fill, client, make_stream):
    streams = make_stream(2, "orders"), make_stream(1, "Returns")
    expected: Counter[tuple[str, bytes]] = Counter()
    options: dict[str, str] = {}
    for number, stream in enumerate(streams):
        fill(stream, 50, "before")
        start = client.tail(stream)
        expected += named(stream, fill(stream, 60 + number, "inside"))
        end = client.tail(stream)
        fill(stream, 70, "after")
        options |= {f"start_stream_cut.{stream.stream}": start.to_text(), f"end_stream_cut.{stream}": end.to_text()}

    assert events(load(streams="orders,Returns", **options)) == expected


def test_a_stream_may_bear_its_scope(load, fill, make_stream):
    stream = make_stream(1)
    written = fill(stream, 10)

    assert events(load(stream=str(stream), scope="")) == named(stream, written)


def test_a_cut_of_a_stream_that_is_not_read_is_refused(load, make_stream):
    make_stream(1, "orders")

    with pytest.raises(AnalysisException, match="ConfigurationError: .*did you mean start_stream_cut.orders"):
        load(streams="orders", **{"start_stream_cut.oders": "latest"})


def test_metadata_says_which_streams_a_scope_has(load, make_stream, scope):
    for name in ("orders", "Returns", "a.b-c"):
        make_stream(1, name)

    frame = load(metadata="Streams")

    assert frame.columns == ["scope_name", "stream_name"]
    assert sorted(map(tuple, frame.collect())) == [(scope, "Returns"), (scope, "a.b-c"), (scope, "orders")]
    assert load(metadata="Streams", stream="orders").where("stream_name like 'o%'").count() == 1


def test_metadata_says_where_a_stream_begins_and_ends(load, fill, client, make_stream):
    stream = make_stream(2)
    written = fill(stream, 100)

    frame = load(metadata="StreamInfo", stream=stream.stream)

    assert frame.columns == ["head_stream_cut", "tail_stream_cut"]
    [row] = frame.collect()
    assert StreamCut.from_text(row.head_stream_cut) == client.head(stream)
    assert StreamCut.from_text(row.tail_stream_cut) == client.tail(stream)
    between = {"start_stream_cut": row.head_stream_cut, "end_stream_cut": row.tail_stream_cut}
    assert events(load(stream=stream.stream, **between)) == named(stream, written)


@pytest.mark.parametrize("options", [{"metadata": "StreamInfo", "stream": "none"}, {"metadata": "Streams"}])
def test_metadata_of_what_does_not_exist_is_refused(load, options):
    with pytest.raises(AnalysisException, match="NotFoundError: .*none"):
        load(**options | {"scope": "none"}).collect()
