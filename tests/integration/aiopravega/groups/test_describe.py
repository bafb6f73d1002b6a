"""What we say about reader groups of the official Java client is what Java itself says."""

import asyncio
from typing import Any

import pytest
from tests.integration.aiopravega.groups.conftest import JavaGroup

from aiopravega import ScalingPolicy, StreamCut, StreamName
from aiopravega.errors import ReaderGroupError, ReaderGroupNotFoundError
from aiopravega.groups import JavaCheckpoint, ReaderGroupDescription, cut_from_bytes, cut_to_bytes


@pytest.mark.timeout(1500)
async def test_java_says_the_same_at_twenty_points(java_group, start_java, client, make_stream, write_events):
    stream = await make_stream(3)
    points = 0

    async def point(**expected: object) -> None:
        nonlocal points
        described = await java_group.assert_same()
        assert {name: getattr(described, name) for name in expected} == expected
        points += 1

    await write_events(stream, range(200))
    await java_group.create(stream, automatic=1000, retention="AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT")
    await point()
    for reader in ("one", "two"):
        await java_group.ask("open", reader=reader)
        await point()
    for round_ in range(4):  # checkpoints come by themselves
        await java_group.read("one", "two", events=20)
        await point()
        await write_events(stream, range(200 + 100 * round_, 300 + 100 * round_))
        await point()
    # Java writes "no checkpoint yet" again as one without positions, and then says that nothing is unread.
    await java_group.read_until(lambda described: described.last_checkpoint is not None, "one", "two")
    await java_group.ask("compact")
    await point()
    for segments in (5, 3):  # to more, and to fewer
        await client.scale_stream(stream, segments)
        await write_events(stream, range(1000, 1100))
        await point()
        await java_group.read("one", "two", seconds=2)
        await point()
    await java_group.ask("compact")  # removes what lies before the last mark
    await point()
    with start_java() as other:
        theirs = JavaGroup(other, client, stream.scope, java_group.name)
        await theirs.ask("open", reader="dies")
        await theirs.read("dies", events=10)
        await asyncio.to_thread(other.kill)
    await point()
    assert "dies" in (await java_group.describe()).readers
    for reader in ("one", "two"):
        await java_group.ask("close", reader=reader)
        await point()
    assert points == 20


@pytest.mark.timeout(1500)
async def test_java_says_the_same_at_twenty_points_while_events_come_and_go(
    java_group, start_java, client, make_stream, write_events
):
    stream = await make_stream(3)
    await write_events(stream, range(100))
    await java_group.create(stream, automatic=1000, retention="AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT")
    done = asyncio.Event()

    async def write() -> int:
        written = 100
        while not done.is_set():
            await write_events(stream, range(written, written + 50))
            written += 50
        return written

    async def read(theirs: JavaGroup) -> int:
        events = 0
        while not done.is_set():
            events += len(await theirs.read("one", "two", seconds=0.5))
        return events

    with start_java() as other:
        theirs = JavaGroup(other, client, stream.scope, java_group.name)
        for reader in ("one", "two"):
            await theirs.ask("open", reader=reader)
        writing, reading = asyncio.create_task(write()), asyncio.create_task(read(theirs))
        positions: set[str] = set()
        tails: set[str] = set()
        # Events come at each point, and go meanwhile, checkpoint after checkpoint.
        while len(tails) < 20 or len(positions) <= 2:
            described, tail = await _assert_between(java_group, stream)
            positions.add(described.streams[0].position.to_text())
            tails.add(tail.to_text())
        done.set()
        written, was_read = await writing, await reading
    assert 0 < was_read <= written


async def _assert_between(java_group: JavaGroup, stream: StreamName) -> tuple[ReaderGroupDescription, StreamCut]:
    """What each says lies between what the other said before and after: positions and tails only grow."""
    client = java_group.client
    first, tail = await java_group.describe(), await client.tail(stream)
    theirs = await java_group.ask("look")
    second, later = await java_group.describe(), await client.tail(stream)
    again = await java_group.ask("look")

    positions = [dict(cut.positions) for cut in (_read_until(first), _cut(theirs), _read_until(second), _cut(again))]
    for segment in positions[0]:
        offsets = [position[segment] for position in positions]
        assert offsets == sorted(offsets)
    assert set(first.readers) == set(second.readers) == set(theirs["readers"]) == {"one", "two"}
    old, new = first.streams[0], second.streams[0]
    least = sum(tail.positions.values()) - sum((new.checkpoint or new.position).positions.values())
    most = await client.distance(old.checkpoint or old.position, later)
    assert least <= theirs["unread"] <= most
    return first, tail


def _read_until(described: ReaderGroupDescription) -> StreamCut:
    return described.streams[0].position


def _cut(theirs: dict[str, Any]) -> StreamCut:
    (text,) = theirs["cuts"].values()
    return StreamCut.from_text(text)


async def test_a_group_waits_at_a_scaling_until_we_make_a_checkpoint(java_group, client, make_stream, write_events):
    stream = await make_stream(2)
    await write_events(stream, range(100))
    await java_group.create(stream)
    await java_group.ask("open", reader="one")
    found = await java_group.read_all("one", total=100)
    await client.scale_stream(stream, 3)
    await write_events(stream, range(100, 200))
    found += await java_group.read_until(lambda described: described.needs_checkpoint, "one")
    found += await java_group.read("one")
    assert len(found) == 100
    assert (await java_group.assert_same()).needs_checkpoint

    making = asyncio.create_task(client.checkpoint_reader_group(stream.scope, java_group.name, "ours"))
    found += await java_group.read_all("one", total=100)
    made = await making

    assert sorted(map(int, found)) == list(range(200))
    described = await java_group.assert_same()
    assert not described.needs_checkpoint
    assert described.last_checkpoint == made
    assert made.name == "ours"


async def test_a_checkpoint_of_java_and_its_bytes_are_read(java_group, make_stream, write_events):
    stream = await make_stream(2)
    await write_events(stream, range(50))
    await java_group.create(stream)
    await java_group.ask("open", reader="one")
    await java_group.read("one", events=10, seconds=300)
    await java_group.ask("begin_checkpoint", name="theirs")
    assert (await java_group.describe()).waiting_checkpoints == {"theirs": ("one",)}
    await java_group.read_until(lambda described: not described.waiting_checkpoints, "one")
    theirs = await java_group.ask("end_checkpoint", name="theirs")

    checkpoint = JavaCheckpoint.from_bytes(bytes.fromhex(theirs["bytes"]))

    assert checkpoint.name == "theirs"
    assert {str(stream): cut for stream, cut in checkpoint.cuts.items()} == {
        name: StreamCut.from_text(text) for name, text in theirs["cuts"].items()
    }
    assert (await java_group.assert_same()).last_checkpoint == checkpoint
    back = await java_group.ask("from_bytes", bytes=checkpoint.to_bytes().hex(), checkpoint=True)
    assert back["cuts"].keys() == theirs["cuts"].keys()
    for cut in checkpoint.cuts.values():
        bytes_of_java = await java_group.ask("bytes", cut=cut.to_text())
        assert cut_from_bytes(bytes.fromhex(bytes_of_java["bytes"])) == cut
        text = await java_group.ask("from_bytes", bytes=cut_to_bytes(cut).hex(), checkpoint=False)
        assert StreamCut.from_text(text["cut"]) == cut


async def test_a_group_of_several_streams_with_ends_is_described(java_group, client, make_stream, write_events):
    streams = [await make_stream(2, name) for name in ("one", "two")]
    for stream in streams:
        await write_events(stream, range(30))
    ends = [await client.tail(stream) for stream in streams]
    await write_events(streams[0], range(30))
    cuts = {end.stream.stream: ["UNBOUNDED", end.to_text()] for end in ends}
    await java_group.ask("create", streams=cuts, automatic=1000, retention="NONE")
    await java_group.ask("open", reader="one")
    described = await java_group.describe()
    assert described.unread_bytes == sum([await client.distance(await client.head(_stream(e)), e) for e in ends])

    assert len(await java_group.read_all("one", total=60)) == 60
    assert not await java_group.read_until(lambda described: described.lag_bytes == 0, "one")

    described = await java_group.describe()
    assert [each.end for each in described.streams] == ends
    assert [each.position for each in described.streams] == ends


def _stream(cut: StreamCut) -> StreamName:
    assert cut.stream is not None
    return cut.stream


async def test_groups_are_listed_and_one_may_have_no_state(java_group, client, make_stream):
    stream = await make_stream()
    await java_group.create(stream)
    # As a subscriber of an early release left it, or a program that ended half way.
    await client.controller.create_reader_group(stream.scope, "etl.stream", stream)

    assert await client.reader_groups(stream.scope) == ["etl.stream", "group"]
    described = await client.describe_reader_group(stream.scope, "etl.stream")
    assert not described.has_state
    with pytest.raises(RuntimeError, match="NullPointerException"):  # as Java: the controller gives no cut back
        await java_group.with_name("etl.stream").ask("look")
    with pytest.raises(ReaderGroupError, match="a subscriber that reports its position to Pravega by itself"):
        _ = described.unread_bytes
    # Its state and its configuration are asked together, and either may be missing first.
    for question in (
        client.describe_reader_group(stream.scope, "other"),
        client.controller.group_config(stream.scope, "other"),
    ):
        with pytest.raises(ReaderGroupNotFoundError, match=f"reader group {stream.scope}/other does not exist"):
            await question


async def test_unread_events_that_retention_removed_are_told(java_group, client, make_stream, write_events):
    stream = await make_stream()
    await write_events(stream, range(10))
    await java_group.create(stream)
    cut = await client.tail(stream)
    await write_events(stream, range(10))

    await client.truncate_stream(cut)

    (progress,) = (await java_group.describe()).streams
    assert progress.is_truncated
    assert progress.lag_bytes == await client.distance(cut, await client.tail(stream))


async def test_a_wide_group_is_described(java_group, client, scope):
    assert await client.create_stream(f"{scope}/wide", ScalingPolicy.fixed(60))
    stream = StreamName(scope, "wide")
    await java_group.create(stream)

    described = await java_group.assert_same()

    assert len(described.unassigned) == 60
