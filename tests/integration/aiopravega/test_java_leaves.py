"""What else the Java client leaves on a server is read by us, and what we leave by it: see docs/reference/java.md."""

import asyncio
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.aiopravega.large_events import digests
from tests.java.peer import JavaClient

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import MalformedEventError
from aiopravega.wire import MAX_EVENT

KEYS = [f"key-{number}" for number in range(10)]
SIZES = [b"", b"1", b"\0", bytes(8), b"x" * 1000, b"y" * (MAX_EVENT - 1), b"z" * MAX_EVENT]


@pytest.fixture(scope="module")
def java(pravega_config, tmp_path_factory) -> Iterator[JavaClient]:
    with JavaClient(pravega_config.controller_uri, tmp_path_factory.mktemp("java")) as peer:
        yield peer


def numbered(first: int, count: int) -> list[tuple[str, bytes]]:
    return [(KEYS[number % len(KEYS)], b"%d" % number) for number in range(first, first + count)]


async def java_writes(java: JavaClient, stream: StreamName, events: list[tuple[str, bytes]], **how: Any) -> None:
    await asyncio.to_thread(java.write, stream, events, **how)


async def java_reads(java: JavaClient, stream: StreamName, **cuts: str) -> list[tuple[int, str]]:
    return await asyncio.to_thread(java.read, stream, **cuts)


def assert_in_order_by_key(found: list[bytes], count: int) -> None:
    numbers = [int(data) for data in found]
    assert sorted(numbers) == list(range(count))
    for key in range(len(KEYS)):
        mine = [number for number in numbers if number % len(KEYS) == key]
        assert mine == sorted(mine)


async def test_events_of_all_sizes_of_java_are_read(java, make_stream, read_all):
    stream = await make_stream()

    await java_writes(java, stream, [("key", event) for event in SIZES])

    assert digests(event.data for event in await read_all(stream)) == digests(SIZES)


async def test_java_reads_our_events_of_all_sizes(java, client, make_stream):
    stream = await make_stream()

    async with client.writer(stream) as writer:
        await writer.write_many(SIZES, ["key"] * len(SIZES))

    assert await java_reads(java, stream) == digests(SIZES)


async def test_transactions_of_java_are_read_when_they_are_committed(java, make_stream, read_all, eventually):
    stream = await make_stream(2)

    await java_writes(java, stream, numbered(100, 5), how="leave_transaction", end="abort")
    await java_writes(java, stream, numbered(200, 5), how="leave_transaction", end="open")
    await java_writes(java, stream, numbered(0, 50), how="write_in_transaction")

    async def is_there() -> bool:
        return bool(await read_all(stream))

    await eventually(is_there)  # Java does not wait for its commit
    assert_in_order_by_key([event.data for event in await read_all(stream)], 50)


async def test_java_reads_our_transactions_when_they_are_committed(java, client, make_stream):
    stream = await make_stream(2)

    aborted, left_open = await client.open_transaction(stream), await client.open_transaction(stream)
    for transaction in (aborted, left_open):
        await transaction.write(b"never seen", "key")
        await transaction.flush()
    await aborted.abort()
    async with client.transaction(stream) as transaction:
        await transaction.write_many([data for _, data in numbered(0, 50)], [key for key, _ in numbered(0, 50)])

    assert sorted(await java_reads(java, stream)) == sorted(digests(data for _, data in numbered(0, 50)))
    await left_open.abort()


async def test_a_stream_that_scales_while_java_writes_keeps_the_order_of_keys(java, client, make_stream, read_all):
    stream = await make_stream(1)

    writing = asyncio.create_task(java_writes(java, stream, numbered(0, 600)))
    for segments in (3, 2, 4):
        await client.scale_stream(stream, segments)
    await writing

    assert_in_order_by_key([event.data for event in await read_all(stream)], 600)


async def test_java_reads_a_stream_that_scaled_while_we_wrote(java, client, make_stream):
    stream = await make_stream(1)

    async with client.writer(stream) as writer:
        for turn, segments in enumerate((3, 2, 4)):
            for key, data in numbered(turn * 100, 100):
                await writer.write(data, key)
            await client.scale_stream(stream, segments)

    assert sorted(await java_reads(java, stream)) == sorted(digests(data for _, data in numbered(0, 300)))


async def test_a_byte_stream_of_java_is_no_stream_of_events(java, make_stream, read_all, tmp_path):
    stream = await make_stream()
    (tmp_path / "bytes").write_bytes(b"plain bytes, and no events" * 10)

    await asyncio.to_thread(
        java.ask, "write_bytes", scope=stream.scope, stream=stream.stream, file=str(tmp_path / "bytes")
    )

    with pytest.raises(MalformedEventError, match="a program that is not an event writer wrote the stream"):
        await read_all(stream)


async def test_tags_are_seen_by_both(java, client, scope):
    await asyncio.to_thread(java.ask, "create_stream", scope=scope, stream="of-java", segments=1, tags=["red", "blue"])
    await client.create_stream(f"{scope}/ours", tags=["red"])

    assert {name.stream for name in await client.list_streams(scope, "red")} == {"of-java", "ours"}
    assert {name.stream for name in await client.list_streams(scope, "blue")} == {"of-java"}
    answer = await asyncio.to_thread(java.ask, "tagged", scope=scope, tag="red")
    assert set(answer["streams"]) == {"of-java", "ours"}


async def test_a_reader_group_of_java_is_a_subscriber(java, client, make_stream):
    stream = await make_stream()

    made = await asyncio.to_thread(java.ask, "create_group", scope=stream.scope, group="theirs", stream=stream.stream)
    await client.subscribe(stream, "ours")

    assert made["done"]
    assert await client.subscribers(stream) == [f"{stream.scope}/theirs", "ours"]


async def test_cuts_are_read_by_both(java, client, make_stream):
    stream = await make_stream(2)
    await java_writes(java, stream, numbered(0, 40))
    first = await client.tail(stream)
    await client.scale_stream(stream, 3)
    await java_writes(java, stream, numbered(40, 40))

    theirs = await asyncio.to_thread(java.ask, "cuts", scope=stream.scope, stream=stream.stream)
    head, tail = StreamCut.from_text(theirs["head"]), StreamCut.from_text(theirs["tail"])

    assert (head, tail) == (
        await client.head(stream),
        await client.tail(stream),
    )
    ours = [event.data async for event in client.read(StreamCutRange(first, tail))]
    assert sorted(ours) == sorted(data for _, data in numbered(40, 40))
    found = await java_reads(java, stream, start=first.to_text(), end=tail.to_text())
    assert sorted(found) == sorted((len(data), hashlib.sha256(data).hexdigest()) for data in ours)
