"""The bounds of a range's event times, from marks that a real controller writes, and a search in many marks."""

import asyncio
import struct

import pytest

from aiopravega import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.event_time import TimeBounds
from aiopravega.event_time.log import MarkLog

FIRST, SECOND = 1_700_000_000_000, 1_700_000_060_000


async def write(client, stream, count):
    async with client.writer(stream) as writer:
        for number in range(count):
            await writer.write(b"event-%d" % number, routing_key=str(number))
    return await client.tail(stream)


async def marks_of(client, stream):
    log = await MarkLog.open(client.controller, client.store, stream)
    assert log is not None
    found = []

    def keep(mark) -> bool:
        found.append(mark)
        return True

    await log.search(keep)
    return found


async def test_a_range_has_the_bounds_of_the_marks_around_it(client, make_stream, eventually):
    stream = await make_stream(2)
    cuts = []
    for number, time in enumerate((FIRST, SECOND)):
        cuts.append(await write(client, stream, 20))

        async def marked(time=time, cut=cuts[-1], number=number) -> bool:
            # The writer is dropped if it notes no time for a while, and is new then.
            await client.controller.note_time(stream, f"writer-{number}", time, cut.positions)
            return time in [mark.lower for mark in await marks_of(client, stream)]

        await eventually(marked)
    last = await write(client, stream, 20)

    async def bounds(start: StreamCut, end: StreamCut) -> TimeBounds:
        found: TimeBounds = await client.time_bounds(StreamCutRange(start, end))
        return found

    assert await bounds(UNBOUNDED, cuts[0]) == TimeBounds(None, FIRST)
    assert await bounds(cuts[0], cuts[1]) == TimeBounds(FIRST, SECOND)
    assert await bounds(cuts[1], last) == TimeBounds(SECOND, None)


async def test_a_stream_without_marks_has_no_bounds(client, make_stream):
    stream = await make_stream(1)
    cut = await write(client, stream, 5)

    assert await client.time_bounds(StreamCutRange(UNBOUNDED, cut)) == TimeBounds(None, None)


def mark(number: int, segments: int) -> bytes:
    """A mark as the controller writes them, of time and positions `number`."""
    count = bytes([segments]) if segments < 128 else (0x8000 | segments).to_bytes(2)
    entries = b"".join(struct.pack(">4siqddq", b"\0\0\1\0", 24, at, 0.0, 1.0, number) for at in range(segments))
    body = struct.pack(">qq", number, number + 1) + count + entries
    return b"\0\0\1\0" + len(body).to_bytes(4) + body


@pytest.mark.parametrize(("marks", "segments"), [(0, 1), (1, 1), (5_000, 1), (20_000, 2), (300, 600)])
async def test_any_mark_among_many_is_found(client, make_stream, marks, segments):
    stream = await make_stream(1)
    async with client.writer(stream) as writer:
        await writer.write_many((mark(number, segments) for number in range(marks)), ["key"] * marks)
    ((segment, end),) = (await client.tail(stream)).positions.items()
    log = MarkLog(client.store, stream, segment, 0, end)

    async def around(limit: int) -> tuple[int | None, int | None]:
        last, following = await log.search(lambda found: found.lower < limit)
        return (last.lower if last else None, following.lower if following else None)

    # 32 is the offset for which an entry looks like the beginning of a mark.
    for limit in {0, 1, 32, 33, marks // 3, marks - 1, marks, marks + 1}:
        if limit >= 0:
            expected = min(limit, marks)
            assert await around(limit) == (
                expected - 1 if expected > 0 else None,
                expected if expected < marks else None,
            )
    await asyncio.gather(*(around(limit) for limit in range(0, marks, 997)))
