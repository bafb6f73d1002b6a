"""Names of streams and segments."""

import uuid

import pytest

from aiopravega import SegmentId, StreamName
from aiopravega.errors import ConfigurationError

ORDERS = StreamName("examples", "orders")


def test_a_name_is_read_with_its_scope_or_with_the_default_one():
    assert StreamName.parse("examples/orders") == ORDERS
    assert StreamName.parse("orders", default_scope="examples") == ORDERS
    assert StreamName.parse("examples/orders", default_scope="other") == ORDERS


@pytest.mark.parametrize("text", ["", "orders", "/orders", "examples/", "a/b/c", "examples/with space", "examples/-x"])
def test_other_texts_are_refused(text):
    with pytest.raises(ConfigurationError):
        StreamName.parse(text)


def test_a_segment_has_the_wire_name_and_the_number_of_pravega():
    segment = SegmentId(ORDERS, number=3, epoch=2)

    assert str(segment) == "examples/orders/3.#epoch.2"
    assert segment.to_int() == 2 << 32 | 3
    assert SegmentId.from_int(ORDERS, segment.to_int()) == segment


def test_a_transactions_segment_ends_with_its_id_in_32_digits():
    segment = SegmentId(ORDERS, 0, 0)

    assert segment.transaction(uuid.UUID(int=1)) == "examples/orders/0.#epoch.0#transaction." + "0" * 31 + "1"
