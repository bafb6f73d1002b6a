"""One event is fetched by its pointer, by us and by the Java client; a pointer to nothing is a clear error."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from tests.java.program import java_program

from aiopravega import EventPointer, SegmentId, StreamCut
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.errors import (
    ConfigurationError,
    MalformedEventError,
    SegmentNotFoundError,
    StreamNotFoundError,
    StreamTruncatedError,
)
from aiopravega.read import fetch_events


@pytest.fixture
async def stream(client, make_stream):
    name = await make_stream(2)
    async with client.writer(name) as writer:
        for number in range(50):
            await writer.write(b"" if number == 7 else b"event-%d" % number, routing_key=str(number))
    return name


@pytest.fixture
async def events(stream, read_all):
    found = await read_all(stream)
    assert len(found) == 50
    return found


async def test_every_event_is_fetched_by_its_pointer(client, events):
    for event in events:
        assert await client.fetch(EventPointer.of(event)) == event
        assert await client.fetch(EventPointer.of(event).to_text()) == event


async def test_many_events_are_fetched_in_the_order_of_their_pointers(client, make_stream, read_all):
    stream = await make_stream(2)
    sizes = [0, 1, 100_000, 2_000_000, 64 * 1024, 5] * 4  # far from each other, near, and longer than one request
    async with client.writer(stream) as writer:
        for number, size in enumerate(sizes):
            await writer.write(bytes([number]) * size, routing_key=str(number))
    events = await read_all(stream)
    wanted = [*reversed(events), events[3], events[0]]

    for some in (wanted, wanted[::5], []):
        assert await fetch_events(client.controller, client.store, [EventPointer.of(event) for event in some]) == some


async def test_one_wrong_pointer_of_many_is_named(client, events, stream):
    pointers = [EventPointer.of(event) for event in events]
    wrong = EventPointer(pointers[20].segment, pointers[20].offset + 1, pointers[20].length)

    with pytest.raises(MalformedEventError, match="points to no event") as raised:
        await fetch_events(client.controller, client.store, [*pointers, wrong])
    assert str(wrong) in str(raised.value)
    gone = EventPointer(SegmentId(stream, 99, 7), 0, 20)
    with pytest.raises(SegmentNotFoundError, match="has no segment"):
        await fetch_events(client.controller, client.store, [*pointers, gone])


async def test_the_largest_event_is_fetched(client, make_stream, read_all):
    stream = await make_stream(1)
    async with client.writer(stream) as writer:
        await writer.write(b"e" * 8 * 1024 * 1024, routing_key="key")
    (event,) = await read_all(stream)

    assert await client.fetch(EventPointer.of(event)) == event


async def test_the_blocking_client_fetches_too(pravega_config, events):
    def fetch():
        with BlockingClient(pravega_config) as client:
            return client.fetch(str(EventPointer.of(events[9])))

    assert await asyncio.to_thread(fetch) == events[9]


async def test_the_java_client_fetches_by_our_pointers(pravega_config, events, tmp_path):
    pointers = [EventPointer.of(event) for event in events[:3]]
    program = Path(__file__).with_name("FetchEvent.java")

    ended = await asyncio.to_thread(
        subprocess.run,
        java_program(program, pravega_config.controller_uri, *map(str, pointers)),
        cwd=tmp_path,  # one of the jars writes a log into it
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    expected = [
        text for event, pointer in zip(events, pointers, strict=False) for text in (event.data.decode(), str(pointer))
    ]
    assert [line for line in ended.stdout.splitlines() if "DEBUG" not in line and "INFO" not in line][-6:] == expected


async def test_a_pointer_to_another_place_is_refused(client, events):
    right = EventPointer.of(events[0])

    for wrong in (
        EventPointer(right.segment, right.offset, right.length + 1),
        EventPointer(right.segment, right.offset + 1, right.length),
        EventPointer(right.segment, 10_000_000, right.length),
    ):
        with pytest.raises(MalformedEventError, match="points to no event") as raised:
            await client.fetch(wrong)
        assert raised.value.at == wrong.offset


async def test_a_pointer_into_another_segment_or_stream_is_refused(client, events, stream):
    pointer = EventPointer.of(events[0])

    with pytest.raises(SegmentNotFoundError, match="has no segment"):
        await client.fetch(EventPointer(SegmentId(stream, 99, 7), 0, 20))
    with pytest.raises(StreamNotFoundError):
        await client.fetch(str(pointer).replace("/stream/", "/absent/"))
    with pytest.raises(ConfigurationError, match="is not an event pointer"):
        await client.fetch("event-7")


async def test_a_truncated_event_is_gone(client, events, stream):
    tail = await client.tail(stream)
    await client.truncate_stream(StreamCut(stream, dict(tail.positions)))

    with pytest.raises(StreamTruncatedError, match="removed the event"):
        await client.fetch(EventPointer.of(events[0]))


async def test_an_event_of_a_segment_that_was_truncated_whole_is_gone(client, events, stream):
    await client.scale_stream(stream, 3)
    await client.truncate_stream(await client.tail(stream))

    with pytest.raises(StreamTruncatedError, match="a truncation removed segment"):
        await client.fetch(EventPointer.of(events[0]))


async def test_an_event_of_a_deleted_stream_is_gone(client, events, stream, make_stream):
    await client.delete_stream(stream)

    with pytest.raises(StreamNotFoundError):
        await client.fetch(EventPointer.of(events[0]))

    await make_stream(2)
    with pytest.raises(StreamTruncatedError, match="was deleted and made again on .* belongs to the deleted one"):
        await client.fetch(EventPointer.of(events[0]))
