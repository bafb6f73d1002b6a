"""A method that takes a stream takes the two-text form, too: a stream or two texts mean the same."""

import inspect
from collections.abc import AsyncIterator
from typing import Any

import pytest

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.stream_argument import takes_stream

ORDERS = StreamName("examples", "orders")


class Client:
    """Its methods return their arguments."""

    @takes_stream
    def writer(self, stream: StreamName | str, *, writer_id: str = "none") -> tuple[Any, ...]:
        return StreamName.of(stream), writer_id

    @takes_stream
    async def subscribe(self, stream: StreamName | str, name: str, cut: int | None = None) -> tuple[Any, ...]:
        return StreamName.of(stream), name, cut

    @takes_stream
    async def watermarks(self, stream: StreamName | str, *, follow: bool = False) -> AsyncIterator[Any]:
        yield StreamName.of(stream)
        yield follow


def client() -> Any:
    """A client; for mypy its methods take what they are given: types show one form only."""
    return Client()


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((ORDERS,), {}),
        (("examples/orders",), {}),
        (("examples", "orders"), {}),
        ((), {"stream": ORDERS}),
        ((), {"stream": "examples/orders"}),
        ((), {"scope": "examples", "stream": "orders"}),
        (("examples",), {"stream": "orders"}),
    ],
)
async def test_all_forms_mean_the_same_stream(args, kwargs):
    assert client().writer(*args, **kwargs, writer_id="me") == (ORDERS, "me")
    assert await client().subscribe(*args, **kwargs, name="etl") == (ORDERS, "etl", None)
    assert [item async for item in client().watermarks(*args, **kwargs, follow=True)] == [ORDERS, True]


@pytest.mark.parametrize("args", [(ORDERS,), ("examples/orders",), ("examples", "orders")])
async def test_arguments_after_the_stream_stay_where_they_are(args):
    assert await client().subscribe(*args, "etl") == (ORDERS, "etl", None)
    assert await client().subscribe(*args, "etl", 1) == (ORDERS, "etl", 1)


@pytest.mark.parametrize("given", ["orders", "", "/orders", "examples/", "a/b/c", None, 1, b"examples/orders"])
def test_what_is_not_a_stream_is_refused(given):
    with pytest.raises(ConfigurationError, match="scope/stream|not a (scope|stream) name"):
        client().writer(given)


def test_two_texts_for_one_and_a_scope_without_a_stream_are_refused():
    with pytest.raises(TypeError):
        client().writer("examples/orders", "orders")
    with pytest.raises(TypeError):
        client().writer(scope="examples")
    with pytest.raises(TypeError):
        client().writer(ORDERS, scope="examples")


def test_two_texts_are_not_checked_before_they_are_used():
    assert client().writer("examples", "no_name") == (StreamName("examples", "no_name"), "none")


def test_signatures_show_the_stream_only():
    assert list(inspect.signature(Client.subscribe).parameters) == ["self", "stream", "name", "cut"]
    assert inspect.iscoroutinefunction(Client.subscribe)
    assert not inspect.iscoroutinefunction(Client.writer)
    assert Client.watermarks.__name__ == "watermarks"


def test_every_method_that_begins_with_a_stream_takes_both_forms():
    found = inspect.getmembers(PravegaClient, inspect.isfunction)
    methods = [method for name, method in found if not name.startswith("_")]
    taking = [each for each in methods if list(inspect.signature(each).parameters)[1:2] == ["stream"]]
    assert len(taking) == 24
    assert all(hasattr(each, "__wrapped__") for each in taking)
