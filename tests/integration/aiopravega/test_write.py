"""The event writer on the real server: every event once, keys in order, whatever happens to the segments."""

import asyncio
from collections import Counter, defaultdict

import pytest

from aiopravega import PravegaClient, wire
from aiopravega.errors import EventTooLargeError, PravegaError, StreamNotFoundError, StreamSealedError
from aiopravega.names import StreamName
from aiopravega.read import Event
from aiopravega.routing import SegmentMap, key_position
from aiopravega.write.batch import FramedBlock


def by_key(events: list[Event]) -> dict[str, list[int]]:
    """The numbers of events `key:number`, in the order of reading."""
    numbers = defaultdict(list)
    for event in events:
        key, number = event.data.decode().rsplit(":", 1)
        numbers[key].append(int(number))
    return dict(numbers)


async def test_events_land_in_the_segments_of_their_keys_and_in_order(client, make_stream, read_all):
    stream = await make_stream(4)
    async with client.writer(stream) as writer:
        for number in range(50):
            for key in range(20):
                await writer.write(f"{key}:{number}".encode(), routing_key=str(key))

    found = await read_all(stream)

    assert by_key(found) == {str(key): list(range(50)) for key in range(20)}
    segments = SegmentMap(await client.controller.current_segments(stream))
    assert all(
        event.segment == segments.segment_for(key_position(event.data.decode().split(":")[0])) for event in found
    )


async def test_events_without_keys_are_spread(client, make_stream, read_all):
    stream = await make_stream(2)
    async with client.writer(stream) as writer:
        await writer.write_many([b"x"] * 1000)

    found = Counter(str(event.segment) for event in await read_all(stream))

    assert sum(found.values()) == 1000
    assert min(found.values()) > 300


async def test_flushed_events_can_be_read_while_the_writer_continues(client, make_stream, read_all):
    stream = await make_stream()
    async with client.writer(stream) as writer:
        await writer.write(b"first")
        await writer.flush()
        assert [event.data for event in await read_all(stream)] == [b"first"]
        await writer.write(b"second")

    assert [event.data for event in await read_all(stream)] == [b"first", b"second"]


async def test_an_event_leaves_soon_without_a_flush(client, make_stream, read_all, eventually):
    stream = await make_stream()

    async def arrived() -> bool:
        return bool(await read_all(stream))

    async with client.writer(stream) as writer:
        await writer.write(b"alone")
        await eventually(arrived)


async def test_events_of_0_bytes_and_of_8_mib_are_written_as_they_are(client, make_stream, read_all):
    stream = await make_stream()
    events = [b"", b"small", b"x" * wire.MAX_EVENT, b"", bytes(range(256)), b"y" * wire.MAX_EVENT]
    async with client.writer(stream) as writer:
        await writer.write_many(events, ["key"] * len(events))

    assert [event.data for event in await read_all(stream)] == events


async def test_a_larger_event_is_refused_before_any_byte_is_sent(client, make_stream, read_all):
    stream = await make_stream()
    async with client.writer(stream) as writer:
        await writer.write(b"before", "key")
        with pytest.raises(EventTooLargeError, match="8,388,609 bytes"):
            await writer.write(b"x" * (wire.MAX_EVENT + 1), "key")
        await writer.write(b"after", "key")

    assert [event.data for event in await read_all(stream)] == [b"before", b"after"]


async def test_as_many_keys_as_events_are_needed(client, make_stream):
    stream = await make_stream()
    async with client.writer(stream) as writer:
        with pytest.raises(ValueError, match="shorter"):
            await writer.write_many([b"a", b"b"], ["key"])


async def test_64_segments_take_a_few_events(client, make_stream, read_all):
    stream = await make_stream(64)
    async with client.writer(stream) as writer:
        await writer.write_many([b"%d" % number for number in range(200)], [str(number) for number in range(200)])

    assert Counter(event.data for event in await read_all(stream)) == Counter(b"%d" % n for n in range(200))


async def write_while(client: PravegaClient, stream: StreamName, segments: list[int]) -> int:
    """Write rounds of events with ten keys while the stream is scaled; returns the number of rounds."""
    scaling = asyncio.create_task(scale(client, stream, segments))
    rounds = 0
    async with client.writer(stream) as writer:
        while not scaling.done() or rounds < 20:
            await writer.write_many([f"{key}:{rounds}".encode() for key in range(10)], [str(key) for key in range(10)])
            rounds += 1
            await asyncio.sleep(0.005)
    await scaling
    return rounds


async def scale(client: PravegaClient, stream: StreamName, segments: list[int]) -> None:
    for count in segments:
        await client.scale_stream(stream, count)


async def test_keys_keep_their_order_while_the_stream_scales_up_and_down(client, make_stream, read_all):
    stream = await make_stream(1)

    rounds = await write_while(client, stream, [4, 2, 5, 1])

    assert by_key(await read_all(stream)) == {str(key): list(range(rounds)) for key in range(10)}


def blocks_of(number: int, segments: SegmentMap) -> list[FramedBlock]:
    """A round of events with ten keys, in a block for each segment, and one event that any segment may have."""
    lanes = defaultdict(list)
    for key in map(str, range(10)):
        lanes[segments.index_for(key_position(key))].append(key)
    blocks = [
        FramedBlock(
            wire.frame_events([f"{key}:{number}".encode() for key in keys]), len(keys), list(map(key_position, keys))
        )
        for keys in lanes.values()
    ]
    return [*blocks, FramedBlock(wire.frame_events([f"any:{number}".encode()]), 1)]


async def test_blocks_keep_the_order_of_their_keys_while_the_stream_scales(client, make_stream, read_all):
    stream = await make_stream(1)
    scaling = asyncio.create_task(scale(client, stream, [4, 1, 3]))
    rounds = 0
    async with client.writer(stream) as writer:
        while not scaling.done() or rounds < 20:
            if rounds % 5 == 0:  # between, blocks may be grouped by segments that were replaced
                grouped_by = writer.segments
            await writer.write_blocks(blocks_of(rounds, grouped_by), grouped_by)
            rounds += 1
            await asyncio.sleep(0.005)
    await scaling

    found = by_key(await read_all(stream))
    assert sorted(found.pop("any")) == list(range(rounds))
    assert found == {str(key): list(range(rounds)) for key in range(10)}


async def test_two_writers_go_on_while_the_stream_scales(client, make_stream, read_all):
    stream = await make_stream(2)

    first, second = await asyncio.gather(write_while(client, stream, [3]), write_while(client, stream, []))

    found = by_key(await read_all(stream))
    assert {key: Counter(numbers) for key, numbers in found.items()} == {
        str(key): Counter(range(first)) + Counter(range(second)) for key in range(10)
    }


async def test_a_stream_that_is_sealed_meanwhile_says_so(client, make_stream, read_all):
    stream = await make_stream(2)

    async def write_past_the_end() -> None:
        async with client.writer(stream) as writer:
            await writer.write(b"before", "key")
            await writer.flush()
            await client.seal_stream(stream)
            await writer.write(b"after", "key")

    with pytest.raises(StreamSealedError, match=f"{stream} is sealed"):
        await write_past_the_end()
    assert [event.data for event in await read_all(stream)] == [b"before"]


async def test_a_sealed_stream_and_a_missing_one_are_refused_on_opening(client, scope, make_stream):
    stream = await make_stream()
    await client.seal_stream(stream)

    with pytest.raises(StreamSealedError):
        await client.writer(stream).__aenter__()
    with pytest.raises(StreamNotFoundError, match="missing"):
        await client.writer(f"{scope}/missing").__aenter__()


async def test_a_writer_is_used_with_async_with(client, make_stream):
    stream = await make_stream()

    with pytest.raises(PravegaError, match="async with"):
        await client.writer(stream).write(b"x")
