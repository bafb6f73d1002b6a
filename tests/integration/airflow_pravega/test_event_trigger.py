"""The trigger for `AssetWatcher` on an event loop, as in a triggerer."""

import asyncio
import json
import logging
from contextlib import AsyncExitStack, aclosing
from itertools import pairwise
from pkgutil import resolve_name

import pytest
import structlog

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import StreamNotFoundError
from aiopravega.ledger import Interval
from airflow_pravega.polling import shared_client
from airflow_pravega.polling.poller import _pollers
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger

SOON = 0.1
PATIENCE = 300


@pytest.fixture
async def pravega(pravega_config: PravegaConfig):
    async with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
async def stream(pravega, scope):
    await pravega.create_stream(f"{scope}/stream", ScalingPolicy.fixed(2))
    return StreamName(scope, "stream")


@pytest.fixture
def write(pravega, stream):
    async def write(*events: bytes):
        async with pravega.writer(stream) as writer:
            for event in events:
                await writer.write(event)
        return await pravega.tail(stream)

    return write


def started(stream, **arguments) -> PravegaStreamCutEventTrigger:
    """A trigger as a triggerer makes it, out of what the DAG's one serializes."""
    trigger = PravegaStreamCutEventTrigger(str(stream), **{"poll_interval": SOON, **arguments})
    name, kwargs = json.loads(json.dumps(trigger.serialize()))
    made = resolve_name(name)(**kwargs)
    assert isinstance(made, PravegaStreamCutEventTrigger)
    return made


async def next_cut(events) -> StreamCut:
    async with asyncio.timeout(PATIENCE):
        payload: dict[str, str] = (await anext(events)).payload
    assert payload.keys() == {"stream", "cut"}
    cut = StreamCut.from_text(payload["cut"])
    assert str(cut.stream) == payload["stream"]
    return cut


async def until(condition) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nothing reports when a trigger has got so far
            await asyncio.sleep(0)


async def record(pravega, stream, name: str, start: StreamCut, end: StreamCut) -> None:
    """Have the consumer take a range."""
    ledger = pravega.cut_ledger(stream.scope)
    await ledger.create()
    interval = Interval("shop/orders", stream, name)
    await ledger.record(interval, StreamCutRange(start, end), after=await ledger.last(interval), chained=True)


async def test_it_fires_once_for_each_movement(pravega, stream, write):
    async with aclosing(started(stream).run()) as events:
        cuts = [await pravega.head(stream)]
        for event in (b"a", b"b", b"c"):
            waiting = asyncio.create_task(next_cut(events))
            assert cuts[-1] != await write(event)
            cuts.append(await waiting)
    read = [[event.data async for event in pravega.read(StreamCutRange(start, end))] for start, end in pairwise(cuts)]
    assert read == [[b"a"], [b"b"], [b"c"]]


async def test_what_is_written_between_two_checks_is_one_event(stream, write):
    async with aclosing(started(stream).run()) as events:
        await write(b"a")
        await next_cut(events)
        await write(b"b")
        last = await write(b"c")
        assert await next_cut(events) == last


async def test_a_restarted_trigger_fires_for_existing_events(stream, write):
    tail = await write(b"a")
    for _ in range(2):
        async with aclosing(started(stream).run()) as events:
            assert await next_cut(events) == tail


async def test_a_restarted_trigger_fires_for_events_the_consumer_lacks(pravega, stream, write):
    head = await pravega.head(stream)
    first = await write(b"a")
    async with aclosing(started(stream, consumer="shop/orders").run()) as events:
        assert await next_cut(events) == first  # there is no ledger yet
    await record(pravega, stream, "first", head, first)

    trigger = started(stream, consumer="shop/orders")
    async with aclosing(trigger.run()) as events:
        waiting = asyncio.create_task(next_cut(events))
        await until(lambda: trigger._still == first)  # nothing to fire
        second = await write(b"b")
        assert await waiting == second
    async with aclosing(started(stream, consumer="shop/orders").run()) as events:
        assert await next_cut(events) == second  # its event may have been lost
    async with aclosing(started(stream, consumer="shop/others").run()) as events:
        assert await next_cut(events) == second


async def test_what_the_consumer_has_taken_meanwhile_is_not_fired(pravega, stream, write):
    head = await pravega.head(stream)
    trigger = started(stream, consumer="shop/orders")
    async with aclosing(trigger.run()) as events:
        await write(b"a")
        await next_cut(events)
        second = await write(b"b")
        await record(pravega, stream, "first", head, second)
        waiting = asyncio.create_task(next_cut(events))
        await until(lambda: trigger._still == second)
        third = await write(b"c")
        assert await waiting == third


async def test_many_watchers_of_a_stream_share_one_check(stream, write):
    made = [started(stream, consumer=f"shop/{number}") for number in range(20)]
    async with AsyncExitStack() as stack:
        events = [await stack.enter_async_context(aclosing(trigger.run())) for trigger in made]
        waiting = [asyncio.create_task(next_cut(each)) for each in events]
        await until(lambda: sum(len(poller.subscriptions) for poller in loops().values()) == len(made))
        assert len(loops()) == 1
        tail = await write(b"a")
        assert await asyncio.gather(*waiting) == [tail] * len(made)
    assert not loops()


async def test_an_empty_event_is_fired_and_read(pravega, stream, write):
    async with aclosing(started(stream).run()) as events:
        head = await pravega.head(stream)
        await write(b"")
        cut = await next_cut(events)
    assert [event.data async for event in pravega.read(StreamCutRange(head, cut))] == [b""]


async def test_a_scaling_moves_nothing(pravega, stream, write):
    trigger = started(stream)
    async with aclosing(trigger.run()) as events:
        await write(b"a")
        first = await next_cut(events)
        await pravega.scale_stream(stream, 3)
        scaled = await pravega.tail(stream)
        assert scaled != first
        waiting = asyncio.create_task(next_cut(events))
        await until(lambda: trigger._still == scaled)
        second = await write(b"b")
        assert await waiting == second


async def test_it_waits_for_enough_but_not_on_a_sealed_stream(pravega, stream, write):
    trigger = started(stream, min_bytes=2 * (8 + len(b"a")))
    async with aclosing(trigger.run()) as events:
        waiting = asyncio.create_task(next_cut(events))
        await write(b"a")
        second = await write(b"b")
        assert await waiting == second
        waiting = asyncio.create_task(next_cut(events))
        third = await write(b"c")
        await pravega.seal_stream(stream)
        assert await waiting == third


async def test_a_stream_that_was_made_again_is_fired_like_a_new_one(pravega, stream, write):
    async with aclosing(started(stream).run()) as events:
        await write(b"a")
        first = await next_cut(events)
        await pravega.delete_stream(stream)
        await pravega.create_stream(stream, ScalingPolicy.fixed(2))
        again = await write(b"a")
        try:
            found = await next_cut(events)
        except StreamNotFoundError:  # it was checked just between: Airflow starts the trigger again
            async with aclosing(started(stream).run()) as events_then:
                found = await next_cut(events_then)
        assert found == again != first


async def test_what_was_truncated_is_not_counted(pravega, stream, write):
    trigger = started(stream, min_bytes=9)
    async with aclosing(trigger.run()) as events:
        await write(b"a")
        await next_cut(events)
        gone = await write(b"b")
        await pravega.truncate_stream(gone)
        waiting = asyncio.create_task(next_cut(events))
        await until(lambda: trigger._still == gone)
        assert await write(b"c") == await waiting


async def test_what_waiting_cannot_heal_is_raised(pravega, stream, write):
    async with aclosing(started(stream).run()) as events:
        await write(b"a")
        await next_cut(events)
        await pravega.delete_stream(stream)
        with pytest.raises(StreamNotFoundError, match=str(stream)):
            await next_cut(events)
    assert not shared_users()


async def test_an_outage_is_waited_out(stream, write, away, caplog):
    tail = await write(b"a")
    caplog.set_level(logging.DEBUG, "aiopravega.retry")
    with structlog.testing.capture_logs() as lines:
        async with aclosing(started(stream, pravega_conn_id=away.connection).run()) as events:
            waiting = asyncio.create_task(next_cut(events))
            await until(lambda: away.refused > 30)
            assert not waiting.done()
            away.ends()
            assert await waiting == tail
    about = [line["event"] for line in lines if str(stream) in str(line["event"])]
    assert [line.split(",")[0] for line in about[:1]] == [f"{stream} cannot be checked"]
    assert [f"{stream} can be checked again" in line for line in about] == [False, True]
    # Before the outage is one, the client says that it tries again; then each check would say so.
    checks = [record for record in caplog.records if "trying again" in record.getMessage()]
    assert [record.levelno for record in checks[:1]] == [logging.INFO]
    assert {record.levelno for record in checks[1:]} == {logging.DEBUG}


def loops():
    return _pollers.get(asyncio.get_running_loop(), {})


def shared_users() -> int:
    return sum(entry.users for entry in shared_client._shared.get(asyncio.get_running_loop(), {}).values())
