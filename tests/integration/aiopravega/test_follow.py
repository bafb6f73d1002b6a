"""The reader that waits, on the real server: every event once, in order by key, from wherever it is continued."""

import asyncio
from collections import defaultdict

import pytest

from aiopravega import StreamCut, blocking
from aiopravega.errors import (
    ConfigurationError,
    InvalidStreamCutError,
    StreamMadeAgainError,
    StreamNotFoundError,
    StreamTruncatedError,
)
from aiopravega.names import StreamName

KEYS = [f"customer-{number}" for number in range(8)]
LIMIT = 300


@pytest.fixture
def written(client):
    """Writes an event `key:number` of each key for each number."""

    async def write(stream: StreamName, numbers: range) -> None:
        async with client.writer(stream) as writer:
            for number in numbers:
                for key in KEYS:
                    await writer.write(f"{key}:{number}".encode(), key)

    return write


def by_key(events: list[bytes]) -> dict[str, list[int]]:
    numbers = defaultdict(list)
    for event in events:
        key, number = event.decode().split(":")
        numbers[key].append(int(number))
    return dict(numbers)


async def rest_of(follower, most: int | None = None) -> list[bytes]:
    """What it gives until it ends, or so many events."""
    found: list[bytes] = []
    async with asyncio.timeout(LIMIT):
        while most is None or len(found) < most:
            event = await anext(follower, None)
            if event is None:
                break
            found.append(event.data)
    return found


async def test_events_are_followed_across_scalings_until_the_seal(client, make_stream, written):
    stream = await make_stream(1)
    async with client.follow(stream, since="latest") as follower:
        reading = asyncio.create_task(rest_of(follower))
        for number, segments in enumerate((4, 1, 3)):
            await written(stream, range(20 * number, 20 * number + 20))
            await client.scale_stream(stream, segments)
        await written(stream, range(60, 80))
        await client.seal_stream(stream)

        assert by_key(await reading) == {key: list(range(80)) for key in KEYS}
        assert follower.cut == await client.tail(stream)
        assert await follower.batch() == []


async def test_another_reader_continues_from_any_cut(client, make_stream, written):
    stream = await make_stream(1)
    head = await client.head(stream)
    for number, segments in enumerate((3, 1)):
        await written(stream, range(5 * number, 5 * number + 5))
        await client.scale_stream(stream, segments)
        await client.scale_stream(stream, segments + 1)  # segments without events
    await client.seal_stream(stream)

    found: list[bytes] = []
    cut: StreamCut | str = head
    while True:
        async with client.follow(stream, since=cut) as follower:
            given = await rest_of(follower, 1)
            cut = follower.cut.to_text()
        if not given:
            break
        found += given

    assert by_key(found) == {key: list(range(10)) for key in KEYS}


async def test_a_time_limit_of_the_consumer_loses_nothing(client, make_stream, written):
    stream = await make_stream(2)
    async with client.follow(stream, since="earliest") as follower:
        for number in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(follower)
            await written(stream, range(number, number + 1))
            assert by_key(await rest_of(follower, len(KEYS))) == {key: [number] for key in KEYS}


async def test_a_slow_consumer_has_a_bounded_number_of_events_in_memory(client, make_stream):
    stream = await make_stream(1)
    async with client.follow(stream, since="earliest") as follower, client.writer(stream) as writer:
        for number in range(3000):
            await writer.write(b"%d" % number)
        await writer.flush()

        batches = [await follower.batch() for _ in range(6)]

    assert [len(batch) for batch in batches] == [500] * 6
    assert [int(event.data) for batch in batches for event in batch] == list(range(3000))


async def test_what_cannot_be_followed_is_the_error_of_other_reads(client, make_stream, written):
    stream, other = await make_stream(1), await make_stream(1, "other")
    head = await client.head(stream)
    await written(stream, range(2))
    waiting = client.follow(stream, since=head)
    await anext(waiting)

    await client.truncate_stream(await client.tail(stream))
    with pytest.raises(StreamTruncatedError, match="Start from the head"):
        await anext(client.follow(stream, since=head))
    with pytest.raises(InvalidStreamCutError, match="belong"):
        await anext(client.follow(other, since=head))
    with pytest.raises(InvalidStreamCutError, match="earliest, latest"):
        client.follow(stream, since="yesterday")
    with pytest.raises(ConfigurationError, match="before it begins"):
        _ = client.follow(stream, since="latest").cut
    await waiting.close()
    with pytest.raises(ConfigurationError, match="closed"):
        await anext(waiting)


async def test_a_stream_that_is_gone_or_made_again_is_named(client, make_stream, written):
    stream = await make_stream(1)
    await written(stream, range(2))
    head = await client.head(stream)
    async with client.follow(stream, since=head) as at_the_end, client.follow(stream, since="latest") as waiting:
        await client.seal_stream(stream)
        assert len(await rest_of(at_the_end)) == 2 * len(KEYS)

        await client.delete_stream(stream)
        for since in (head, "latest"):
            with pytest.raises(StreamNotFoundError):
                await anext(client.follow(stream, since=since))
        await make_stream(1)
        for follower in (at_the_end, waiting, client.follow(stream, since=head)):
            with pytest.raises(StreamMadeAgainError, match="made again"):
                await anext(follower)


async def test_closing_leaves_no_task(client, make_stream):
    stream = await make_stream(3)
    await client.tail(stream)
    before = asyncio.all_tasks()
    async with client.follow(stream, since="latest"):
        assert len(asyncio.all_tasks()) >= len(before) + 3
    assert asyncio.all_tasks() == before


async def test_the_blocking_form_has_the_same_events_and_cuts(client, make_stream, written, pravega_config):
    stream = await make_stream(2)
    await written(stream, range(3))
    await client.scale_stream(stream, 3)
    await written(stream, range(3, 6))
    await client.seal_stream(stream)

    def read() -> tuple[list[bytes], StreamCut]:
        found = []
        with blocking.PravegaClient(pravega_config) as opened:
            with opened.follow(stream, since="earliest") as follower:
                found += [next(follower).data for _ in range(5)]
                found += [event.data for event in follower.batch()]
                cut = follower.cut
            with opened.follow(stream, since=cut) as follower:
                found += [event.data for event in follower]
                return found, follower.cut

    found, cut = await asyncio.to_thread(read)

    assert by_key(found) == {key: list(range(6)) for key in KEYS}
    assert cut == await client.tail(stream)
