"""The time to describe a reader group of many readers and segments, with a new client and again.

python -m benchmarks.groups
"""

import argparse
import asyncio
import os
import time
from statistics import median
from typing import Final

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamName
from aiopravega.groups import output
from aiopravega.groups.changes import changes_event
from aiopravega.groups.log import GroupLog
from pravega_emulator import PravegaEmulator

_SCOPE: Final = "groups"
_GROUP: Final = "wide"
# The kinds of Java's records by which a reader comes, and takes a segment.
_ADD_READER: Final = 2
_ACQUIRE_SEGMENT: Final = 5


async def fill(client: PravegaClient, stream: StreamName, group: str, readers: int) -> None:
    """Make a group of a stream, and write what its readers write when they come and take its segments."""
    await client.create_reader_group(stream.scope, group, [stream])
    names = [output.text(f"reader-{number}") for number in range(readers)]
    records = [output.record(name, kind=_ADD_READER) for name in names]
    for number, segment in enumerate((await client.head(stream)).positions):
        records.append(output.record(names[number % readers] + output.segment(segment), kind=_ACQUIRE_SEGMENT))
    log = await GroupLog.open(client.controller, client.store, stream.scope, group)
    if not await log.append(changes_event(records)):
        raise RuntimeError("somebody else writes the state of the group")


async def _measure(config: PravegaConfig, segments: int, readers: int, rounds: int) -> dict[str, list[float]]:
    stream = StreamName(_SCOPE, "stream")
    async with PravegaClient(config) as client:
        await client.create_scope(_SCOPE)
        await client.create_stream(stream, ScalingPolicy.fixed(segments))
        await fill(client, stream, _GROUP, readers)
    seconds: dict[str, list[float]] = {"a new client": [], "again": []}
    for _ in range(rounds):
        async with PravegaClient(config) as client:
            for measured in seconds.values():
                start = time.perf_counter()
                described = await client.describe_reader_group(_SCOPE, _GROUP)
                measured.append(time.perf_counter() - start)
                assert sum(map(len, described.readers.values())) == segments
    return seconds


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--readers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with PravegaEmulator() as emulator:
        config = PravegaConfig(controller_uri=emulator.controller_uri)
        before = os.getloadavg()[0]
        seconds = asyncio.run(_measure(config, given.segments, given.readers, given.rounds))
    print(f"| {given.readers} readers, {given.segments} segments; load {before:.1f} | median s | least s |")
    print("|---|---:|---:|")
    for way, each in seconds.items():
        print(f"| {way} | {median(each):.2f} | {min(each):.2f} |")


if __name__ == "__main__":
    main()
