"""Texts of positions, as Spark's options, schedulers and the command line take them."""

import pytest

from aiopravega import UNBOUNDED, SegmentId, StreamCut, StreamName
from aiopravega.errors import InvalidStreamCutError
from aiopravega.positions import NamedCut, parse_position

STREAM = StreamName("examples", "orders")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 100})


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", NamedCut.HEAD),
        (" Latest ", NamedCut.TAIL),
        ("unbounded", UNBOUNDED),
        (UNBOUNDED.to_text(), UNBOUNDED),
        (CUT.to_text(), CUT),
        (f" {CUT.to_text()}\n", CUT),
    ],
)
def test_a_position_is_a_name_or_the_text_of_a_cut(text, position):
    assert parse_position(text) == position
    assert parse_position(text, STREAM) == position


@pytest.mark.parametrize("text", ["", "yesterday", "earlier", "0"])
def test_another_text_is_refused_with_the_names_that_work(text):
    with pytest.raises(InvalidStreamCutError, match="is not the text of a StreamCut.*earliest, latest and unbounded"):
        parse_position(text)


def test_a_cut_of_another_stream_is_refused():
    with pytest.raises(InvalidStreamCutError, match="is of examples/orders, but examples/returns is to be read"):
        parse_position(CUT.to_text(), StreamName("examples", "returns"))
