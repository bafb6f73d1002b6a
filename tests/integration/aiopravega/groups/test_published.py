"""Positions of programs that keep them themselves: Java sees them as those of a reader group."""

import pytest

from aiopravega import StreamCut
from aiopravega.errors import InvalidStreamCutError, ReaderGroupError, ReadersOnlineError
from aiopravega.names import group_stream

# A log of states is shortened twice within so many positions in 20 segments.
POSITIONS = 50


async def test_java_sees_a_subscriber_and_moves_its_retention(java_group, client, make_stream, write_events):
    stream = await make_stream(2)
    await write_events(stream, range(20))
    theirs = java_group.with_name("etl.stream")
    await client.subscribe(stream, "etl")
    described = await theirs.assert_same()
    assert (described.is_published, described.unread_bytes) == (True, described.lag_bytes)
    assert described.lag_bytes == await client.distance(await client.head(stream), await client.tail(stream))

    first = await client.tail(stream)
    await write_events(stream, range(20, 30))
    await client.report(stream, "etl", first)

    described = await theirs.assert_same()
    assert [each.position for each in described.streams] == [first]
    assert {StreamCut.from_text(text) for text in (await theirs.ask("look"))["cuts"].values()} == {first}
    second = await client.tail(stream)
    await theirs.ask("retain", stream=stream.stream, cut=second.to_text())
    with pytest.raises(InvalidStreamCutError, match="reported a later cut"):
        await client.report(stream, "etl", first)


async def test_a_group_of_several_streams_is_published(java_group, client, make_stream, write_events):
    streams = [await make_stream(2, name) for name in ("one", "two")]
    scope = streams[0].scope
    heads = [await client.head(stream) for stream in streams]
    await client.publish_reader_group(scope, "group", heads)
    for stream in streams:
        await write_events(stream, range(10))
    await client.scale_stream(f"{scope}/one", 3)
    tails = [await client.tail(stream) for stream in streams]

    await client.publish_reader_group(scope, "group", tails)

    described = await java_group.assert_same()
    assert ([each.position for each in described.streams], described.unread_bytes) == (tails, 0)
    assert described.config.retention.name == "MANUAL"
    assert await client.subscribers(f"{scope}/one") == [f"{scope}/group"]
    with pytest.raises(ReaderGroupError, match="is set up another way"):
        await client.publish_reader_group(scope, "group", tails[:1])
    with pytest.raises(ReaderGroupError, match="continues where its own checkpoint says"):
        await client.reset_reader_group(scope, "group", streams)
    with pytest.raises(InvalidStreamCutError):
        await client.publish_reader_group(scope, "group", heads)


async def test_readers_of_java_are_not_overwritten(java_group, client, make_stream, write_events):
    stream = await make_stream(1)
    await write_events(stream, range(5))
    head = await client.head(stream)
    await client.publish_reader_group(stream.scope, "group", [head])
    await java_group.ask("open", reader="one")

    with pytest.raises(ReadersOnlineError, match="readers 'one' read with group"):
        await client.publish_reader_group(stream.scope, "group", [await client.tail(stream)])

    assert sorted(map(int, await java_group.read_all("one", total=5))) == list(range(5))
    await java_group.ask("close", reader="one")


async def test_a_long_history_is_removed_and_java_follows(java_group, client, make_stream):
    stream = await make_stream(20)
    head = await client.head(stream)
    await client.publish_reader_group(stream.scope, "group", [head])
    before = await java_group.ask("look")
    [segment] = await client.controller.head_segments(group_stream(stream.scope, "group"))
    sizes = []

    for _ in range(POSITIONS):
        await client.publish_reader_group(stream.scope, "group", [head])
        info = await client.store.info(segment)
        sizes.append(info.write_offset - info.start_offset)

    assert info.start_offset > 0
    assert max(sizes) < 200_000 < info.write_offset
    assert await java_group.ask("look") == before
    await java_group.assert_same()
