"""Groups that we make, reset and delete are read by Java, to the last event, each once."""

import asyncio

import pytest
from tests.integration.aiopravega.groups.conftest import JavaGroup

from aiopravega import StreamCutRange
from aiopravega.errors import (
    CheckpointError,
    ConfigurationError,
    InvalidRangeError,
    ReaderGroupError,
    ReaderGroupNotFoundError,
    ReadersOnlineError,
    StreamNotFoundError,
)


def numbers(events: list[str]) -> list[int]:
    return sorted(map(int, events))


async def test_java_reads_a_range_with_a_group_of_ours(java_group, client, make_stream, write_events):
    stream = await make_stream(2)
    await write_events(stream, range(10))
    start = await client.tail(stream)
    await write_events(stream, range(10, 60))
    await client.scale_stream(stream, 3)
    await write_events(stream, range(60, 90))
    end = await client.tail(stream)
    await write_events(stream, range(90, 100))

    assert await client.create_reader_group(stream.scope, "group", [StreamCutRange(start, end)])
    assert not await client.create_reader_group(stream.scope, "group", [StreamCutRange(start, end)])
    with pytest.raises(ReaderGroupError, match="set up another way: starts, ends"):
        await client.create_reader_group(stream.scope, "group", [stream])

    assert (await java_group.assert_same()).unread_bytes == await client.distance(start, end)
    for reader in ("one", "two"):
        await java_group.ask("open", reader=reader)
    making = None
    found: list[str] = []
    while len(found) < 80:
        making = making or asyncio.create_task(client.checkpoint_reader_group(stream.scope, "group", timeout=300))
        found += await java_group.read("one", "two")
        if making.done():
            making = making.result() and None
    if making is not None:
        while not making.done():
            await java_group.read("one", "two")
    assert numbers(found) == list(range(10, 90))


async def test_a_group_is_reset_to_a_cut_and_java_reads_each_event_once_more(
    java_group, client, make_stream, write_events
):
    stream = await make_stream(2)
    await write_events(stream, range(20))
    cut = await client.tail(stream)
    await write_events(stream, range(20, 50))
    await java_group.create(stream, retention="AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT")
    await java_group.ask("open", reader="one")
    assert numbers(await java_group.read_all("one", total=50)) == list(range(50))

    with pytest.raises(ReadersOnlineError, match="its readers 'one' are online") as refused:
        await client.reset_reader_group(stream.scope, "group", [cut])
    assert refused.value.readers == {"one"}
    with pytest.raises(CheckpointError, match="there is none"):
        await client.reset_reader_group(stream.scope, "group", force=True)
    with pytest.raises(ReadersOnlineError):
        await client.delete_reader_group(stream.scope, "group")
    await java_group.ask("close", reader="one")
    await java_group.assert_same()

    assert await client.reset_reader_group(stream.scope, "group", [cut]) == {stream: cut}

    described = await java_group.assert_same()
    assert described.config.generation == 1
    assert described.config.retention.name == "AUTOMATIC"
    await java_group.ask("open", reader="two")
    assert numbers(await java_group.read_all("two", total=30)) == list(range(20, 50))


async def test_online_readers_rejoin_after_a_reset_to_the_last_checkpoint(
    java_group, client, make_stream, write_events
):
    stream = await make_stream(2)
    await write_events(stream, range(20))
    await java_group.create(stream)
    await java_group.ask("open", reader="one")
    before = await java_group.read_all("one", total=20)
    making = asyncio.create_task(client.checkpoint_reader_group(stream.scope, "group"))
    while not making.done():
        await java_group.read("one")
    checkpoint = await making
    await write_events(stream, range(20, 40))
    assert numbers(await java_group.read_all("one", total=20)) == list(range(20, 40))

    assert await client.reset_reader_group(stream.scope, "group", force=True) == checkpoint.cuts

    answer = {"reset": False}
    async with asyncio.timeout(300):
        while not answer.get("reset"):
            answer = await java_group.ask("read", reader="one", events=1, seconds=1)
    await java_group.ask("open", reader="again")
    assert numbers(before) == list(range(20))
    assert numbers(await java_group.read_all("again", total=20)) == list(range(20, 40))


async def test_java_resets_a_group_of_ours_and_we_one_that_java_has_reset(
    java_group, client, make_stream, write_events
):
    stream = await make_stream()
    await write_events(stream, range(5))
    await client.create_reader_group(stream.scope, "group", [stream])

    await java_group.ask("reset")
    await client.reset_reader_group(stream.scope, "group", [await client.tail(stream)])
    await client.reset_reader_group(stream.scope, "group", [stream])
    await java_group.ask("reset")

    assert (await java_group.assert_same()).config.generation == 4
    await java_group.ask("open", reader="one")
    assert numbers(await java_group.read_all("one", total=5)) == list(range(5))


async def test_a_dead_reader_is_named_and_its_group_is_deleted_by_force(start_java, client, make_stream):
    stream = await make_stream()
    with start_java() as peer:
        group = JavaGroup(peer, client, stream.scope, "group")
        await group.create(stream)
        await group.ask("open", reader="dead")
        await asyncio.to_thread(peer.kill)

    with pytest.raises(ReadersOnlineError, match="'dead'"):
        await client.delete_reader_group(stream.scope, "group")
    with pytest.raises(CheckpointError, match="readers 'dead' have not reached"):
        await client.checkpoint_reader_group(stream.scope, "group", timeout=1)
    await client.delete_reader_group(stream.scope, "group", force=True)

    assert await client.reader_groups(stream.scope) == []
    with pytest.raises(ReaderGroupNotFoundError):
        await client.delete_reader_group(stream.scope, "group")
    assert await client.create_reader_group(stream.scope, "group", [stream])


@pytest.mark.timeout(600)
async def test_a_dead_reader_is_taken_out_and_another_reads_its_segments(
    java_group, start_java, client, make_stream, write_events
):
    stream = await make_stream(2)
    await write_events(stream, range(20))
    await java_group.create(stream)
    with start_java() as other:
        theirs = JavaGroup(other, client, stream.scope, java_group.name)
        await theirs.ask("open", reader="dead")
        assert len(await theirs.read_all("dead", total=20)) == 20
        seen = asyncio.Event()

        async def read() -> None:
            while not seen.is_set():
                await theirs.read("dead")

        reading = asyncio.create_task(read())
        with pytest.raises(ReadersOnlineError, match="it has just written to the group's state"):
            await client.reader_offline(stream.scope, "group", "dead", watch=300)
        seen.set()
        await reading
        await asyncio.to_thread(other.kill)
    with pytest.raises(ConfigurationError, match="it is not clear within 1 s"):
        await client.reader_offline(stream.scope, "group", "dead", watch=1)

    freed = await client.reader_offline(stream.scope, "group", "dead")

    assert set(freed) == set((await client.head(stream)).positions)
    assert (await java_group.assert_same()).readers == {}
    with pytest.raises(ReaderGroupError, match="it is not in the group"):
        await client.reader_offline(stream.scope, "group", "dead")
    await java_group.ask("open", reader="alive")
    assert numbers(await java_group.read_all("alive", total=20)) == list(range(20))
    assert await client.reader_offline(stream.scope, "group", "alive", force=True)
    answer = await java_group.ask("read", reader="alive", events=1, seconds=300)
    assert answer.get("reset")


async def test_what_cannot_be_a_group_is_refused(client, make_stream, write_events):
    stream = await make_stream()
    await write_events(stream, range(2))
    other = await make_stream(name="other")
    tail = await client.tail(stream)
    beyond = type(tail)(stream, {segment: offset + 100 for segment, offset in tail.positions.items()})

    with pytest.raises(StreamNotFoundError):
        await client.create_reader_group(stream.scope, "group", [type(stream)(stream.scope, "missing")])
    with pytest.raises(ConfigurationError, match="given twice"):
        await client.create_reader_group(stream.scope, "group", [stream, tail])
    with pytest.raises(ConfigurationError, match="at least one stream"):
        await client.create_reader_group(stream.scope, "group", [])
    with pytest.raises(ConfigurationError, match="is not a reader group name"):
        await client.create_reader_group(stream.scope, "a/b", [stream])
    with pytest.raises(InvalidRangeError, match="beyond the tail"):
        await client.create_reader_group(stream.scope, "group", [beyond])
    assert await client.create_reader_group(stream.scope, "group", [stream])
    with pytest.raises(ConfigurationError, match="give a position in each of them"):
        await client.reset_reader_group(stream.scope, "group", [other])
