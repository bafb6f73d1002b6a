"""StreamCuts: texts equal to the Java client's, and refusal of everything that is not one."""

import base64
import gzip
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import UNBOUNDED, SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import InvalidRangeError, InvalidStreamCutError, PravegaError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "java-client.json").read_text())
ORDERS = StreamName("examples", "orders")


def cut(*offsets: int, stream: StreamName = ORDERS, epoch: int = 0) -> StreamCut:
    return StreamCut(stream, {SegmentId(stream, number, epoch): offset for number, offset in enumerate(offsets)})


@pytest.mark.parametrize("vector", VECTORS["stream_cuts"], ids=lambda vector: f"{len(vector['positions'])} segments")
def test_texts_of_the_java_client_are_read_and_written_byte_for_byte(vector):
    parsed = StreamCut.from_text(vector["text"])

    assert {str(segment.to_int()): offset for segment, offset in parsed.positions.items()} == vector["positions"]
    assert parsed.to_text() == pickle.loads(pickle.dumps(parsed)).to_text() == vector["text"]


def test_the_unbounded_cut_has_the_java_clients_text():
    assert UNBOUNDED.to_text() == VECTORS["unbounded_text"]
    assert StreamCut.from_text(VECTORS["unbounded_text"]).is_unbounded


@given(
    st.dictionaries(
        st.builds(SegmentId, st.just(ORDERS), st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)),
        st.integers(-1, 2**63 - 1),
        min_size=1,
    )
)
def test_every_cut_survives_its_text_and_a_pickle(positions):
    whole = StreamCut(ORDERS, positions)

    assert StreamCut.from_text(whole.to_text()) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert StreamCut(ORDERS, dict(reversed(positions.items()))).to_text() == whole.to_text()
    assert hash(StreamCut.from_text(whole.to_text())) == hash(whole)


@given(st.text())
def test_any_other_text_is_refused_with_our_error(text):
    try:
        StreamCut.from_text(text)
    except PravegaError as error:
        assert isinstance(error, InvalidStreamCutError)


@pytest.mark.parametrize(
    "plain",
    [
        "0:examples/orders:0:0",
        "1:examples/orders:0:0:0",
        "0:orders:0:0:0",
        "0:examples/orders:0,1:0:0",
        "0:examples/orders:0:0:-2",
        "0:examples/orders:::",
        "0:examples/orders:a:0:0",
    ],
)
def test_texts_with_wrong_content_are_refused(plain):
    with pytest.raises(InvalidStreamCutError):
        StreamCut.from_text(base64.b64encode(gzip.compress(plain.encode())).decode())


def test_a_text_that_would_unpack_to_a_giant_is_refused():
    bomb = base64.b64encode(gzip.compress(b"0" * (64 * 1024 * 1024))).decode()

    with pytest.raises(InvalidStreamCutError, match="far too long"):
        StreamCut.from_text(bomb)


def test_a_range_that_ends_before_it_starts_is_refused():
    with pytest.raises(InvalidRangeError, match="swap start and end"):
        StreamCutRange(cut(10, 20), cut(10, 19))


def test_a_range_between_two_streams_is_refused():
    with pytest.raises(InvalidRangeError, match="examples/other"):
        StreamCutRange(cut(0), cut(0, stream=StreamName("examples", "other")))


def test_a_range_survives_json():
    wanted = StreamCutRange(cut(1, 2), cut(3, 4))

    assert StreamCutRange.from_json(json.loads(json.dumps(wanted.to_json()))) == wanted


@pytest.mark.parametrize("value", [{}, {"start": UNBOUNDED.to_text()}, {"start": "x", "end": "y"}])
def test_json_that_is_no_range_is_refused(value):
    with pytest.raises(InvalidStreamCutError):
        StreamCutRange.from_json(value)


def test_a_cut_of_many_segments_is_short_in_logs_and_errors():
    stream = StreamName("examples", "flights")
    cut = StreamCut(stream, {SegmentId(stream, number, 0): number for number in range(1000)})
    assert str(cut).startswith("examples/flights{0.#epoch.0: 0, 1.#epoch.0: 1, ")
    assert str(cut).endswith("7.#epoch.0: 7 and 992 segments more}")
    assert len(f"{StreamCutRange(cut, cut)}") < 500
