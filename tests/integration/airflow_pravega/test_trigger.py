"""The trigger on an event loop, as in a triggerer: many at once, over one client."""

import asyncio
import json
import socket
from pkgutil import resolve_name

import pytest
import structlog

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamCut, StreamCutRange
from airflow_pravega.polling import shared_client
from airflow_pravega.polling.poller import _pollers
from airflow_pravega.triggers.reachable import PravegaReachableTrigger
from airflow_pravega.triggers.stream_cut import PravegaStreamCutTrigger
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger

MANY = 250


@pytest.fixture
async def pravega(pravega_config: PravegaConfig):
    async with PravegaClient(pravega_config) as opened:
        yield opened


async def first_event(trigger: PravegaWaitingTrigger) -> dict[str, str]:
    """What the triggerer gets of a trigger that it made again from its serialized form."""
    name, arguments = json.loads(json.dumps(trigger.serialize()))
    async for event in resolve_name(name)(**arguments).run():
        payload: dict[str, str] = event.payload
        return payload
    raise AssertionError("the trigger ended without an event")


def trigger_since(
    since: str, stream: str = "a/b", min_bytes: int = 1, pravega_conn_id: str = "pravega_default"
) -> PravegaStreamCutTrigger:
    return PravegaStreamCutTrigger(
        since=since,
        condition={"min_bytes": min_bytes},
        stream=stream,
        poll_interval=0.1,
        pravega_conn_id=pravega_conn_id,
    )


async def trigger_since_tail(pravega: PravegaClient, scope: str, stream: str, min_bytes: int = 1):
    since = (await pravega.tail(f"{scope}/{stream}")).to_text()
    return trigger_since(since, f"{scope}/{stream}", min_bytes)


def shared():
    return shared_client._shared.get(asyncio.get_running_loop(), {})


def loops():
    return _pollers.get(asyncio.get_running_loop(), {})


def users() -> int:
    return sum(len(poller.subscriptions) for poller in loops().values())


async def until(condition) -> None:
    while not condition():  # noqa: ASYNC110 - nothing reports when a trigger has got so far
        await asyncio.sleep(0)


async def test_many_triggers_share_one_client_and_one_loop_for_each_stream(pravega, scope):
    for number in range(5):
        await pravega.create_stream(f"{scope}/stream-{number}", ScalingPolicy.fixed(1))
    triggers = [await trigger_since_tail(pravega, scope, f"stream-{number % 5}") for number in range(MANY)]
    waiting = [asyncio.create_task(first_event(trigger)) for trigger in triggers]
    async with asyncio.timeout(300):
        await until(lambda: users() == MANY and all(entry.opening.done() for entry in shared().values()))
        assert len(shared()) == 1
        assert [len(poller.subscriptions) for poller in loops().values()] == [MANY // 5] * 5
        for number in range(5):
            async with pravega.writer(f"{scope}/stream-{number}") as writer:
                await writer.write(b"event")
        events = await asyncio.gather(*waiting)
    for trigger, event in zip(triggers, events, strict=True):
        assert event["status"] == "moved"
        found = StreamCutRange.from_json(event)
        assert str(found.stream) == trigger.stream
        assert [event.data async for event in pravega.read(found)] == [b"event"]
    assert not shared()
    assert not loops()


async def test_a_cancelled_trigger_leaves_the_client_to_the_others(pravega, scope):
    await pravega.create_stream(f"{scope}/stream")
    trigger = await trigger_since_tail(pravega, scope, "stream")
    one, other = (asyncio.create_task(first_event(trigger)) for _ in range(2))
    async with asyncio.timeout(300):
        await until(lambda: users() == 2)
        one.cancel()
        await asyncio.wait([one])
        async with pravega.writer(f"{scope}/stream") as writer:
            await writer.write(b"event")
        assert (await other)["status"] == "moved"
    assert one.cancelled()
    assert not shared()


async def test_one_that_is_cancelled_while_it_connects_leaves_nothing(pravega, scope):
    await pravega.create_stream(f"{scope}/stream")
    trigger = await trigger_since_tail(pravega, scope, "stream")
    task = asyncio.create_task(first_event(trigger))
    async with asyncio.timeout(300):
        await until(shared)
        task.cancel()
        await asyncio.wait([task])
    assert not shared()


async def test_enough_is_counted_with_headers(pravega, scope):
    await pravega.create_stream(f"{scope}/stream")
    enough = 2 * (8 + len(b"event"))
    waiting = asyncio.create_task(first_event(await trigger_since_tail(pravega, scope, "stream", enough)))
    async with pravega.writer(f"{scope}/stream") as writer:
        await writer.write(b"event")
        await writer.flush()
        async with asyncio.timeout(300):
            await until(shared)
        assert not waiting.done()
        await writer.write(b"event")
    async with asyncio.timeout(300):
        assert (await waiting)["status"] == "moved"


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda pravega, scope: pravega.delete_stream(f"{scope}/stream"), "StreamNotFoundError"),
        (lambda pravega, scope: pravega.seal_stream(f"{scope}/stream"), "StreamSealedError"),
    ],
)
async def test_a_stream_that_will_never_move_ends_the_waiting(pravega, scope, spoil, error):
    await pravega.create_stream(f"{scope}/stream")
    trigger = await trigger_since_tail(pravega, scope, "stream")
    await spoil(pravega, scope)
    async with asyncio.timeout(300):
        event = await first_event(trigger)
    assert event["status"] == "error"
    assert event["error"] == error
    assert f"{scope}/stream" in event["message"]


async def test_a_text_that_is_no_cut_is_an_error():
    event = await first_event(trigger_since("rubbish"))
    assert (event["status"], event["error"]) == ("error", "InvalidStreamCutError")
    unbounded = StreamCut.unbounded().to_text()
    event = await first_event(trigger_since(unbounded))
    assert (event["status"], event["error"]) == ("error", "ConfigurationError")


async def test_an_outage_is_waited_out(pravega, scope, away):
    await pravega.create_stream(f"{scope}/stream")
    since = (await pravega.tail(f"{scope}/stream")).to_text()
    triggers = [trigger_since(since, f"{scope}/stream", 1, away.connection) for _ in range(3)]
    async with pravega.writer(f"{scope}/stream") as writer:
        await writer.write(b"event")
    with structlog.testing.capture_logs() as lines:
        waiting = [asyncio.create_task(first_event(trigger)) for trigger in triggers]
        async with asyncio.timeout(300):
            await until(lambda: away.refused > 10 * len(waiting))
            assert not any(task.done() for task in waiting)
            away.ends()
            events = await asyncio.gather(*waiting)

    assert {event["status"] for event in events} == {"moved"}
    # However long it is, and however many wait.
    said = [(line["log_level"], line["event"] % line.get("positional_args", ())) for line in lines]
    assert [level for level, _ in said].count("warning") == 1
    assert all("cannot be checked" in text for level, text in said if level == "warning")
    assert sum("can be checked again" in text for _, text in said) == 1
    assert not shared()


async def test_a_cluster_that_is_silent_holds_up_no_other(pravega, scope, monkeypatch):
    await pravega.create_stream(f"{scope}/stream")
    since = (await pravega.tail(f"{scope}/stream")).to_text()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and says nothing
        limits = {"connect_timeout": 3600, "request_timeout": 3600}
        fields = {"conn_type": "pravega", "host": "127.0.0.1", "port": silent.getsockname()[1], "extra": limits}
        monkeypatch.setenv("AIRFLOW_CONN_SILENT", json.dumps(fields))
        stuck = [
            asyncio.create_task(first_event(trigger_since(since, f"{scope}/stream", 1, "silent"))) for _ in range(20)
        ]
        async with asyncio.timeout(300):
            await until(lambda: users() == len(stuck))
            waiting = asyncio.create_task(first_event(await trigger_since_tail(pravega, scope, "stream")))
            async with pravega.writer(f"{scope}/stream") as writer:
                await writer.write(b"event")
            assert (await waiting)["status"] == "moved"
        assert not any(task.done() for task in stuck)
        for task in stuck:
            task.cancel()
        await asyncio.wait(stuck)
    assert not loops()


async def test_the_end_of_an_outage_is_fired(pravega, scope, away):
    await pravega.create_stream(f"{scope}/stream")
    trigger = PravegaReachableTrigger(stream=f"{scope}/stream", poll_interval=0.1, pravega_conn_id=away.connection)
    waiting = asyncio.create_task(first_event(trigger))
    async with asyncio.timeout(300):
        await until(lambda: away.refused > 1)
        assert not waiting.done()
        away.ends()
        assert (await waiting)["status"] == "reachable"
