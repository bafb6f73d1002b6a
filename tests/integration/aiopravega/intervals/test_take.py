"""Blocks that take a range of a chain: their end decides, and a repetition has the same range."""

import asyncio
from typing import Any

import pytest

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega import blocking as blocking_client
from aiopravega.blocking import intervals as blocking
from aiopravega.errors import ConfigurationError, LedgerError, NoRangeYetError, StreamNotFoundError
from aiopravega.intervals import ChainRules, MoveCondition, OnOpen, TakenRange, take, take_recorded
from aiopravega.ledger import CutRecord, Interval, IntervalState


@pytest.fixture
async def stream(make_stream):
    return await make_stream(2)


@pytest.fixture
def write(client: PravegaClient, stream: StreamName):
    async def write(*events: str) -> None:
        async with client.writer(stream) as writer:
            await writer.write_many([event.encode() for event in events])

    return write


@pytest.fixture
def day(client: PravegaClient, stream: StreamName):
    """Takes the range of a day of the consumer `shop`."""

    async def day(name: str, **more: Any) -> TakenRange:
        return await take(client, stream, consumer="shop", interval=name, **more)

    return day


@pytest.fixture
def record(client: PravegaClient, stream: StreamName):
    async def record(name: str) -> CutRecord:
        found = await client.cut_ledger(stream.scope).find(Interval("shop", stream, name))
        assert found is not None
        return found

    return record


async def events(taken: TakenRange) -> list[str]:
    return sorted([event.data.decode() async for event in taken.events()])


async def test_each_day_has_the_events_after_the_day_before(stream, write, day, record):
    await write("a", "b")
    async with await day("monday") as monday:
        assert (monday.stream, monday.consumer, monday.interval, monday.times) == (stream, "shop", "monday", None)
        assert await events(monday) == ["a", "b"]
    assert (await record("monday")).is_done

    await write("c")
    async with await day("tuesday") as tuesday:
        assert await events(tuesday) == ["c"]
    assert tuesday.start == monday.end
    async with await day("monday") as again:  # processed again
        assert again.range == monday.range
    async with await day("wednesday") as nothing:
        assert await events(nothing) == []


async def test_a_day_that_has_failed_is_tried_again_or_taken_over(write, day, record):
    await write("a")
    with pytest.raises(RuntimeError, match="broken"):
        async with await day("monday"):
            raise RuntimeError("broken " * 1000)
    failed = await record("monday")
    assert failed.state is IntervalState.FAILED
    assert failed.reason is not None
    assert failed.reason.startswith("RuntimeError: broken")
    assert len(failed.reason) == 1000

    late = await day("monday")
    assert await events(late) == ["a"]
    await write("b")
    async with await day("tuesday") as tuesday:
        assert await events(tuesday) == ["a", "b"]
    assert (await record("monday")).state is IntervalState.GIVEN_BACK
    with pytest.raises(LedgerError, match="given back"):
        await late.__aenter__()


async def test_work_that_is_tried_again_or_was_killed_keeps_its_range(write, day, record):
    await write("a")
    with pytest.raises(OSError, match="later"):
        async with await day("monday", is_final=lambda error: not isinstance(error, OSError)):
            raise OSError("later")
    assert (await record("monday")).state is IntervalState.OPEN
    with pytest.raises(NoRangeYetError, match="pravega cuts skip"):
        await day("tuesday")

    killed = await day("monday")
    await killed.__aenter__()  # and the process is gone, after its work
    await write("b")
    async with await day("monday") as again:
        assert await events(again) == ["a"]
    async with await day("tuesday") as tuesday:
        assert await events(tuesday) == ["b"]


async def test_a_range_of_several_tasks_is_done_when_all_are(write, day, record):
    await write("a")
    both = ("count", "sum")
    async with await day("monday", parts=both, part="sum"):
        pass
    assert (await record("monday")).state is IntervalState.OPEN
    async with await day("monday", parts=both, part="count"):
        pass
    assert (await record("monday")).is_done
    with pytest.raises(ConfigurationError, match="part is None, but must be one of the parts"):
        await day("monday", parts=both)


async def test_conditions_and_rules_are_those_of_all_schedulers(client, scope, write, day):
    await write("a")
    with pytest.raises(NoRangeYetError, match="not yet 1,000 bytes"):
        await day("monday", condition=MoveCondition(min_bytes=1000))
    taken = await day("monday")
    rules = ChainRules(on_open=OnOpen.SKIP)
    assert (await day("tuesday", rules=rules)).start == taken.end
    with pytest.raises(StreamNotFoundError):
        await take(client, f"{scope}/missing", consumer="shop", interval="monday")


async def test_a_range_that_a_scheduler_has_recorded_is_taken(client, stream, write, day, record):
    await write("a")
    await day("monday")
    async with await take_recorded(client, Interval("shop", stream, "monday")) as taken:
        assert await events(taken) == ["a"]
    assert (await record("monday")).is_done
    with pytest.raises(LedgerError, match="has no range"):
        await take_recorded(client, Interval("shop", stream, "friday"))


async def test_the_blocking_form_finishes_and_survives_an_interrupt(pravega_config: PravegaConfig, stream, write):
    def work() -> list[bytes]:
        with blocking_client.PravegaClient(pravega_config) as client:
            with pytest.raises(KeyboardInterrupt), blocking.take(client, stream, consumer="shop", interval="monday"):
                raise KeyboardInterrupt
            with blocking.take(client, str(stream), consumer="shop", interval="monday") as taken:
                assert taken.client.stream_exists(taken.stream)
                assert taken.range.start == taken.start
                return [event.data for event in taken.events()]

    await write("a")
    assert await asyncio.to_thread(work) == [b"a"]
