"""Names of streams and segments."""

import uuid

import pytest

from aiopravega import SegmentId, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.names import check_name

ORDERS = StreamName("examples", "orders")


def test_a_name_is_read_with_its_scope_or_with_the_default_one():
    assert StreamName.parse("examples/orders") == ORDERS
    assert StreamName.parse("orders", default_scope="examples") == ORDERS
    assert StreamName.parse("examples/orders", default_scope="other") == ORDERS


@pytest.mark.parametrize(
    "text", ["", "orders", "/orders", "examples/", "a/b/c", "examples/with space", "examples/a_b", "a_b/c"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ConfigurationError):
        StreamName.parse(text)


@pytest.mark.parametrize(
    "text", ["examples/-x", "examples/.x", "9/A-b.c", "_system/_MARK_RGetl", f"examples/{'x' * 250}"]
)
def test_what_the_controller_takes_is_a_name(text):
    assert str(StreamName.parse(text)) == text


@pytest.mark.parametrize(("kind", "longest"), [("scope", 255), ("stream", 250), ("table", 250), ("subscriber", 250)])
def test_a_name_is_as_long_as_the_controller_takes_it(kind, longest):
    assert check_name(kind, "x" * longest)
    with pytest.raises(ConfigurationError, match=f"up to {longest} letters"):
        check_name(kind, "x" * (longest + 1))


def test_a_segment_has_the_wire_name_and_the_number_of_pravega():
    segment = SegmentId(ORDERS, number=3, epoch=2)

    assert str(segment) == "examples/orders/3.#epoch.2"
    assert segment.to_int() == 2 << 32 | 3
    assert SegmentId.from_int(ORDERS, segment.to_int()) == segment


def test_a_transactions_segment_ends_with_its_id_in_32_digits():
    segment = SegmentId(ORDERS, 0, 0)

    assert segment.transaction(uuid.UUID(int=1)) == "examples/orders/0.#epoch.0#transaction." + "0" * 31 + "1"
