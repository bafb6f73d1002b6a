"""The example whose runs a stream starts: runs that are started too often, or late, read every order once."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "example_dags" / "airflow"


@pytest.fixture
def example(monkeypatch, stream):
    monkeypatch.setenv("ORDERS_STREAM", str(stream))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield import_module("orders_watched")
    del sys.modules["orders_watched"]


def test_each_run_reads_what_is_there_or_is_skipped(example, run, stream, write):
    [watcher] = example.orders.watchers
    assert (watcher.trigger.stream, watcher.trigger.consumer) == (str(stream), example.CONSUMER)

    def read() -> list[int]:
        return sorted(event["order"] for event in run(example.orders_watched).result("read")["events"])

    def order(*numbers: int) -> None:
        write(*(json.dumps({"order": number}).encode() for number in numbers))

    assert run(example.orders_watched).state("wait") == "skipped"
    order(1, 2)
    order(3)
    assert read() == [1, 2, 3]
    again = run(example.orders_watched)
    assert (again.state("wait"), again.state("read")) == ("skipped", "skipped")
    order(4)
    assert read() == [4]
