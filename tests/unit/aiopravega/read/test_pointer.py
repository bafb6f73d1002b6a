"""Pointers to events have the Java client's text form; other texts are refused before a server is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import Event, EventPointer, SegmentId, StreamName
from aiopravega.errors import ConfigurationError

POINTER = EventPointer(SegmentId(StreamName("examples", "orders"), 7, 2), 4096, 108)
TEXT = "examples/orders/7.#epoch.2:4096-108"


def test_the_text_is_that_of_the_java_client():
    assert POINTER.to_text() == str(POINTER) == TEXT
    assert EventPointer.from_text(f" {TEXT}\n") == POINTER


def test_an_event_has_a_pointer():
    assert EventPointer.of(Event(b"x" * 100, POINTER.segment, 4096)) == POINTER


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(8, 2**23 + 8))
def test_a_text_gives_the_pointer_that_it_was_made_of(number, epoch, offset, length):
    pointer = EventPointer(SegmentId(StreamName("a.b-c", "9.#x"[:1]), number, epoch), offset, length)

    assert EventPointer.from_text(pointer.to_text()) == pointer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "examples/orders",
        "examples/orders/7.#epoch.2",
        "examples/orders/7.#epoch.2:4096",
        "examples/orders/7.#epoch.2:-1-108",
        "examples/orders/7.#epoch.2:4096-108-9",
        "orders/7.#epoch.2:4096-108",
        "examples/orders/x.#epoch.2:4096-108",
        "examples/orders/7.#epoch.2:٤٠٩٦-108",
        "examples/or ders/7.#epoch.2:4096-108",
        "examples/orders/7.#epoch.2:4096-7",
        "examples/orders/7.#epoch.2:4096-2147483648",
    ],
)
def test_a_text_that_is_no_pointer_is_refused(text):
    with pytest.raises(ConfigurationError):
        EventPointer.from_text(text)


def test_the_refusal_shows_what_is_expected_and_not_the_whole_text():
    with pytest.raises(ConfigurationError, match="is not an event pointer: expected scope/stream/") as raised:
        EventPointer.from_text("x" * 10_000)

    assert len(str(raised.value)) < 500
