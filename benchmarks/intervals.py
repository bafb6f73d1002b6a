"""How long it takes to plan a backfill of which very many intervals are recorded.

    python -m benchmarks.intervals

Half of the intervals are done. The plan is that of `pravega backfill plan`: all records are read and put in order, and
the events of what waits are estimated.
"""

import asyncio
import time
import uuid
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.intervals import plan_times
from aiopravega.ledger import Interval
from benchmarks.alone import measured

_EVENTS_EACH: Final = 10
_EVENT: Final = b"x" * 100
_AT_ONCE: Final = 50
_ROUNDS: Final = 7
_CONSUMER: Final = "bench"


async def measure(controller_uri: str, count: int) -> list[float]:
    """Record `count` intervals, and plan all; returns seconds of each round."""
    stream = StreamName(f"bench-{uuid.uuid4().hex}", "intervals")
    async with PravegaClient(PravegaConfig(controller_uri=controller_uri)) as client:
        await client.create_scope(stream.scope)
        await client.create_stream(stream)
        async with client.writer(stream) as writer:
            await writer.write_many([_EVENT] * count * _EVENTS_EACH, ["key"] * count * _EVENTS_EACH)
        tail = await client.tail(stream)
        ((segment, end),) = tail.positions.items()
        step = end // count
        days = [datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in range(count + 1)]
        ledger = client.cut_ledger(stream.scope)
        await ledger.create()
        gate = asyncio.Semaphore(_AT_ONCE)

        async def record(number: int) -> None:
            since, until = days[number], days[number + 1]
            interval = Interval(_CONSUMER, stream, f"{since.isoformat()}/{until.isoformat()}")
            cuts = [StreamCut(stream, {segment: index * step}) for index in (number, number + 1)]
            async with gate:
                await ledger.claim(interval, StreamCutRange(*cuts), number=number, times=(since, until))
                if number < count // 2:
                    await ledger.finish(interval)

        await asyncio.gather(*(record(number) for number in range(count)))
        found = []
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            plan = await plan_times(client, stream, _CONSUMER, days)
            found.append(time.perf_counter() - began)
            assert len(plan.intervals) == count
            assert len(plan.waiting) == count - count // 2
        return found


def main() -> None:
    """Measure, and print."""
    count, times = measured(__doc__, "intervals", 10_000, measure)
    print(f"{count} intervals: median {median(times):.2f} s, longest {max(times):.2f} s")


if __name__ == "__main__":
    main()
