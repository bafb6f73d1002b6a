"""Offsets as they go into Spark's checkpoints and come out again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.errors import ConfigurationError, InvalidStreamCutError, PravegaError
from pyspark_pravega.read.offsets import Offset

A, B = StreamName("examples", "a"), StreamName("examples", "b")


def cut(stream: StreamName, offset: int) -> StreamCut:
    return StreamCut(stream, {SegmentId(stream, 0, 0): offset})


def through_spark(offset: Offset, *streams: StreamName) -> Offset:
    return Offset.from_json(json.loads(json.dumps(offset.to_json())), streams)


def test_an_offset_is_the_texts_of_cuts_by_stream():
    assert Offset({A: cut(A, 8), B: cut(B, 16)}).to_json() == {
        "version": 1,
        "examples/a": cut(A, 8).to_text(),
        "examples/b": cut(B, 16).to_text(),
    }


@pytest.mark.parametrize("began_at", [None, {A: cut(A, 0), B: cut(B, 0)}])
def test_an_offset_comes_out_as_it_went_in(began_at):
    offset = Offset({A: cut(A, 8), B: cut(B, 16)}, began_at)

    assert through_spark(offset, B, A) == offset


def test_a_checkpoint_of_other_streams_is_refused():
    offset = Offset({A: cut(A, 8)})

    with pytest.raises(ConfigurationError, match=r"of a query of examples/a, but examples/a, examples/b"):
        through_spark(offset, A, B)
    with pytest.raises(ConfigurationError, match="new checkpointLocation"):
        through_spark(offset, B)


@pytest.mark.parametrize(
    "value", [{"version": 1, "examples/a": {"partition": 3}}, {"version": 1, "examples/a": "text"}, {"file": 3}]
)
def test_an_offset_of_another_source_is_refused(value):
    with pytest.raises(InvalidStreamCutError):
        Offset.from_json(value, (A,))


def test_a_cut_of_another_stream_is_refused():
    with pytest.raises(InvalidStreamCutError, match="a cut of examples/b as the offset of examples/a"):
        Offset.from_json({"version": 1, "examples/a": cut(B, 8).to_text()}, (A,))


@pytest.mark.parametrize(("version", "shown"), [({}, "of no version"), ({"version": 2}, "of version 2")])
def test_an_offset_of_another_release_is_refused_with_its_version(version, shown):
    with pytest.raises(InvalidStreamCutError, match=rf"{shown}: .* reads version 1\. .* checkpointLocation of its own"):
        Offset.from_json({**version, "examples/a": cut(A, 8).to_text()}, (A,))


@given(data=st.data())
def test_a_changed_character_gives_the_same_offset_or_is_refused(data):
    offset = Offset({A: cut(A, 8), B: cut(B, 16)}, {A: cut(A, 0), B: cut(B, 0)})
    text = list(json.dumps(offset.to_json()))
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
    try:
        found = Offset.from_json(json.loads("".join(text)), (A, B))
    except (PravegaError, json.JSONDecodeError):  # Spark's own reader of JSON refuses the latter
        return
    assert found == offset
