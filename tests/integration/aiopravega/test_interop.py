"""With the official Python client: each reads what the other writes, and keys land in the same segments."""

import asyncio
import sys
from collections import defaultdict

import pytest

from aiopravega import PravegaClient, StreamName
from aiopravega.routing import SegmentMap, key_position

# The official client has no wheels beyond Python 3.11, so there these tests do not exist; on 3.11 they must run.
if sys.version_info < (3, 12):
    import pravega_client

    # ASCII only: beyond it the official Python client hashes other code units than the Java client, which is what ours
    # agrees with (tests/unit/aiopravega/test_routing.py).
    KEYS = ["", *(f"customer-{number}" for number in range(40))]

    @pytest.fixture(scope="module")
    def official(pravega_config):
        return pravega_client.StreamManager(pravega_config.controller_uri)

    async def read_officially(official, stream: StreamName, count: int) -> list[bytes]:
        """`count` events by a reader group of the official client, in the order in which it gives them."""
        group = official.create_reader_group(f"group-{stream.scope}", stream.scope, stream.stream)
        reader = group.create_reader("reader")
        found: list[bytes] = []
        async with asyncio.timeout(300):
            while len(found) < count:
                part = await reader.get_segment_slice_async()
                found += [bytes(event.data()) for event in part]
                reader.release_segment(part)
        reader.reader_offline()
        return found

    def write_officially(official, stream: StreamName, events: list[tuple[str, bytes]]) -> None:
        writer = official.create_writer(stream.scope, stream.stream)
        for key, data in events:
            writer.write_event_bytes(data, routing_key=key)
        writer.flush()

    def events_of_keys() -> list[tuple[str, bytes]]:
        return [(key, f"{key}:{number}".encode()) for number in range(25) for key in KEYS]

    def by_key(found: list[bytes]) -> dict[str, list[int]]:
        numbers = defaultdict(list)
        for data in found:
            key, number = data.decode().rsplit(":", 1)
            numbers[key].append(int(number))
        return dict(numbers)

    async def segments_of_keys(client: PravegaClient, stream: StreamName) -> dict[str, str]:
        segments = SegmentMap(await client.controller.current_segments(stream))
        return {key: str(segments.segment_for(key_position(key))) for key in KEYS}

    async def test_we_read_events_of_the_official_client_in_the_expected_segments(
        client, make_stream, read_all, official
    ):
        stream = await make_stream(5)
        await asyncio.to_thread(write_officially, official, stream, events_of_keys())

        found = await read_all(stream)

        assert by_key([event.data for event in found]) == {key: list(range(25)) for key in KEYS}
        expected = await segments_of_keys(client, stream)
        assert {event.data.decode().rsplit(":", 1)[0]: str(event.segment) for event in found} == expected

    async def test_the_official_client_reads_our_events(client, make_stream, official):
        stream = await make_stream(5)
        async with client.writer(stream) as writer:
            for key, data in events_of_keys():
                await writer.write(data, routing_key=key)

        found = await read_officially(official, stream, len(events_of_keys()))

        assert by_key(found) == {key: list(range(25)) for key in KEYS}

    async def test_the_official_client_reads_events_of_our_transaction(client, make_stream, official):
        stream = await make_stream(3)
        async with client.transaction(stream) as transaction:
            for key, data in events_of_keys():
                await transaction.write(data, routing_key=key)

        found = await read_officially(official, stream, len(events_of_keys()))

        assert by_key(found) == {key: list(range(25)) for key in KEYS}

    async def test_keys_land_in_the_same_segments(client, make_stream, read_all, official):
        ours, theirs = await make_stream(7, name="ours"), await make_stream(7, name="theirs")
        await asyncio.to_thread(write_officially, official, theirs, [(key, key.encode()) for key in KEYS])
        async with client.writer(ours) as writer:
            for key in KEYS:
                await writer.write(key.encode(), routing_key=key)

        def offsets(events):
            return {event.data: event.segment.number for event in events}

        assert offsets(await read_all(ours)) == offsets(await read_all(theirs))

    async def test_large_events_go_both_ways_and_we_read_its_events_of_no_bytes(
        client, make_stream, read_all, official
    ):
        # Its reader waits forever at an event of no bytes, also of its own writers; and its buffer has 1 MiB.
        large, largest = b"\x01" * 500_000, b"\x02" * (8 * 1024 * 1024 - 8)
        ours, theirs = await make_stream(1, name="ours"), await make_stream(1, name="theirs")
        async with client.writer(ours) as writer:
            await writer.write(large, routing_key="key")
            await writer.write(b"end", routing_key="key")
        await asyncio.to_thread(write_officially, official, theirs, [("key", b""), ("key", largest), ("key", b"end")])

        assert await read_officially(official, ours, 2) == [large, b"end"]
        assert [event.data for event in await read_all(theirs)] == [b"", largest, b"end"]
