"""Events over 8 MiB: we read, split and fetch what the Java client writes, and it reads what we write."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.integration.aiopravega.large_events import KEY, LARGE, MIB, digests, mixed, numbers
from tests.java.peer import JavaClient

from aiopravega import UNBOUNDED, EventPointer, PravegaClient, StreamCutRange
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.errors import EventTooLargeError, StreamSealedError
from aiopravega.read.bulk import BulkReader
from aiopravega.wire import EVENT_HEADER, MAX_EVENT, scan_frames
from aiopravega.write.large_event import LargeEvent

# Two Java clients that write large events at the same time can wait forever for the small server of the tests.
pytestmark = pytest.mark.slow

EVERYTHING = StreamCutRange(UNBOUNDED, UNBOUNDED)


@pytest.fixture(scope="module")
def java(pravega_config, tmp_path_factory) -> Iterator[JavaClient]:
    with JavaClient(pravega_config.controller_uri, tmp_path_factory.mktemp("java")) as peer:
        yield peer


@pytest.fixture
def write_by_java(java, client):
    """Writes all under one key: the large ones by Java, runs of small ones by us."""

    async def write(stream, events):
        small: list[bytes] = []

        async def flush():
            if small:
                async with client.writer(stream) as writer:
                    await writer.write_many(small, [KEY] * len(small))
                small.clear()

        for event in events:
            if len(event) <= MAX_EVENT:
                small.append(event)
                continue
            await flush()
            await asyncio.to_thread(java.write, stream, [(KEY, event)], large=True)
        await flush()

    return write


async def test_large_events_of_java_are_read(java, make_stream, read_all):
    stream = await make_stream()
    events = [b"before", *LARGE.values(), b"", b"x" * MAX_EVENT, b"x" * (MAX_EVENT + 1), b"after"]

    await asyncio.to_thread(java.write, stream, [(KEY, event) for event in events], large=True)

    found = await read_all(stream)
    assert digests(event.data for event in found) == digests(events)
    assert await asyncio.to_thread(java.read, stream) == digests(events)


async def test_events_that_java_writes_together_beyond_8_mib_are_read(java, make_stream, read_all):
    stream = await make_stream()
    events = [b"small", b"a" * 5_000_000, b"b" * 5_000_000, b"", b"c" * 9_000_000]

    await asyncio.to_thread(java.write, stream, [(KEY, event) for event in events], large=True, how="write_together")

    assert digests(event.data for event in await read_all(stream)) == digests(events)


async def test_the_blocking_client_reads_them_event_by_event_and_in_blocks(java, make_stream, pravega_config):
    stream = await make_stream()
    events = [b"before", *LARGE.values(), b"after"]
    await asyncio.to_thread(java.write, stream, [(KEY, event) for event in events], large=True)

    def read():
        with BlockingClient(pravega_config) as client:
            single = [event.data for event in client.read(EVERYTHING, stream)]
            reader = BulkReader(client.locate, pravega_config)
            [segment] = client.plan(EVERYTHING, stream)
            blocks = list(reader.read(segment, scan=scan_frames))
            reader.close()
        ends = [[*block.frames[1:], len(block.data)] for block in blocks]
        in_blocks = [
            bytes(block.data[start + EVENT_HEADER : end])
            for block, stops in zip(blocks, ends, strict=True)
            for start, end in zip(block.frames, stops, strict=True)
        ]
        return single, in_blocks

    single, in_blocks = await asyncio.to_thread(read)
    assert digests(single) == digests(events)
    assert digests(in_blocks) == digests(events)


async def test_a_large_event_is_fetched_by_its_pointer_by_us_and_by_java(java, client, make_stream, read_all):
    stream = await make_stream()
    await asyncio.to_thread(java.write, stream, [(KEY, b"before"), (KEY, LARGE["text"])], large=True)
    _, event = await read_all(stream)
    pointer = EventPointer.of(event)

    assert (await client.fetch(pointer.to_text())).data == LARGE["text"]
    answer = await asyncio.to_thread(java.ask, "fetch", pointer=pointer.to_text())
    assert [(answer["size"], answer["sha256"])] == digests([LARGE["text"]])


async def test_an_event_beyond_the_limit_is_refused_with_its_offset_and_size(java, make_stream, pravega_config):
    stream = await make_stream()
    await asyncio.to_thread(java.write, stream, [(KEY, b"before"), (KEY, LARGE["text"])], large=True)
    limited = pravega_config.model_copy(update={"max_event_bytes": 40_000_000})
    message = r"0\.#epoch\.0: the event at offset 14 has 40,000,001 bytes, .*max_event_bytes=40,000,000"

    async with PravegaClient(limited) as client:
        with pytest.raises(EventTooLargeError, match=message) as refused:
            [event async for event in client.read(EVERYTHING, stream)]
        with pytest.raises(EventTooLargeError, match=message):
            await client.fetch(f"{stream}/0.#epoch.0:14-40000009")
    assert (refused.value.at, refused.value.size) == (14, 40_000_001)


@pytest.mark.parametrize("count", [2, 7, 40])
async def test_a_range_with_large_events_is_split_between_events(client, make_stream, write_by_java, count):
    stream = await make_stream()
    events = mixed()
    await write_by_java(stream, events)
    [segment] = await client.plan(EVERYTHING, stream)

    pieces = await client.split_segments({segment: count})

    assert [piece.start for piece in pieces] + [segment.end] == [segment.start] + [piece.end for piece in pieces]
    starts = {found.offset async for found in client.read(EVERYTHING, stream)}
    assert len(starts) == len(events)
    assert {piece.start for piece in pieces} <= starts
    assert len(pieces) > count // 2
    assert max(piece.size for piece in pieces) <= segment.size / count + max(map(len, LARGE.values())) + 2 * MIB


async def test_steps_through_large_events_end_between_events(client, make_stream, write_by_java):
    stream = await make_stream()
    events = [*numbers(0, 3000), LARGE["random"], *numbers(3000, 3000), LARGE["sparse"], LARGE["zeros"], b"end"]
    await write_by_java(stream, events)
    tail = await client.tail(stream)
    cut, found = await client.head(stream), []

    while cut != tail:
        following = await client.next_cut(cut, 5 * MIB)
        found += [event.data async for event in client.read(StreamCutRange(cut, following))]
        cut = following

    assert digests(found) == digests(events)


# --- what we write ------------------------------------------------------------------------------------------


async def test_java_reads_the_large_events_that_we_write(java, client, make_stream, read_all):
    stream = await make_stream()
    events: list[bytes] = [b"before", *LARGE.values(), b"", b"x" * MAX_EVENT, b"x" * (MAX_EVENT + 1), b"after"]

    async with client.writer(stream, large_events=True) as writer:
        for event in events:
            await writer.write(event, KEY)

    assert await asyncio.to_thread(java.read, stream) == digests(events)
    assert digests(event.data for event in await read_all(stream)) == digests(events)


@pytest.mark.parametrize("keys", [True, False])
async def test_many_events_are_written_with_the_large_ones_among_them(client, make_stream, read_all, keys):
    stream = await make_stream(3)
    events = [*numbers(0, 50), LARGE["random"], *numbers(50, 50), LARGE["text"], b""]

    async with client.writer(stream, large_events=True) as writer:
        await writer.write_many(events, [KEY] * len(events) if keys else None)

    found = [event.data for event in await read_all(stream)]
    assert sorted(digests(found)) == sorted(digests(events))
    assert not keys or digests(found) == digests(events)


async def test_the_blocking_writer_writes_them_in_their_order(java, make_stream, pravega_config):
    stream = await make_stream()
    events = [b"before", LARGE["random"], b"between", LARGE["text"], b"after"]

    def write():
        with BlockingClient(pravega_config) as client:
            with client.writer(stream, large_events=True) as writer:
                for event in events:
                    writer.write(event, KEY)
            with (
                client.writer(stream) as writer,
                pytest.raises(EventTooLargeError, match="large_events=True"),
            ):
                writer.write(LARGE["random"], KEY)

    await asyncio.to_thread(write)

    assert await asyncio.to_thread(java.read, stream) == digests(events)


async def test_a_large_event_is_written_to_where_a_scaling_has_put_its_key(client, make_stream, read_all):
    stream = await make_stream(1)
    async with client.writer(stream, large_events=True) as writer:
        await writer.write(b"before", KEY)
        await writer.flush()
        await client.scale_stream(stream, 2)
        await writer.write(LARGE["random"], KEY)
        await writer.write(b"after", KEY)

    found = await read_all(stream)
    assert digests(event.data for event in found) == digests([b"before", LARGE["random"], b"after"])
    assert [event.segment.epoch for event in found] == [0, 1, 1]


async def test_a_sealed_stream_takes_no_large_event(client, make_stream):
    stream = await make_stream()

    async def write_after_the_end():
        async with client.writer(stream, large_events=True) as writer:
            await client.seal_stream(stream)
            await writer.write(LARGE["random"], KEY)

    with pytest.raises(StreamSealedError, match="takes no more events"):
        await write_after_the_end()


async def test_transactions_refuse_large_events_as_java_does(java, client, make_stream, read_all):
    stream = await make_stream()
    event = LARGE["random"]

    with pytest.raises(RuntimeError, match="IllegalArgumentException"):
        await asyncio.to_thread(java.write, stream, [(KEY, event)], large=True, how="write_in_transaction")
    async with client.transaction(stream) as transaction:
        await transaction.write(b"small", KEY)
        with pytest.raises(EventTooLargeError, match=r"9,000,000 bytes.*transactions and Spark take none"):
            await transaction.write(event, KEY)

    assert [event.data for event in await read_all(stream)] == [b"small"]


async def test_an_event_whose_merge_is_asked_for_twice_is_in_the_stream_once(client, make_stream, read_all):
    """A writer that loses the answer to the merge asks again, with the same event."""
    stream = await make_stream()
    [segment] = (await client.head(stream)).positions
    event = LargeEvent(client.store, LARGE["random"])

    await event.write_to(segment)
    await event.write_to(segment)
    await LargeEvent(client.store, b"small, but of its own segment").write_to(segment)
    await client.seal_stream(stream)
    await event.write_to(segment)  # it is in, although the segment takes nothing now

    found = [event.data for event in await read_all(stream)]
    assert digests(found) == digests([LARGE["random"], b"small, but of its own segment"])
