"""Pollers: one checks a stream for all its subscriptions; they wake for answers, and for the error that ends it."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
import structlog

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import StreamNotFoundError
from aiopravega.intervals.conditions.tails import TailWatch
from airflow_pravega.polling import TailOf, shared_client, subscribe
from airflow_pravega.polling.poller import _pollers

SOON = 0.05
NEVER = 3600.0
PATIENCE = 300


@dataclass(eq=False)
class Numbers:
    """A value that goes through `answers`, and keeps the last one; an error among them ends the poller."""

    answers: list[int | BaseException]
    asked: int = 0
    stream: StreamName = field(default_factory=lambda: StreamName("scope", "numbers"))

    def checker(self):
        return self

    async def check(self, client) -> int:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
async def wait_for(pravega_config):
    """Subscribes to a value, until the test ends."""
    async with AsyncExitStack() as stack:

        async def wait_for(numbers, longest=SOON):
            return await stack.enter_async_context(subscribe(pravega_config, numbers, longest, structlog.get_logger()))

        yield wait_for
    assert not _pollers.get(asyncio.get_running_loop())
    assert not shared_client._shared.get(asyncio.get_running_loop())


async def checked_more_often(numbers: Numbers, times: int = 3) -> None:
    enough = numbers.asked + times
    async with asyncio.timeout(PATIENCE):
        while numbers.asked < enough:  # noqa: ASYNC110 - a count
            await asyncio.sleep(SOON)


async def test_all_subscriptions_get_the_same_answers(wait_for):
    numbers = Numbers([1])
    subscriptions = [await wait_for(numbers) for _ in range(100)]
    async with asyncio.timeout(PATIENCE):
        first = await asyncio.gather(*(each.after(None) for each in subscriptions))
        assert len(set(map(id, first))) == 1
        waiting = [asyncio.create_task(each.after(first[0])) for each in subscriptions]
        await checked_more_often(numbers)
        assert not any(task.done() for task in waiting)
        numbers.answers.append(2)
        assert {answer.value for answer in await asyncio.gather(*waiting)} == {2}


async def test_a_subscription_that_asks_for_unchanged_answers_gets_them(wait_for):
    subscription = await wait_for(Numbers([1]))
    async with asyncio.timeout(PATIENCE):
        first = await subscription.after(None)
        second = await subscription.after(first, unchanged_too=True)
    assert (first.value, second.value) == (1, 1)
    assert second.asked_at > first.asked_at


async def test_a_new_subscription_ignores_an_answer_requested_before_it(wait_for):
    numbers = Numbers([1])
    first = await (await wait_for(numbers)).after(None)
    later = await wait_for(numbers)
    async with asyncio.timeout(PATIENCE):
        assert (await later.after(None)).asked_at > first.asked_at


async def test_a_subscription_with_a_short_pause_waits_for_no_slower_one(wait_for):
    numbers = Numbers([1])
    await (await wait_for(numbers, NEVER)).after(None)
    async with asyncio.timeout(PATIENCE):
        await (await wait_for(numbers, SOON)).after(None)
        await checked_more_often(numbers)


@pytest.mark.parametrize("error", [StreamNotFoundError("it is gone"), ZeroDivisionError("a mistake of ours")])
async def test_an_error_that_ends_a_poller_wakes_all_subscriptions(wait_for, error):
    numbers = Numbers([1])
    subscriptions = [await wait_for(numbers) for _ in range(20)]
    async with asyncio.timeout(PATIENCE):
        first = await subscriptions[0].after(None)
        waiting = [asyncio.create_task(each.after(first)) for each in subscriptions[:10]]
        waiting += [asyncio.create_task(each.after(first, unchanged_too=True)) for each in subscriptions[10:]]
        numbers.answers.append(error)
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        while any(isinstance(end, type(first)) for end in ends):  # they got one more answer before it
            again = [each.after(first) for each in subscriptions]
            ends = await asyncio.gather(*again, return_exceptions=True)
        assert all(end is error for end in ends)
        with pytest.raises(type(error)):
            await subscriptions[0].after(first)  # also for a subscription that was busy then
        numbers.answers[:] = [7]
        assert (await (await wait_for(numbers)).after(None)).value == 7  # a later subscription starts a new poller


async def test_a_poller_that_is_cancelled_wakes_all_subscriptions(wait_for):
    numbers = Numbers([1])
    subscription = await wait_for(numbers)
    async with asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(subscription.after(await subscription.after(None)))
        await asyncio.sleep(0)
        [poller] = _pollers[asyncio.get_running_loop()].values()
        poller._task.cancel()
        with pytest.raises(RuntimeError, match="scope/numbers was cancelled"):
            await waiting


async def test_a_poller_ends_with_its_last_subscription(pravega_config):
    numbers = Numbers([1])
    log = structlog.get_logger()
    async with subscribe(pravega_config, numbers, SOON, log) as first:
        async with subscribe(pravega_config, numbers, SOON, log) as second:
            await second.after(None)
        seen = await first.after(None)
        async with asyncio.timeout(PATIENCE):
            await first.after(seen, unchanged_too=True)
    count = numbers.asked
    assert not _pollers.get(asyncio.get_running_loop())
    assert not shared_client._shared.get(asyncio.get_running_loop())
    await asyncio.sleep(3 * SOON)
    assert numbers.asked == count


async def test_the_tail_is_found_whatever_happens_to_the_stream(pravega_config, scope):
    name = StreamName(scope, "stream")
    async with PravegaClient(pravega_config) as client:
        await client.create_stream(f"{scope}/stream")
        watch = TailWatch(name)

        async def same() -> bool:
            seen = await watch.check(client)
            return (seen.cut, seen.is_sealed) == (
                await client.tail(f"{scope}/stream"),
                await client.is_sealed(f"{scope}/stream"),
            )

        async def write() -> None:
            async with client.writer(f"{scope}/stream") as writer:
                await writer.write(b"event")

        for step in (
            write,
            write,
            lambda: client.scale_stream(f"{scope}/stream", 3),
            write,
            lambda: client.seal_stream(f"{scope}/stream"),
            lambda: client.delete_stream(f"{scope}/stream"),
            lambda: client.create_stream(f"{scope}/stream"),
            write,
            lambda: client.delete_stream(f"{scope}/stream"),
        ):
            await step()
            if await client.stream_exists(f"{scope}/stream"):
                assert await same()
                assert await same()
        with pytest.raises(StreamNotFoundError):
            await watch.check(client)


async def test_tails_of_one_stream_are_one_value():
    assert TailOf(StreamName("a", "b")) == TailOf(StreamName("a", "b")) != TailOf(StreamName("a", "c"))
