"""What a user may say about a read, and what is refused before any server is asked."""

import pickle

import pytest

from aiopravega import UNBOUNDED, SegmentId, StreamCut, StreamName
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from aiopravega.positions import NamedCut
from pyspark_pravega import PravegaDataSource
from pyspark_pravega.read.batch import PravegaBatchReader
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.metadata import PravegaMetadataReader
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.sources import Source

STREAM = StreamName("examples", "orders")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 100})
OPTIONS = {"controller": "tcp://pravega:9090", "scope": "examples", "stream": "orders"}


def parse(**more):
    return ReadOptions.parse(OPTIONS | more)


def test_a_read_is_bounded_by_the_stream_unless_cuts_are_given():
    options = parse()

    assert options.sources == (Source(STREAM),)
    assert options.config.controller_uri == "tcp://pravega:9090"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", NamedCut.HEAD),
        ("LATEST", NamedCut.TAIL),
        ("unbounded", UNBOUNDED),
        ("", None),
        (f" {CUT.to_text()} ", CUT),
    ],
)
def test_cuts_are_names_or_texts(text, position):
    assert parse(start_stream_cut=text).sources[0].start == position
    assert parse(end_stream_cut=text).sources[0].end == position


def test_the_stream_may_bear_its_scope():
    assert ReadOptions.parse({"stream": "examples/orders"}).sources[0].stream == STREAM


def test_the_scope_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PRAVEGA_SCOPE", "examples")

    assert ReadOptions.parse({"stream": "orders"}).sources[0].stream == STREAM


def test_the_options_of_a_write_do_not_disturb_a_read():
    assert parse(exactly_once="true", transaction_timeout_ms="30000").sources[0].stream == STREAM


@pytest.mark.parametrize(
    ("option", "close"),
    [("start_streamcut", "start_stream_cut"), ("controler", "controller"), ("passwort", "password")],
)
def test_an_unknown_option_is_refused_with_what_is_close_to_it(option, close):
    with pytest.raises(ConfigurationError, match=f"no option '{option}'.*{close}"):
        parse(**{option: "x"})


@pytest.mark.parametrize("option", ["start_stream_cut", "end_stream_cut"])
def test_a_text_that_is_no_cut_is_refused(option):
    with pytest.raises(InvalidStreamCutError, match=f"option '{option}': 'yesterday' is not.*earliest, latest"):
        parse(**{option: "yesterday"})


def test_a_cut_of_another_stream_is_refused():
    with pytest.raises(
        InvalidStreamCutError,
        match=r"of examples/orders, but examples/returns is to be read",
    ):
        parse(stream="returns", start_stream_cut=CUT.to_text())


def test_a_read_without_a_stream_is_refused():
    with pytest.raises(ConfigurationError, match="option 'stream' is missing"):
        ReadOptions.parse({"scope": "examples"})


def test_a_wrong_uri_is_refused():
    with pytest.raises(ConfigurationError, match="write tcp://host:port"):
        parse(controller="http://pravega:9090")


def test_a_secret_is_in_no_text():
    options = parse(username="reader", password="swordfish")
    reader = PravegaBatchReader(options, Columns.of())

    assert "swordfish" not in f"{options!r} {options} {reader!r}"
    assert options.config.authorization() is not None


def test_a_reader_travels_to_tasks():
    reader = pickle.loads(pickle.dumps(PravegaBatchReader(parse(), Columns.of(["all"]))))

    assert isinstance(reader, PravegaBatchReader)


def test_wrong_options_are_refused_when_the_source_is_loaded():
    with pytest.raises(ConfigurationError, match="no option 'strem'"):
        PravegaDataSource({"strem": "orders"}).schema()


RETURNS = StreamName("examples", "Returns")
OTHER = StreamName("archive", "orders")
SEVERAL = {"controller": "tcp://pravega:9090", "scope": "examples"}


def several(streams, **more):
    return ReadOptions.parse(SEVERAL | {"streams": streams} | more).sources


def test_several_streams_are_read_each_between_the_same_named_cuts():
    assert several("orders, Returns,archive/orders", start_stream_cut="latest") == (
        Source(STREAM, NamedCut.TAIL),
        Source(RETURNS, NamedCut.TAIL),
        Source(OTHER, NamedCut.TAIL),
    )


def test_each_stream_may_have_cuts_of_its_own():
    orders, returns = several(
        "orders,Returns",
        start_stream_cut="latest",
        **{"start_stream_cut.orders": CUT.to_text(), "end_stream_cut.examples/returns": "earliest"},
    )

    assert orders == Source(STREAM, CUT)
    assert returns == Source(RETURNS, NamedCut.TAIL, NamedCut.HEAD)


def test_a_cut_of_its_own_goes_with_one_stream_too():
    assert parse(**{"START_STREAM_CUT.Orders": "latest"}).sources == (Source(STREAM, NamedCut.TAIL),)


def test_the_options_of_one_read_are_parsed_once(tmp_path):
    schema = tmp_path / "order.avsc"
    schema.write_text('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')
    source = PravegaDataSource(OPTIONS | {"decode": "avro", "schema_file": str(schema)})
    columns = source.schema()
    schema.unlink()  # a second parse would look for it

    sent = pickle.loads(pickle.dumps(source))

    assert isinstance(sent.reader(columns), PravegaBatchReader)


@pytest.mark.parametrize(
    ("streams", "options", "said"),
    [
        ("orders,", {}, "names separated by commas"),
        ("orders,examples/orders", {}, "examples/orders more than once"),
        ("orders,returns", {"stream": "orders"}, "exclude each other"),
        ("orders,returns", {"start_stream_cut.order": "latest"}, "is not read: did you mean start_stream_cut.orders"),
        ("orders,archive/orders", {"start_stream_cut.orders": "latest"}, "write it with its scope"),
        ("orders,Orders", {"end_stream_cut.orders": "latest"}, "could be for examples/orders or examples/Orders"),
        (
            "orders,returns",
            {"end_stream_cut.orders": "latest", "end_stream_cut.examples/orders": "latest"},
            "are both for examples/orders",
        ),
        ("orders,returns", {"start_stream_cuts.orders": "latest"}, "did you mean start_stream_cut"),
    ],
)
def test_streams_and_cuts_that_leave_a_doubt_are_refused(streams, options, said):
    with pytest.raises(ConfigurationError, match=said):
        several(streams, **options)


@pytest.mark.parametrize("option", ["start_stream_cut", "start_stream_cut.returns"])
def test_the_text_of_a_cut_must_be_of_its_stream(option):
    with pytest.raises(InvalidStreamCutError, match=f"option '{option}': the StreamCut is of examples/orders, but"):
        several("Returns", **{option: CUT.to_text()})


def test_a_table_of_metadata_has_its_own_columns():
    streams = PravegaDataSource(SEVERAL | {"Metadata": "streams"})
    info = PravegaDataSource(OPTIONS | {"metadata": "StreamInfo"})

    assert streams.schema().names == ["scope_name", "stream_name"]
    assert info.schema().names == ["head_stream_cut", "tail_stream_cut"]
    assert isinstance(streams.reader(streams.schema()), PravegaMetadataReader)
    with pytest.raises(ConfigurationError, match="'Stream', but must be Streams or StreamInfo"):
        PravegaDataSource(OPTIONS | {"metadata": "Stream"}).schema()
    with pytest.raises(ConfigurationError, match="option 'stream' is missing"):
        PravegaDataSource(SEVERAL | {"metadata": "StreamInfo"}).reader(info.schema())
    with pytest.raises(ConfigurationError, match="option 'scope' is missing"):
        PravegaDataSource({"metadata": "Streams"}).reader(streams.schema())
    with pytest.raises(ConfigurationError, match="leave it out"):
        streams.reader(info.schema())
    with pytest.raises(ConfigurationError, match=r"'metadata' is for spark.read"):
        parse(metadata="Streams")


@pytest.mark.parametrize(("option", "text"), [("split_bytes", "-1"), ("min_partitions", "0"), ("split_bytes", "1MB")])
def test_sizes_must_be_numbers(option, text):
    with pytest.raises(ConfigurationError, match=f"option '{option}' is"):
        parse(**{option: text})
