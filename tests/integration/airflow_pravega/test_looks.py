"""Loops that check one stream for all who wait for it: who wakes when, and what becomes of them when a loop ends."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
import structlog

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import StreamNotFoundError
from aiopravega.intervals.conditions.tails import TailWatch
from airflow_pravega import clients
from airflow_pravega.looks import TailOf, shared_look
from airflow_pravega.looks.shared import _loops

SOON = 0.05
NEVER = 3600.0
PATIENCE = 300


@dataclass(eq=False)
class Numbers:
    """A question whose answers are given in turn, the last one again and again; an error ends it."""

    answers: list[int | BaseException]
    asked: int = 0
    stream: StreamName = field(default_factory=lambda: StreamName("scope", "numbers"))

    def begin(self):
        return self

    async def check(self, client) -> int:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
async def wait_for(pravega_config):
    """Joins those who wait for a question, until the test ends."""
    async with AsyncExitStack() as stack:

        async def wait_for(question, longest=SOON):
            return await stack.enter_async_context(
                shared_look(pravega_config, question, longest, structlog.get_logger())
            )

        yield wait_for
    assert not _loops.get(asyncio.get_running_loop())
    assert not clients._shared.get(asyncio.get_running_loop())


async def asked_more_often(question: Numbers, times: int = 3) -> None:
    enough = question.asked + times
    async with asyncio.timeout(PATIENCE):
        while question.asked < enough:  # noqa: ASYNC110 - a count
            await asyncio.sleep(SOON)


async def test_all_who_wait_are_given_the_same_answers(wait_for):
    question = Numbers([1])
    looks = [await wait_for(question) for _ in range(100)]
    async with asyncio.timeout(PATIENCE):
        first = await asyncio.gather(*(look.after(None) for look in looks))
        assert len(set(map(id, first))) == 1
        waiting = [asyncio.create_task(look.after(first[0])) for look in looks]
        await asked_more_often(question)
        assert not any(task.done() for task in waiting)
        question.answers.append(2)
        assert {seen.answer for seen in await asyncio.gather(*waiting)} == {2}


async def test_one_that_asks_for_it_gets_unchanged_answers_too(wait_for):
    look = await wait_for(Numbers([1]))
    async with asyncio.timeout(PATIENCE):
        first = await look.after(None)
        second = await look.after(first, unchanged_too=True)
    assert (first.answer, second.answer) == (1, 1)
    assert second.at > first.at


async def test_an_answer_from_before_is_none_for_one_that_comes_later(wait_for):
    question = Numbers([1])
    first = await (await wait_for(question)).after(None)
    later = await wait_for(question)
    async with asyncio.timeout(PATIENCE):
        assert (await later.after(None)).at > first.at


async def test_one_that_is_promised_more_is_not_made_to_wait_by_the_patient(wait_for):
    question = Numbers([1])
    await (await wait_for(question, NEVER)).after(None)
    async with asyncio.timeout(PATIENCE):
        await (await wait_for(question, SOON)).after(None)
        await asked_more_often(question)


@pytest.mark.parametrize("error", [StreamNotFoundError("it is gone"), ZeroDivisionError("a mistake of ours")])
async def test_an_error_that_ends_a_loop_wakes_all_who_wait(wait_for, error):
    question = Numbers([1])
    looks = [await wait_for(question) for _ in range(20)]
    async with asyncio.timeout(PATIENCE):
        first = await looks[0].after(None)
        waiting = [asyncio.create_task(look.after(first)) for look in looks[:10]]
        waiting += [asyncio.create_task(look.after(first, unchanged_too=True)) for look in looks[10:]]
        question.answers.append(error)
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        while any(isinstance(end, type(first)) for end in ends):  # they got one more answer before it
            again = [look.after(first) for look in looks]
            ends = await asyncio.gather(*again, return_exceptions=True)
        assert all(end is error for end in ends)
        with pytest.raises(type(error)):
            await looks[0].after(first)  # nor does one wait that was busy then
        question.answers[:] = [7]
        assert (await (await wait_for(question)).after(None)).answer == 7  # who comes later starts a new one


async def test_a_loop_that_is_cancelled_wakes_all_who_wait(wait_for):
    question = Numbers([1])
    look = await wait_for(question)
    async with asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(look.after(await look.after(None)))
        await asyncio.sleep(0)
        [loop] = _loops[asyncio.get_running_loop()].values()
        loop._task.cancel()
        with pytest.raises(RuntimeError, match="scope/numbers was cancelled"):
            await waiting


async def test_the_loop_ends_with_the_last_one_who_waits(pravega_config):
    question = Numbers([1])
    log = structlog.get_logger()
    async with shared_look(pravega_config, question, SOON, log) as first:
        async with shared_look(pravega_config, question, SOON, log) as second:
            await second.after(None)
        seen = await first.after(None)
        async with asyncio.timeout(PATIENCE):
            await first.after(seen, unchanged_too=True)
    count = question.asked
    assert not _loops.get(asyncio.get_running_loop())
    assert not clients._shared.get(asyncio.get_running_loop())
    await asyncio.sleep(3 * SOON)
    assert question.asked == count


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


async def test_tails_of_one_stream_are_one_question():
    assert TailOf(StreamName("a", "b")) == TailOf(StreamName("a", "b")) != TailOf(StreamName("a", "c"))
