"""Triggers of several runs that wait for one chain of ranges: the next one wakes, and then the one after it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aiopravega import PravegaClient, PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import Interval
from airflow_pravega.polling.poller import _pollers
from airflow_pravega.triggers.next_range import PravegaNextRangeTrigger

SOON = 0.1
PATIENCE = 300
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")


@pytest.fixture
async def pravega(pravega_config: PravegaConfig):
    async with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
async def stream(pravega, scope):
    await pravega.create_stream(f"{scope}/stream")
    await pravega.cut_ledger(scope).create()
    return StreamName(scope, "stream")


class Counting(PravegaNextRangeTrigger):
    """A trigger that says how often it has checked."""

    checks = 0

    async def check(self, client, seen):
        try:
            return await super().check(client, seen)
        finally:
            self.checks += 1


def trigger(stream, day: str, **arguments: Any) -> Counting:
    common: dict[str, Any] = {"stream": str(stream), "consumer": "shop", "interval": day, "order": day}
    common |= {"condition": {}, "on_open": "wait", "on_truncated": "fail"}
    common |= {"deadline": (datetime.now(UTC) + timedelta(hours=1)).isoformat(), "poll_interval": SOON}
    return Counting(**common | {"pravega_conn_id": "pravega_default"} | arguments)


async def event_of(made: PravegaNextRangeTrigger) -> dict[str, Any]:
    async for event in made.run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("the trigger ended without an event")


async def write(pravega, stream, *events: bytes) -> StreamCut:
    async with pravega.writer(stream) as writer:
        for event in events:
            await writer.write(event)
    tail: StreamCut = await pravega.tail(stream)
    return tail


async def checked(*made: Counting) -> None:
    """Wait until each has checked a few times more, or has let a few checks of the stream pass that changed nothing."""
    async with asyncio.timeout(PATIENCE):
        for _ in range(3 if made else 0):
            before, seen = [each.checks for each in made], newest()
            while newest() is seen or any(  # noqa: ASYNC110 - a count
                each.checks_again and each.checks == count for each, count in zip(made, before, strict=True)
            ):
                await asyncio.sleep(SOON)


def newest() -> object:
    """The newest answer about the stream; None before there is any."""
    return next((poller.answer for poller in _pollers.get(asyncio.get_running_loop(), {}).values()), None)


async def test_runs_wake_one_after_the_other_in_the_order_of_their_dates(pravega, stream):
    ledger = pravega.cut_ledger(stream.scope)
    made = {day: trigger(stream, day) for day in reversed(DAYS)}
    waiting = {day: asyncio.create_task(event_of(each)) for day, each in made.items()}
    position = await pravega.head(stream)
    await checked(*made.values())
    for day in DAYS:
        await write(pravega, stream, day.encode())
        async with asyncio.timeout(PATIENCE):
            event = await waiting.pop(day)
        assert (event["status"], event["start"]) == ("moved", position.to_text())
        others = [made[each] for each in waiting]
        await checked(*others)  # its task has not started yet

        interval = Interval("shop", stream, day)
        taken = StreamCutRange.from_json(event)
        await ledger.record(interval, taken, after=await ledger.last(interval), chained=True)
        position = taken.end
        await write(pravega, stream, b"more")
        await checked(*others)  # it is at work
        assert not any(task.done() for task in waiting.values())
        await ledger.finish(interval)


async def test_a_woken_run_that_finds_too_little_waits_again_before_the_others(pravega, stream):
    first, second = trigger(stream, "2026-01-01"), trigger(stream, "2026-01-02")
    later = asyncio.create_task(event_of(second))
    await write(pravega, stream, b"a")
    async with asyncio.timeout(PATIENCE):
        earlier = asyncio.create_task(event_of(first))
        done, _ = await asyncio.wait({earlier, later}, return_when=asyncio.FIRST_COMPLETED)
        again = asyncio.create_task(event_of(trigger(stream, "2026-01-01" if earlier in done else "2026-01-02")))
        assert (await again)["status"] == "moved"
    await checked(second if earlier in done else first)
    assert not (later if earlier in done else earlier).done()
    for task in (earlier, later):
        task.cancel()
    await asyncio.wait([earlier, later])


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"deadline": datetime(2026, 1, 1, tzinfo=UTC).isoformat()}, "late"),
        ({"on_open": "take_over"}, "failed"),
        ({"on_open": "skip"}, "moved"),
    ],
)
async def test_what_is_not_processed_is_waited_for_as_the_sensor_says(pravega, stream, arguments, status):
    ledger = pravega.cut_ledger(stream.scope)
    head, tail = await pravega.head(stream), await write(pravega, stream, b"a")
    await write(pravega, stream, b"b")
    failed = Interval("shop", stream, "2026-01-01")
    await ledger.record(failed, StreamCutRange(head, tail), after=None)
    await ledger.fail(failed, "no space left")
    waits = trigger(stream, "2026-01-02")
    waiting = asyncio.create_task(event_of(waits))
    await checked(waits)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])
    async with asyncio.timeout(PATIENCE):
        assert (await event_of(trigger(stream, "2026-01-02", **arguments)))["status"] == status


async def test_what_is_gone_is_an_error_or_left_out(pravega, stream):
    ledger = pravega.cut_ledger(stream.scope)
    head, tail = await pravega.head(stream), await write(pravega, stream, b"a")
    await ledger.record(Interval("shop", stream, "2026-01-01"), StreamCutRange(head, tail), after=None)
    await ledger.finish(Interval("shop", stream, "2026-01-01"))
    gone = await write(pravega, stream, b"b")
    await pravega.truncate_stream(gone)
    await write(pravega, stream, b"c")
    async with asyncio.timeout(PATIENCE):
        refused = await event_of(trigger(stream, "2026-01-02"))
        assert (refused["status"], refused["error"]) == ("error", "StreamTruncatedError")
        assert (await event_of(trigger(stream, "2026-01-02", on_truncated="skip")))["start"] == gone.to_text()
