"""Late events on a real server: found once for their intervals, and given to them by a later claim."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.integration.conftest import client, scope
from tests.pages.blocks import block_with

from aiopravega import StreamName
from aiopravega.blocking.intervals import claim_times, claim_times_again
from aiopravega.errors import ConfigurationError, MalformedEventError, StreamTruncatedError
from aiopravega.intervals import OnTruncated
from aiopravega.ledger import Interval
from pravega_jobs.frames import StreamRange, read_table
from pravega_jobs.frames.options import ReadOptions
from pravega_jobs.late import find_late_events

__all__ = ["client", "scope"]
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
TYPED: ReadOptions = {"decode": "json", "columns": "sale struct<at: timestamp>, id long", "event_time": "sale.at"}


def hours(number: int) -> tuple[datetime, datetime]:
    return NEW_YEAR + timedelta(hours=number), NEW_YEAR + timedelta(hours=number + 1)


def event(number: int, minutes: int) -> bytes:
    at = NEW_YEAR + timedelta(minutes=minutes)
    return json.dumps({"id": number, "sale": {"at": at.isoformat()}}).encode()


@pytest.fixture
def write(client, scope):
    """Writes events at minutes of the year, under keys that go to all segments."""
    stream = StreamName(scope, "orders")
    numbers = iter(range(1000))

    def write(*minutes: int) -> StreamName:
        with client.writer(stream) as writer:
            events = [event(next(numbers), each) for each in minutes]
            writer.write_many(events, [str(number) for number in range(len(events))])
        return stream

    return write


@pytest.fixture
def orders(client, scope, write):
    """A stream that is complete for two hours, both claimed by `ada`; the first is done."""
    stream = StreamName(scope, "orders")
    assert client.create_stream(stream, timestamp_aggregation_timeout=timedelta(minutes=5))
    client.note_time(stream, "shop", NEW_YEAR)
    next(iter(client.watermarks(stream, follow=True)))
    write(0, 30, 60, 90)
    client.note_time(stream, "shop", hours(1)[1])
    next(iter(client.watermarks(stream, since=hours(1)[1], follow=True)))
    for number in (0, 1):
        claim_times(client, stream, "ada", hours(number), from_head=True)
    finish(client, stream, 0)
    return stream


def finish(client, stream, number, claim=1):
    since, until = hours(number)
    record = claim_times(client, stream, "ada", (since, until))
    if claim > 1:
        record = claim_times_again(client, stream, "ada", (since, until), claim)
    client.cut_ledger(stream.scope).finish(record.identity, record.range)
    return record


def counts(found):
    return {each.since.hour: (each.events, each.new, each.claim, each.is_settled) for each in found.intervals}


def ids(client, stream, range_, times):
    rows = read_table(StreamRange(client, stream, range_, times), **TYPED)
    return sorted(rows.column("id").to_pylist())


def test_late_events_are_counted_once_and_a_later_claim_has_them(client, orders, write):
    assert find_late_events(client, orders, "ada", **TYPED).intervals == ()
    write(10, 100, 20, 130)  # of the third hour nobody is late yet: it is not claimed
    client.scale_stream(orders, 2)
    write(15, 59)

    found = find_late_events(client, orders, "ada", **TYPED)

    assert counts(found) == {0: (4, 4, 1, True), 1: (1, 1, 1, False)}
    assert [json.loads(client.fetch(pointer).data)["id"] for pointer in (found.intervals[0].first,)] == [4]
    assert json.loads(client.fetch(found.intervals[0].last).data)["id"] in (8, 9)
    assert found.end == client.tail(orders)
    assert find_late_events(client, orders, "ada", **TYPED).to_json()["events"] == 5
    write(40)
    assert counts(find_late_events(client, orders, "ada", **TYPED)) == {0: (5, 1, 1, True), 1: (1, 0, 1, False)}

    again = finish(client, orders, 0, claim=2)
    assert ids(client, orders, again.range, hours(0)) == [0, 1, 4, 6, 8, 9, 10]
    write(45)
    assert counts(find_late_events(client, orders, "ada", **TYPED)) == {0: (1, 1, 2, True), 1: (1, 0, 1, False)}
    assert find_late_events(client, orders, "bob", **TYPED).range is None


def test_an_interval_that_is_claimed_after_a_search_has_its_late_events(client, orders, write):
    write(150)
    client.note_time(orders, "shop", hours(2)[1])
    next(iter(client.watermarks(orders, since=hours(2)[1], follow=True)))
    write(130, 140)
    find_late_events(client, orders, "ada", **TYPED)  # it reads both before anybody claims the third hour

    claim_times(client, orders, "ada", hours(2))

    found = [find_late_events(client, orders, "ada", max_bytes=64, **TYPED)]
    while not found[-1].is_whole:
        found.append(find_late_events(client, orders, "ada", max_bytes=64, **TYPED))
    assert len(found) > 1
    assert sum(interval.new for each in found for interval in each.intervals) == 2
    assert [(each.since.hour, each.events, each.is_settled) for each in found[-1].intervals] == [(2, 2, False)]


def test_what_cannot_be_searched_is_refused_by_name(client, orders, write):
    write(10)
    client.truncate_stream(client.tail(orders))
    with pytest.raises(StreamTruncatedError, match="that no search has read are gone.*say on_truncated='skip'"):
        find_late_events(client, orders, "ada", **TYPED)
    skipped = find_late_events(client, orders, "ada", on_truncated=OnTruncated.SKIP, **TYPED)
    assert (skipped.events, skipped.is_whole) == (0, True)
    assert skipped.lost is not None
    with client.writer(orders) as writer:
        writer.write(b'{"id": 7}')
    with pytest.raises(MalformedEventError, match="has no time in column 'sale.at'"):
        find_late_events(client, orders, "ada", **TYPED)
    tolerant: ReadOptions = {**TYPED, "on_error": "drop"}
    assert find_late_events(client, orders, "ada", **tolerant).events == 0
    ledger, tail = client.cut_ledger(orders.scope), client.tail(orders)
    ledger.record(Interval("chained", orders, "run"), skipped.range, None)
    with pytest.raises(ConfigurationError, match="the ranges of 'chained' on .* are a chain"):
        find_late_events(client, orders, "chained", **TYPED)
    assert tail == client.tail(orders)


def test_the_code_of_the_page_names_the_late_events(client, orders, pravega_config, monkeypatch, capsys):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    with client.writer(orders) as writer:
        writer.write(json.dumps({"id": 7, "ordered_at": (NEW_YEAR + timedelta(minutes=5)).isoformat()}).encode())
    code = block_with("late-events", "find_late_events(\n").code

    exec(code.replace("examples/orders", str(orders)).replace("orders/wait", "ada"), {})

    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"'ada' on {orders}: 1 late events in 1 of 2 intervals"
    assert printed[-1].startswith('2013-01-01 00:00:00+00:00 1 b\'{"id": 7')
