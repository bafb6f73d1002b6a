"""Retries: what can pass is tried again until the time is up, everything else at once raised."""

import asyncio
import logging

import pytest

from aiopravega.errors import ConfigurationError, PravegaConnectionError
from aiopravega.loop import LoopThread
from aiopravega.retry import Retries, RetryPolicy, known_outage, retrying

IMPATIENT = RetryPolicy(initial=0.001, longest=0.002, total=0.05)


async def test_a_failure_that_passes_is_forgotten():
    answers = iter([PravegaConnectionError("away"), PravegaConnectionError("away"), "here"])

    async def attempt():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await retrying(attempt, IMPATIENT, "a call") == "here"


async def test_a_failure_that_does_not_pass_is_raised_when_the_time_is_up():
    async def attempt():
        raise PravegaConnectionError("still away")

    with pytest.raises(PravegaConnectionError, match="still away"):
        await retrying(attempt, IMPATIENT, "a call")


async def test_a_failure_that_cannot_pass_is_raised_at_once():
    calls = []

    async def attempt():
        calls.append(1)
        raise ConfigurationError("always wrong")

    with pytest.raises(ConfigurationError):
        await retrying(attempt, IMPATIENT, "a call")
    assert len(calls) == 1


async def test_time_that_went_well_is_not_counted():
    retries = Retries(IMPATIENT, "a call")
    for _ in range(2):
        await asyncio.sleep(2 * IMPATIENT.total)
        retries.pause_after(PravegaConnectionError("lost after a long time"))
        retries.progressed()


def test_pauses_grow_but_not_beyond_the_longest():
    policy = RetryPolicy(initial=1.0, factor=2.0, longest=10.0, total=60.0)

    for attempt, largest in enumerate([1.0, 2.0, 4.0, 8.0, 10.0, 10.0]):
        assert largest / 2 <= policy.pause(attempt) <= largest
    assert policy.pause(10_000) <= 10.0


def test_an_outage_that_the_caller_has_reported_is_not_reported_again(caplog):
    async def attempt():
        raise PravegaConnectionError("still away")

    def call() -> int:
        """Call as a blocking caller does, in another thread; returns how many lines an INFO log gets."""
        caplog.clear()
        with pytest.raises(PravegaConnectionError):
            LoopThread.shared().run(retrying(attempt, IMPATIENT, "a call"))
        return sum(record.levelno >= logging.INFO for record in caplog.records)

    caplog.set_level(logging.DEBUG, "aiopravega")
    assert call() == 1
    with known_outage():
        assert call() == 0
        assert "a call failed, trying again" in caplog.text
    assert call() == 1
