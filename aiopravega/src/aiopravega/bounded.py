"""Many calls at a time, but not too many."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def each(step: Callable[[T], Awaitable[R]], items: Sequence[T], at_once: int) -> list[R]:
    """Call `step` with every item, `at_once` at a time; a failure is raised after all other calls have ended."""
    gate = asyncio.Semaphore(at_once)

    async def one(item: T) -> R:
        async with gate:
            return await step(item)

    answers: list[R] = []
    for result in await asyncio.gather(*map(one, items), return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        answers.append(result)
    return answers
