"""How long it takes to find a time among very many watermarks.

    python -m benchmarks.watermarks

The marks are those of a stream with two segments, laid out as the controller writes them, in a stream of the
benchmark's own; the way from the question to the two marks around a time is that of `PravegaClient.cut_at`.
"""

import random
import struct
import time
import uuid
from statistics import median, quantiles
from typing import Final

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.event_time.log import MarkLog
from benchmarks.alone import measured

_SEGMENTS: Final = 2
_AT_ONCE: Final = 50_000
_QUESTIONS: Final = 100
_STEP: Final = 10_000  # milliseconds between two marks, by default
_MILLISECONDS: Final = 1000


def mark(number: int) -> bytes:
    """A mark whose lower time is `number` steps."""
    entries = b"".join(
        struct.pack(">4siqddq", b"\0\0\1\0", 24, segment, 0.0, 1.0, number) for segment in range(_SEGMENTS)
    )
    body = struct.pack(">qqB", number * _STEP, number * _STEP, _SEGMENTS) + entries
    return b"\0\0\1\0" + len(body).to_bytes(4) + body


async def measure(controller_uri: str, count: int) -> list[float]:
    """Write `count` marks, and search random times; returns milliseconds."""
    stream = StreamName(f"bench-{uuid.uuid4().hex}", "marks")
    async with PravegaClient(PravegaConfig(controller_uri=controller_uri)) as client:
        await client.create_scope(stream.scope)
        await client.create_stream(stream)
        async with client.writer(stream) as writer:
            for start in range(0, count, _AT_ONCE):
                numbers = range(start, min(start + _AT_ONCE, count))
                await writer.write_many(map(mark, numbers), ["marks"] * len(numbers))
        found = []
        for _ in range(_QUESTIONS):
            wanted = random.randrange(1, count * _STEP)
            began = time.perf_counter()
            ((segment, _),) = (await client.controller.head_segments(stream)).items()
            info = await client.store.info(segment)
            log = MarkLog(client.store, stream, segment, info.start_offset, info.write_offset)
            before, _ = await log.search(lambda each: each.lower < wanted)  # noqa: B023 - called before the loop continues
            found.append((time.perf_counter() - began) * _MILLISECONDS)
            assert before is not None
            assert 0 < wanted - before.lower <= _STEP
        return found


def main() -> None:
    """Measure, and print."""
    count, times = measured(__doc__, "marks", 1_000_000, measure)
    print(f"{count} marks: median {median(times):.1f} ms, 9 of 10 within {quantiles(times, n=10)[-1]:.1f} ms")


if __name__ == "__main__":
    main()
