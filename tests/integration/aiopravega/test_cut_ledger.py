"""The cut ledger on a real key-value table: what is recorded, found again, and refused."""

import uuid

import pytest

from aiopravega import PravegaClient, PravegaConfig, SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import LedgerError, TableConflictError, TableNotFoundError
from aiopravega.ledger import CUT_TABLE, CutLedger, Interval


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
    ledger = CutLedger(client.controller, client.store, stream.scope)
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
        await CutLedger(client.controller, client.store, stream.scope, "nowhere").last(Interval("c", stream, "i"))


async def test_a_record_of_another_release_stops_the_reader(client, ledger, stream):
    monday = Interval("consumer", stream, "monday")
    await client.table(stream.scope, CUT_TABLE).put(monday.last_key, b'{"version": 2}')
    with pytest.raises(LedgerError, match="newer release"):
        await ledger.last(monday)
