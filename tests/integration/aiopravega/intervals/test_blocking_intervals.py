"""The blocking form of functions on intervals, on the real server."""

import threading
import uuid
from datetime import UTC, datetime

import pytest

from aiopravega import UNBOUNDED, PravegaConfig, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import (
    claim_times,
    lag_of,
    next_start,
    plan_parts,
    run_backfill,
    verify,
    what_is_left,
)
from aiopravega.errors import ConfigurationError, NoWatermarksError
from aiopravega.ledger import Interval


@pytest.fixture
def blocking(pravega_config: PravegaConfig):
    with PravegaClient(pravega_config) as client:
        yield client


@pytest.fixture
def stream(blocking):
    """A stream with events."""
    name = StreamName(f"intervals-{uuid.uuid4().hex}", "stream")
    blocking.create_scope(name.scope)
    blocking.create_stream(name)
    with blocking.writer(name) as writer:
        writer.write_many([b"event %03d" % number for number in range(40)])
    return name


def test_a_backfill_works_in_threads_and_all_is_done_after_it(blocking, stream):
    plan = plan_parts(blocking, stream, "history", parts=4)
    both = threading.Barrier(2, timeout=60)
    found: list[bytes] = []
    names: set[str] = set()

    def work(interval):
        both.wait()  # two are at work at the same time
        names.add(threading.current_thread().name)
        found.extend(event.data for event in blocking.read(interval.range))

    assert run_backfill(blocking, plan, work, parallel=2) == {}

    assert sorted(found) == sorted(event.data for event in blocking.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream))
    assert len(plan.intervals) == 4
    assert all(name.startswith("backfill") for name in names)
    ledger = blocking.cut_ledger(stream.scope)
    assert verify(blocking, ledger.records("history", stream)) == []
    assert lag_of(blocking, stream, "history", ledger=ledger).size == 0
    assert plan_parts(blocking, stream, "history", ledger=ledger).waiting == []


def test_work_that_fails_is_reported_and_done_by_the_next_run(blocking, stream):
    plan = plan_parts(blocking, stream, "history", parts=2)

    def fail(interval):
        if interval.name == "1 of 2":
            raise LookupError(interval.name)

    (name, error), *_ = run_backfill(blocking, plan, fail).items()
    assert (name, type(error)) == ("1 of 2", LookupError)
    assert run_backfill(blocking, plan_parts(blocking, stream, "history"), lambda _: None) == {}
    with pytest.raises(ConfigurationError, match="at least one"):
        run_backfill(blocking, plan, fail, parallel=0)


def test_a_chain_continues_where_its_last_range_ends(blocking, stream):
    ledger, interval = blocking.cut_ledger(stream.scope), Interval("etl", stream, "first")
    ledger.create()
    head, tail = blocking.head(stream), blocking.tail(stream)
    assert next_start(blocking, ledger, interval, head).cut == head

    ledger.record(interval, StreamCutRange(head, tail), after=None)

    begins = next_start(blocking, ledger, Interval("etl", stream, "second"), head)
    assert begins.cut == tail
    assert begins.waits_for is not None
    assert begins.waits_for.identity == interval
    assert what_is_left(blocking, begins.cut).gone is None


def test_errors_are_those_of_the_asyncio_form(blocking, stream):
    with pytest.raises(NoWatermarksError):
        claim_times(blocking, stream, "etl", (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)))
