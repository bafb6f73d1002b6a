"""The example of the flights, run small: the job, the same interval again, the next one, and a backfill."""

import json
import sys
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from aiopravega import StreamCutRange

pytestmark = pytest.mark.usefixtures("spark")
EXAMPLES = Path(__file__).parents[3] / "example_dags" / "airflow"
FIRST, SECOND = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
FLIGHTS_OF_JANUARY = {1: 842, 2: 943}


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield import_module("flights_delays")
    del sys.modules["flights_delays"]


@pytest.fixture
def delays(client, scope):
    """All events of the stream of delays."""

    def delays() -> list[dict[str, object]]:
        cuts = StreamCutRange(client.head(f"{scope}/delays"), client.tail(f"{scope}/delays"))
        return [json.loads(event.data) for event in client.read(cuts)]

    return delays


@pytest.mark.timeout(1500)
def test_flights_become_delays_once(example, run, scope, delays, tmp_path):
    streams = {"flights": f"{scope}/flights", "delays": f"{scope}/delays"}
    common = {**streams, "output": str(tmp_path)}
    replay = partial(run, example.flights_replay)
    job = partial(run, example.flights_delays, conf={**common, "min_bytes": 1000})

    assert replay(conf={**streams, "last_day": 1}).result("replay") == FLIGHTS_OF_JANUARY[1]
    first = job(FIRST)
    assert first.result("read")["events"] == FLIGHTS_OF_JANUARY[1]
    written = delays()
    assert sum(row["flights"] for row in written) == FLIGHTS_OF_JANUARY[1]
    assert {row["day"] for row in written} == {"2013-01-01", "2013-01-02"}  # some departed after midnight
    assert len({(row["day"], row["carrier"]) for row in written}) == len(written) == first.result("write")["events"]

    # The source continues, and the first interval is run again: nothing is doubled, nothing is different.
    assert replay(conf={**streams, "first_day": 2, "last_day": 2}).result("replay") == FLIGHTS_OF_JANUARY[2]
    again = job(FIRST)
    assert again.result("wait") == first.result("wait")
    assert again.result("read")["digest"] == first.result("read")["digest"]
    assert again.result("write")["written"] is False
    assert delays() == written

    second = job(SECOND)
    assert second.result("wait")["start"] == first.result("wait")["end"]
    assert second.result("read")["events"] == FLIGHTS_OF_JANUARY[2]
    assert sum(row["flights"] for row in delays()) == sum(FLIGHTS_OF_JANUARY.values())

    backfill = run(example.flights_backfill, conf={**common, **first.result("wait")})
    assert backfill.result("read")["digest"] == first.result("read")["digest"]
    assert backfill.result("read")["path"] != first.result("read")["path"]
