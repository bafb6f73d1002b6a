"""The time and the requests of Airflow's page of a scope with very many intervals, with a whole read beside it.

    python -m benchmarks.page

Each of 200 consumers has so many intervals, most of them done; every fourth stands at a failed one. A whole read is
what the page would need to show all: all records, and the lag of each consumer.
"""

import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Final

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamName
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.intervals.reports.lag import lag_after
from aiopravega.ledger import CUT_TABLE, CutRecord, Interval, IntervalState
from airflow_pravega.page.overview import Wanted, overview_of
from benchmarks.alone import measured

CONSUMERS: Final = 200
STREAMS: Final = 20
_FAILED: Final = 4  # of so many consumers one
_EVENTS: Final = 2_000
_EVENT: Final = b"x" * 92
_ROUNDS: Final = 3


async def fill(client: PravegaClient, scope: str, consumers: int, intervals: int, streams: int = STREAMS) -> None:
    """Make streams, and record intervals of consumers in them, each an hour after the one before."""
    await client.create_scope(scope)
    await client.cut_ledger(scope).create()
    names = [StreamName(scope, f"readings-{number:02}") for number in range(min(streams, consumers))]
    for name in names:
        await client.create_stream(name, ScalingPolicy.fixed(2))
        async with client.writer(name) as writer:
            await writer.write_many([_EVENT] * _EVENTS, [str(number) for number in range(_EVENTS)])
    table = client.table(scope, CUT_TABLE)
    for number in range(consumers):
        stream = names[number % len(names)]
        await table.replace_all(_records(f"totals_{number:03}/wait", await client.tail(stream), number, intervals))


def _records(consumer: str, tail: StreamCut, seed: int, intervals: int) -> dict[bytes, tuple[bytes, None]]:
    """The records of a chain that has read a share of its stream; the last interval is done, open or failed."""
    assert tail.stream is not None
    steps = intervals + seed % 10
    cuts = [
        StreamCut(tail.stream, {s: end // steps * n for s, end in tail.positions.items()}) for n in range(steps + 1)
    ]
    records = {}
    first = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=intervals + 1)
    for number in range(intervals):
        at = first + timedelta(hours=number, minutes=seed % 60)
        interval = Interval(consumer, tail.stream, at.isoformat())
        taken = CutRecord.new(
            interval, StreamCutRange(cuts[number], cuts[number + 1]), by=consumer, number=number + 1, follows=number > 0
        ).model_copy(update={"recorded_at": at})
        state, reason = IntervalState.DONE, None
        if number == intervals - 1 and seed % _FAILED == 0:
            state, reason = IntervalState.FAILED, "the table has another column"
        changed = taken.changed(state, consumer, reason).model_copy(update={"changed_at": at + timedelta(minutes=20)})
        records[interval.key] = (
            (taken if number == intervals - 1 and seed % _FAILED == 1 else changed).to_json(),
            None,
        )
        if number == intervals - 1:
            records[interval.last_key] = (taken.to_json(), None)
    return records


async def whole_read(client: PravegaClient, scope: str) -> int:
    """Read all records, and the lag of all consumers, one after another; returns the number of consumers."""
    consumers = await client.cut_ledger(scope).consumers()
    for (stream, _), records in consumers.items():
        await lag_after(client, stream, records)
    return len(consumers)


async def measure(controller_uri: str, intervals: int) -> list[float]:
    """Fill a scope, and open pages of it; returns seconds of each: a whole read, then a page, in turn."""
    async with PravegaClient(PravegaConfig(controller_uri=controller_uri)) as client:
        scope = f"bench-{uuid.uuid4().hex}"
        await fill(client, scope, CONSUMERS, intervals)
        found = []
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            assert await whole_read(client, scope) == CONSUMERS
            found.append(time.perf_counter() - began)
            began = time.perf_counter()
            page = await overview_of(client, scope, Wanted())
            found.append(time.perf_counter() - began)
            assert (page.found, page.intervals) == (CONSUMERS, CONSUMERS * intervals)
        return found


def main() -> None:
    """Measure, and print."""
    intervals, times = measured(__doc__, "intervals", 75, measure)
    print(f"{CONSUMERS} consumers with {intervals} intervals each, seconds")
    for name, seconds in (("whole read", times[::2]), ("page", times[1::2])):
        print(f"| {name} | {' | '.join(f'{each:.2f}' for each in seconds)} |")


if __name__ == "__main__":
    main()
