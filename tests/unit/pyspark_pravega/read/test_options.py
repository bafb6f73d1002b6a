"""What a user may say about a read, and what is refused before any server is asked."""

import pickle

import pytest

from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from pyspark_pravega import PravegaDataSource
from pyspark_pravega.read.batch import PravegaBatchReader
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.options import NamedCut, ReadOptions, Source

STREAM = StreamName("examples", "orders")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 100})
OPTIONS = {"controller": "tcp://pravega:9090", "scope": "examples", "stream": "orders"}


def parse(**more):
    return ReadOptions.parse(OPTIONS | more)


def test_a_read_is_bounded_by_the_stream_unless_cuts_are_given():
    options = parse()

    assert options.sources == (Source(STREAM, NamedCut.HEAD, NamedCut.TAIL),)
    assert options.config.controller_uri == "tcp://pravega:9090"


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("earliest", NamedCut.HEAD, NamedCut.HEAD),
        ("LATEST", NamedCut.TAIL, NamedCut.TAIL),
        ("unbounded", NamedCut.HEAD, NamedCut.TAIL),
        ("UNBOUNDED", NamedCut.HEAD, NamedCut.TAIL),
        ("", NamedCut.HEAD, NamedCut.TAIL),
        (f" {CUT.to_text()} ", CUT, CUT),
    ],
)
def test_cuts_are_names_or_texts(text, start, end):
    assert parse(start_stream_cut=text).sources[0].start == start
    assert parse(end_stream_cut=text).sources[0].end == end


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
    with pytest.raises(InvalidStreamCutError, match=r"cut of examples/orders, but examples/returns is to be read"):
        parse(stream="returns", start_stream_cut=CUT.to_text())


def test_a_read_without_a_stream_is_refused():
    with pytest.raises(ConfigurationError, match="option 'stream' is missing"):
        ReadOptions.parse({"scope": "examples"})


def test_a_wrong_uri_is_refused():
    with pytest.raises(ConfigurationError, match="write tcp://host:port"):
        parse(controller="http://pravega:9090")


def test_a_secret_is_in_no_text():
    options = parse(username="reader", password="swordfish")
    reader = PravegaBatchReader(OPTIONS | {"username": "reader", "password": "swordfish"}, Columns.of())

    assert "swordfish" not in f"{options!r} {options} {reader!r}"
    assert options.config.authorization() is not None


def test_a_reader_travels_to_tasks():
    reader = pickle.loads(pickle.dumps(PravegaBatchReader(OPTIONS, Columns.of(["all"]))))

    assert isinstance(reader, PravegaBatchReader)


def test_wrong_options_are_refused_when_the_source_is_loaded():
    with pytest.raises(ConfigurationError, match="no option 'strem'"):
        PravegaDataSource({"strem": "orders"}).schema()
