"""Steps through real streams: they end between events, and the ranges between them have every event once."""

from collections import Counter

import pytest

from aiopravega import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidRangeError, StreamNotFoundError, StreamTruncatedError


async def fill(client, stream, count: int, name: str, size: int = 100) -> list[bytes]:
    events = [f"{name}-{number} ".encode().ljust(size, b".") for number in range(count)]
    async with client.writer(stream) as writer:
        for number, event in enumerate(events):
            await writer.write(event, routing_key=str(number % 50))
    return events


async def steps(client, start: StreamCut, max_bytes: int, end: StreamCut | None = None) -> list[StreamCutRange]:
    found = []
    while (following := await client.next_cut(start, max_bytes, end)) != start:
        found.append(StreamCutRange(start, following))
        start = following
    return found


async def contents(client, ranges: list[StreamCutRange]) -> Counter[bytes]:
    return Counter([event.data for each in ranges async for event in client.read(each)])


async def test_steps_cover_a_stream_that_was_scaled_and_sealed(client, make_stream):
    stream = await make_stream(1)
    head = await client.head(stream)
    written = await fill(client, stream, 300, "first")
    for segments in (3, 1, 4):
        await client.scale_stream(stream, segments)
        written += await fill(client, stream, 300, f"of-{segments}")
    await client.seal_stream(stream)

    found = await steps(client, head, 20_000)

    assert len(found) > 5
    sizes = [await client.distance(each.start, each.end) for each in found]
    assert max(sizes) <= 20_000
    assert await contents(client, found) == Counter(written)
    assert found[-1].end == await client.tail(stream)


async def test_a_step_far_into_a_segment_ends_between_events(client, make_stream):
    stream = await make_stream(1)
    head = await client.head(stream)
    written = await fill(client, stream, 40, "large", size=1_000_000)

    cut = await client.next_cut(head, 30_000_000)

    tail = await client.tail(stream)
    assert 28_000_000 < await client.distance(head, cut) <= 30_000_000
    assert await contents(client, [StreamCutRange(head, cut), StreamCutRange(cut, tail)]) == Counter(written)


async def test_a_long_event_is_a_step_of_its_own(client, make_stream):
    stream = await make_stream(1)
    head = await client.head(stream)
    written = await fill(client, stream, 3, "large", size=8 * 1024 * 1024)

    found = await steps(client, head, 1000)

    assert len(found) == 3
    assert await contents(client, found) == Counter(written)


async def test_steps_stop_at_the_end_that_is_asked_for(client, make_stream):
    stream = await make_stream(2)
    head = await client.head(stream)
    wanted = await fill(client, stream, 100, "wanted")
    end = await client.tail(stream)
    await client.scale_stream(stream, 3)
    await fill(client, stream, 100, "after")

    found = await steps(client, head, 3000, end)

    assert found[-1].end == end
    assert await contents(client, found) == Counter(wanted)


async def test_ends_before_the_start_are_refused(client, make_stream):
    stream = await make_stream(1)
    head = await client.head(stream)
    await fill(client, stream, 10, "event")
    middle = await client.tail(stream)
    await client.scale_stream(stream, 2)
    tail = await client.tail(stream)

    for start, end in ((middle, head), (tail, head), (tail, middle)):
        with pytest.raises(InvalidRangeError):
            await client.next_cut(start, 100, end)


async def test_what_cannot_be_stepped_through_is_refused(client, make_stream):
    stream = await make_stream(1)
    head = await client.head(stream)
    await fill(client, stream, 10, "event")
    await client.truncate_stream(await client.tail(stream))

    with pytest.raises(ConfigurationError, match="bounded"):
        await client.next_cut(StreamCut.unbounded(), 100)
    with pytest.raises(ConfigurationError, match="bytes"):
        await client.next_cut(head, 0)
    await fill(client, stream, 10, "event")
    with pytest.raises(StreamTruncatedError, match="Start from the head"):
        await client.next_cut(head, 100)
    await client.delete_stream(stream)
    with pytest.raises(StreamNotFoundError):
        await client.next_cut(head, 100)
