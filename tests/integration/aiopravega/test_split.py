"""Ranges of real streams in parts: together they are the range, and each routing key keeps its order."""

import json
from itertools import chain, pairwise

import pytest

from aiopravega import UNBOUNDED, PravegaClient, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.read.split import Splitter

KEYS = [f"key-{number}" for number in range(20)]
MIB = 1024 * 1024
EVERYTHING = StreamCutRange(UNBOUNDED, UNBOUNDED)


def event(number: int, size: int = 100) -> bytes:
    text = json.dumps({"number": number, "key": KEYS[number % len(KEYS)]})
    return text[:-1].encode().ljust(size - 1) + b"}"


def number_of(data: bytes) -> int:
    found: int = json.loads(data)["number"]
    return found


async def write(client: PravegaClient, stream: StreamName, first: int, last: int, size: int = 100) -> None:
    async with client.writer(stream) as writer:
        numbers = range(first, last)
        await writer.write_many([event(number, size) for number in numbers], [KEYS[n % len(KEYS)] for n in numbers])


async def contents(client: PravegaClient, parts: list[StreamCutRange]) -> list[list[int]]:
    return [[number_of(found.data) async for found in client.read(part)] for part in parts]


def joined(parts: list[list[int]]) -> list[int]:
    return list(chain.from_iterable(parts))


def assert_in_order_by_key(found: list[int]) -> None:
    for key in range(len(KEYS)):
        mine = [number for number in found if number % len(KEYS) == key]
        assert mine == sorted(mine)


@pytest.mark.parametrize("segments", [1, 3])
async def test_parts_follow_one_another_and_are_of_about_equal_size(client, make_stream, segments):
    stream = await make_stream(segments)
    await write(client, stream, 0, 2000)

    parts = await client.split(EVERYTHING, parts=8, stream=stream)

    assert len(parts) == 8
    assert (parts[0].start, parts[-1].end) == (
        await client.head(stream),
        await client.tail(stream),
    )
    assert all(before.end == after.start for before, after in pairwise(parts))
    found = await contents(client, parts)
    assert sorted(joined(found)) == list(range(2000))
    assert all(len(part) == pytest.approx(250, abs=2 * segments) for part in found)
    assert_in_order_by_key(joined(found))


async def test_parts_keep_the_order_of_keys_across_scalings(client, make_stream):
    stream = await make_stream(1)
    for turn, segments in enumerate((4, 2, 3, 1)):
        await write(client, stream, turn * 500, turn * 500 + 500)
        await client.scale_stream(stream, segments)
    await write(client, stream, 2000, 2200)

    for count in (2, 3, 7, 40):
        parts = await client.split(EVERYTHING, parts=count, stream=stream)
        found = await contents(client, parts)
        assert len(parts) == count
        assert sorted(joined(found)) == list(range(2200))
        assert_in_order_by_key(joined(found))
        assert max(map(len, found)) < 2200 / count + 50


async def test_a_part_of_a_part_can_be_split_again(client, make_stream):
    stream = await make_stream(2)
    await write(client, stream, 0, 500)
    await client.scale_stream(stream, 3)
    await write(client, stream, 500, 1000)

    halves = await client.split(EVERYTHING, parts=2, stream=stream)
    quarters = [quarter for half in halves for quarter in await client.split(half, parts=2)]

    assert len(quarters) == 4
    assert sorted(joined(await contents(client, quarters))) == list(range(1000))


async def test_a_small_range_has_fewer_parts(client, make_stream):
    stream = await make_stream(2)
    assert len(await client.split(EVERYTHING, parts=5, stream=stream)) == 1
    await write(client, stream, 0, 1)

    parts = await client.split(EVERYTHING, parts=5, stream=stream)

    assert len(parts) == 1
    assert await contents(client, parts) == [[0]]


async def test_a_range_has_at_least_one_part(client, make_stream):
    with pytest.raises(ConfigurationError, match="0 parts"):
        await client.split(EVERYTHING, parts=0, stream=await make_stream(1))


async def test_places_far_inside_a_segment_are_found_by_windows(client, make_stream):
    stream = await make_stream(1)
    frames = b"".join(len(data).to_bytes(8, "big") + data for data in map(event, range(70_000)))[: 7 * MIB]
    count = 0
    async with client.writer(stream) as writer:
        for _ in range(4):  # ordinary events, and large ones made to fool a search
            await writer.write_many([event(number, 1000) for number in range(8000)], ["key"] * 8000)
            await writer.write_many([frames] * 2, ["key"] * 2)
            count += 8002

    [segment] = await client.plan(EVERYTHING, stream)
    pieces = await client.split_segments({segment: 5})

    assert [piece.start for piece in pieces] + [segment.end] == [segment.start] + [piece.end for piece in pieces]
    assert len(pieces) == 5
    starts = {found.offset async for found in client.read(EVERYTHING, stream)}
    assert len(starts) == count
    assert {piece.start for piece in pieces} <= starts


async def test_where_windows_leave_a_doubt_the_events_are_followed(client, make_stream, caplog):
    stream = await make_stream(1)
    async with client.writer(stream) as writer:
        await writer.write_many([bytes(8 * MIB)] * 9, ["key"] * 9)
    [segment] = await client.plan(EVERYTHING, stream)
    frame = 8 * MIB + 8

    pieces = await client.split_segments({segment: 3})

    assert [(piece.start, piece.end) for piece in pieces] == [
        (0, 3 * frame),
        (3 * frame, 6 * frame),
        (6 * frame, 9 * frame),
    ]
    # Transactions that other tests have left may have lines of their own.
    assert not [record for record in caplog.records if record.name.startswith("aiopravega.read")]


async def test_a_segment_without_a_certain_event_start_is_not_split(client, make_stream, caplog):
    stream = await make_stream(1)
    async with client.writer(stream) as writer:
        await writer.write_many([bytes(1000)] * 70_000, ["key"] * 70_000)
    [segment] = await client.plan(EVERYTHING, stream)

    assert await Splitter(client.store, patience=20 * MIB).split({segment: 2}) == [segment]
    assert "so the segment is not split there" in caplog.text
