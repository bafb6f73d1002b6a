"""The example of a stream's life, run as often as one likes: it does what is missing, and loses and doubles nothing."""

import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from aiopravega import StreamCutRange

EXAMPLES = Path(__file__).parents[3] / "example_dags" / "airflow"
CHANGES = ("create", "tag", "scale")


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield import_module("stream_upkeep")
    del sys.modules["stream_upkeep"]


def test_a_stream_is_made_used_and_deleted(example, run, client, scope):
    upkeep = partial(run, example.orders_upkeep, conf={"orders": f"{scope}/orders"})
    end = partial(run, example.orders_end, conf={"orders": f"{scope}/orders"})

    first = upkeep()
    assert [first.result(task) for task in CHANGES] == [True, True, True]
    assert [event["order"] for event in first.result("read")["events"]] == [1, 2]
    assert first.result("report") is True

    second = upkeep()
    assert [second.result(task) for task in CHANGES] == [False, False, False]
    assert second.result("read")["start"] == first.result("read")["end"]
    whole = StreamCutRange(client.head(f"{scope}/orders"), client.tail(f"{scope}/orders"))
    assert len(list(client.read(whole))) == 4
    assert client.subscribers(f"{scope}/orders") == ["upkeep"]

    last = end()
    assert [last.result(task) for task in ("unsubscribe", "truncate", "seal", "delete")] == [True] * 4
    assert not client.stream_exists(f"{scope}/orders")
    assert [end().result(task) for task in ("unsubscribe", "truncate", "seal", "delete")] == [False] * 4
