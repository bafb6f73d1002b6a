"""The cut ledger on a real key-value table: what is recorded, found again, and refused."""

import asyncio
import json
import uuid
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from aiopravega import PravegaClient, PravegaConfig, SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.errors import ConfigurationError, LedgerError, TableConflictError, TableNotFoundError
from aiopravega.ledger import CUT_TABLE, Interval, IntervalState
from aiopravega.ledger.stored_json import myself


@pytest.fixture
async def client(pravega_config: PravegaConfig):
    async with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
async def stream(client):
    name = StreamName(f"cuts-{uuid.uuid4().hex}", "stream")
    await client.create_scope(name.scope)
    return name


@pytest.fixture
async def ledger(client, stream):
    ledger = client.cut_ledger(stream.scope)
    assert await ledger.create()
    return ledger


@pytest.fixture
def taken(stream):
    def taken(start: int, end: int) -> StreamCutRange:
        segment = SegmentId(stream, 0, 0)
        return StreamCutRange(StreamCut(stream, {segment: start}), StreamCut(stream, {segment: end}))

    return taken


async def test_a_new_interval_has_no_range(ledger, stream):
    interval = Interval("consumer", stream, "monday")
    assert await ledger.recorded(interval) is None
    assert await ledger.last(interval) is None


async def test_every_interval_keeps_its_range_and_the_last_one_is_known(ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    await ledger.record(monday, taken(0, 5), after=None)
    await ledger.record(tuesday, taken(5, 9), after=await ledger.last(tuesday))
    assert await ledger.recorded(monday) == taken(0, 5)
    assert await ledger.recorded(tuesday) == taken(5, 9)
    last = await ledger.last(monday)
    assert (last.interval, last.range) == ("tuesday", taken(5, 9))


async def test_consumers_and_streams_do_not_mix(ledger, stream, taken):
    await ledger.record(Interval("one", stream, "monday"), taken(0, 5), after=None)
    assert await ledger.recorded(Interval("two", stream, "monday")) is None
    assert await ledger.last(Interval("one", StreamName(stream.scope, "other"), "monday")) is None


async def test_a_range_chosen_before_another_one_was_taken_is_refused(ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    seen = await ledger.last(monday)
    await ledger.record(tuesday, taken(0, 9), after=seen)
    with pytest.raises(TableConflictError):
        await ledger.record(monday, taken(0, 5), after=seen)
    assert await ledger.recorded(monday) is None
    assert (await ledger.last(monday)).range == taken(0, 9)


async def test_a_crash_after_the_deciding_put_loses_nothing(client, ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    await ledger.record(monday, taken(0, 5), after=None)
    # As after a crash: the last range is there, the interval's own record is not.
    await client.table(stream.scope, CUT_TABLE).remove(monday.key)
    assert await ledger.recorded(monday) == taken(0, 5)
    await ledger.record(tuesday, taken(5, 9), after=await ledger.last(tuesday))
    assert await ledger.recorded(monday) == taken(0, 5)


async def test_an_interval_can_get_another_range(ledger, stream, taken):
    monday = Interval("consumer", stream, "monday")
    await ledger.record(monday, taken(0, 5), after=None)
    await ledger.record(monday, taken(2, 9), after=await ledger.last(monday))
    assert await ledger.recorded(monday) == taken(2, 9)


async def test_a_ledger_that_is_not_there_is_an_error(client, stream):
    with pytest.raises(TableNotFoundError):
        await client.cut_ledger(stream.scope, "nowhere").last(Interval("c", stream, "i"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b'{"version": 1}', "version 1 of a cut ledger.*reads version 5"),
        (b'{"version": 3, "consumer": "consumer"}', "version 3 of a cut ledger.*another release has made"),
        (b'{"consumer": "consumer", "stream": "a/b"}', "version 2 of a cut ledger"),
        (b'{"version": 4, "consumer": "consumer"}', "not a record of a cut ledger of version 5"),
        (b'["a table of somebody else"]', "used for something else"),
        (bytes(16), "used for something else"),
    ],
)
async def test_a_record_of_another_release_stops_the_reader(client, ledger, stream, value, message):
    monday = Interval("consumer", stream, "monday")
    await client.table(stream.scope, CUT_TABLE).put(monday.last_key, value)
    with pytest.raises(LedgerError, match=message):
        await ledger.last(monday)
    with pytest.raises(LedgerError, match=message):
        await ledger.records("consumer", stream)


async def test_every_record_says_its_version(client, ledger, stream, taken):
    monday = Interval("consumer", stream, "monday")
    await ledger.record(monday, taken(0, 5), after=None)
    stored = [json.loads(entry.value) async for entry in client.table(stream.scope, CUT_TABLE).entries()]
    assert [value["version"] for value in stored] == [5, 5]


async def test_records_say_who_took_what_when_and_come_in_order(ledger, stream, taken):
    begin = datetime.now(UTC)
    for number in range(5):
        day = Interval("consumer", stream, f"day {number}")
        await ledger.record(day, taken(number, number + 1), await ledger.last(day), by="ada")
    await ledger.finish(Interval("consumer", stream, "day 1"), taken(1, 2), by="bob")
    await ledger.finish(Interval("consumer", stream, "day 4"))
    await ledger.record(Interval("other", stream, "day 0"), taken(0, 9), after=None)

    records = await ledger.records("consumer", stream)

    assert [record.interval for record in records] == [f"day {number}" for number in range(5)]
    assert [record.follows for record in records] == [False, True, True, True, True]
    assert [record.is_done for record in records] == [False, True, False, False, True]
    assert {record.recorded_by for record in records} == {"ada"}
    assert (records[1].changed_by, records[4].changed_by) == ("bob", myself())
    assert all(begin <= record.recorded_at <= (record.changed_at or datetime.now(UTC)) for record in records)
    assert {name: len(found) for (_, name), found in (await ledger.consumers()).items()} == {"consumer": 5, "other": 1}


async def test_a_range_that_leaves_a_gap_is_refused_in_a_chain(ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    await ledger.record(monday, taken(0, 5), after=None, chained=True)
    for start in (4, 6):
        with pytest.raises(LedgerError, match="a gap, or overlaps"):
            await ledger.record(tuesday, taken(start, 9), await ledger.last(tuesday), chained=True)
    await ledger.record(tuesday, taken(5, 9), await ledger.last(tuesday), chained=True)


async def test_done_is_for_the_range_that_was_processed(ledger, stream, taken):
    monday = Interval("consumer", stream, "monday")
    with pytest.raises(LedgerError, match="no range"):
        await ledger.finish(monday)
    await ledger.record(monday, taken(0, 5), after=None)
    await ledger.record(monday, taken(0, 7), after=await ledger.last(monday))
    with pytest.raises(LedgerError, match="another range"):
        await ledger.finish(monday, taken(0, 5))
    done = await ledger.finish(monday, taken(0, 7))
    assert await ledger.finish(monday) == done == await ledger.find(monday)


async def test_the_next_interval_does_not_undo_what_is_done(client, ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    await ledger.record(monday, taken(0, 5), after=None)
    await client.table(stream.scope, CUT_TABLE).remove(monday.key)  # as after a crash
    await ledger.finish(monday)
    await ledger.record(tuesday, taken(5, 9), await ledger.last(tuesday))
    assert (await ledger.find(monday)).is_done
    assert [record.interval for record in await ledger.records("consumer", stream)] == ["monday", "tuesday"]


async def test_of_runs_that_race_each_gets_a_range_of_its_own(ledger, stream, taken):
    async def run(name: str) -> None:
        interval = Interval("consumer", stream, name)
        while True:
            last = await ledger.last(interval)
            start = 0 if last is None else last.range.end.positions[SegmentId(stream, 0, 0)]
            try:
                await ledger.record(interval, taken(start, start + 1), last, chained=True)
            except TableConflictError:
                continue
            return

    await asyncio.gather(*(run(f"run {number}") for number in range(20)))

    records = await ledger.records("consumer", stream)
    assert [record.number for record in records] == list(range(20))
    assert all(one.range.end == other.range.start and other.follows for one, other in pairwise(records))


async def test_claims_that_race_get_the_range_of_the_first(ledger, stream, taken):
    interval = Interval("consumer", stream, "monday")
    claims = await asyncio.gather(*(ledger.claim(interval, taken(0, end)) for end in range(1, 9)))
    assert len({claim.range for claim in claims}) == 1
    assert await ledger.find(interval) == claims[0]


async def test_a_failed_interval_says_why_until_it_is_done(ledger, stream, taken):
    monday = Interval("consumer", stream, "monday")
    await ledger.record(monday, taken(0, 5), after=None)
    await ledger.fail(monday, "no space left", by="try 1")
    [failed] = await ledger.records("consumer", stream)
    assert (failed.state, failed.reason, failed.changed_by) == (IntervalState.FAILED, "no space left", "try 1")
    assert failed.is_waiting
    await ledger.finish(monday, taken(0, 5))
    assert (await ledger.fail(monday, "a late one")).is_done
    assert (await ledger.last(monday)).record.is_done


async def test_a_skipped_interval_cannot_be_done_before_it_is_reopened(ledger, stream, taken):
    monday = Interval("consumer", stream, "monday")
    await ledger.record(monday, taken(0, 5), after=None)
    await ledger.skip(monday, "broken rows", by="ada")
    with pytest.raises(LedgerError, match="is skipped, by ada: broken rows"):
        await ledger.finish(monday)
    assert (await ledger.reopen(monday, "the rows are mended")).state is IntervalState.OPEN
    assert (await ledger.finish(monday)).is_done
    with pytest.raises(LedgerError, match="is done since"):
        await ledger.skip(monday, "too late")
    assert [record.state for record in await ledger.records("consumer", stream)] == [IntervalState.DONE]
    assert (await ledger.reopen(monday, "the code was mended")).is_waiting


async def test_a_range_that_was_given_back_is_the_next_ones(ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    await ledger.record(monday, taken(0, 5), after=None)
    stale = await ledger.last(tuesday)
    await ledger.give_back(monday, "tuesday has it", by="tuesday")
    with pytest.raises(TableConflictError):  # a run that asked earlier does not start after it
        await ledger.record(tuesday, taken(5, 9), after=stale, chained=True)
    last = await ledger.last(tuesday)
    assert last.end == taken(0, 5).start
    await ledger.record(tuesday, taken(0, 9), after=last, chained=True)
    with pytest.raises(LedgerError, match="given back, by tuesday"):
        await ledger.finish(monday, taken(0, 5))
    with pytest.raises(LedgerError, match="belongs to another one"):
        await ledger.reopen(monday, "anyway")
    with pytest.raises(LedgerError, match="not the last one of a chain"):
        await ledger.give_back(monday, "again")


async def test_an_interval_is_done_or_given_back_and_never_both(ledger, stream, taken):
    for number in range(20):
        day = Interval(f"consumer {number}", stream, "monday")
        await ledger.record(day, taken(0, 5), after=None)
        outcomes = await asyncio.gather(
            ledger.finish(day, taken(0, 5)), ledger.give_back(day, "late"), return_exceptions=True
        )
        assert sum(isinstance(outcome, LedgerError) for outcome in outcomes) == 1
        last = await ledger.last(day)
        assert last.end == (taken(0, 5).end if last.record.is_done else taken(0, 5).start)


async def test_a_forgotten_consumer_begins_again_and_others_stay(ledger, stream, taken):
    monday, tuesday = (Interval("consumer", stream, day) for day in ("monday", "tuesday"))
    await ledger.record(monday, taken(0, 5), after=None)
    await ledger.record(tuesday, taken(5, 9), after=await ledger.last(tuesday))
    await ledger.record(Interval("other", stream, "monday"), taken(0, 5), after=None)
    with pytest.raises(LedgerError, match="last one of a chain"):
        await ledger.forget("consumer", stream, "tuesday")
    assert [record.interval for record in await ledger.forget("consumer", stream)] == ["monday", "tuesday"]
    assert await ledger.last(monday) is None
    assert await ledger.records("consumer", stream) == []
    assert len(await ledger.records("other", stream)) == 1
    await ledger.claim(Interval("claims", stream, "monday"), taken(0, 5))
    assert [record.interval for record in await ledger.forget("claims", stream, "monday")] == ["monday"]
    assert await ledger.find(Interval("claims", stream, "monday")) is None


def test_a_blocking_ledger_has_the_same_calls(pravega_config, stream, taken):
    interval = Interval("consumer", stream, "monday")
    with BlockingClient(pravega_config) as client:
        ledger = client.cut_ledger(stream.scope)
        assert ledger.create()
        assert [ledger.find(interval), ledger.recorded(interval), ledger.last(interval)] == [None] * 3
        ledger.record(interval, taken(0, 5), after=None)
        ledger.claim(Interval("consumer", stream, "tuesday"), taken(5, 6), number=1)
        assert ledger.finish(interval).is_done
        assert [record.is_done for record in ledger.records("consumer", stream)] == [True, False]
        assert list(ledger.consumers()) == [(stream, "consumer")]


@pytest.mark.parametrize("names", [("", "monday"), ("consumer", "")])
def test_consumers_and_intervals_need_names(names):
    with pytest.raises(ConfigurationError, match="need names"):
        Interval(names[0], StreamName("scope", "stream"), names[1])
