"""Shared code of benchmarks of one question: a number on the command line, and a server, started here or given."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable

from pravega_emulator import PravegaEmulator

Measure = Callable[[str, int], Awaitable[list[float]]]


def measured(description: str | None, option: str, default: int, measure: Measure) -> tuple[int, list[float]]:
    """Measure against the server of `--controller`, or a new one; returns the number that was given, and the times."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{option}", type=int, default=default, dest="number")
    parser.add_argument("--controller", metavar="URI", help="a server that runs already")
    given = parser.parse_args()

    async def run(controller_uri: str) -> list[float]:
        return await measure(controller_uri, given.number)

    if given.controller:
        return given.number, asyncio.run(run(given.controller))
    with PravegaEmulator(full_jit=True) as server:
        return given.number, asyncio.run(run(server.controller_uri))
