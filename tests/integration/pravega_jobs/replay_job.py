"""Two days of flights, the job that has taken them into `delays`, and replays of both days through a function."""

import json
from typing import Any

import polars as pl
import pytest
from tests.integration.conftest import client, scope

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking.intervals import take
from aiopravega.ledger import Interval, Sink
from pravega_jobs.frames import scan_polars, write_arrow
from pravega_jobs.sandbox import replay

__all__ = ["DAYS", "READ", "again", "both_days", "client", "flights", "less", "minutes", "process", "scope"]
READ: dict[str, Any] = {"decode": "json", "columns": "id long, carrier string, delay double"}
DAYS = ["2026-01-05", "2026-01-06"]


def minutes(flights: pl.LazyFrame) -> pl.LazyFrame:
    """The code that was deployed: one row for each flight that has a delay."""
    return flights.filter(pl.col("delay").is_not_null()).select("id", "carrier", "delay")


def less(flights: pl.LazyFrame) -> pl.LazyFrame:
    return minutes(flights).slice(1)


@pytest.fixture
def flights(client, scope):
    """A stream of two days with 200 flights each, every tenth without a delay."""
    stream = StreamName(scope, "flights")
    client.create_stream(stream, ScalingPolicy.fixed(2))
    client.create_stream(f"{scope}/delays", ScalingPolicy.fixed(2))
    return stream


@pytest.fixture
def process(client, scope, flights):
    """Writes the flights of a day, and takes them into `delays` as the deployed job does."""

    def process(day: int, *, declares: bool = True, finish: bool = True) -> None:
        numbers = range(day * 200, day * 200 + 200)
        events = [{"id": n, "carrier": f"C{n % 7}", **({"delay": n / 2} if n % 10 else {})} for n in numbers]
        with client.writer(flights) as writer:
            writer.write_many([json.dumps(each).encode() for each in events], [each["carrier"] for each in events])
        write_id = f"delays {DAYS[day]}"
        with take(client, flights, consumer="delays", interval=DAYS[day]) as taken:
            if declares:
                sink = Sink(kind="write", target=f"{scope}/delays", id=write_id)
                client.cut_ledger(scope).declare(Interval("delays", flights, DAYS[day]), "delays", sink)
            if not finish:
                raise KeyboardInterrupt
            write_arrow(client, minutes(scan_polars(taken, **READ)), f"{scope}/delays", write_id)

    return process


@pytest.fixture
def both_days(process):
    process(0)
    process(1)


@pytest.fixture
def again(client, flights):
    """Replays both days through a function."""

    def again(code, **arguments: Any):
        given = {"consumer": "delays", "intervals": DAYS, "key": "id", "options": READ} | arguments
        return replay(client, flights, code=code, **given)

    return again
