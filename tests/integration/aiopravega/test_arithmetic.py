"""Cuts and ranges of real streams: which comes first across scalings, what ranges share, what a truncation has left."""

import random
from itertools import combinations

import pytest

from aiopravega import UNBOUNDED, SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, InvalidRangeError, InvalidStreamCutError, StreamTruncatedError
from aiopravega.read import Order

EVERYTHING = StreamCutRange(UNBOUNDED, UNBOUNDED)


@pytest.fixture
def write(client):
    async def write(stream: StreamName, count: int = 100) -> None:
        async with client.writer(stream) as writer:
            await writer.write_many([b"event"] * count, [f"key-{number}" for number in range(count)])

    return write


@pytest.fixture
async def tails(client, make_stream, write) -> list[StreamCut]:
    """Tails of a stream that was scaled at random, one after another; some have the same bytes before them."""
    stream = await make_stream(2)
    chance = random.Random(6)
    found = [await client.tail(stream)]
    for _ in range(8):
        if chance.random() < 0.6:
            await write(stream, chance.randint(1, 60))
        else:
            await client.scale_stream(stream, chance.randint(2, 5))
        found.append(await client.tail(stream))
    return found


async def test_tails_are_in_the_order_of_time_whatever_was_scaled_between(client, tails):
    for one, other in combinations(tails, 2):
        size = await client.distance(one, other)
        assert await client.compare(one, other) is (Order.BEFORE if size else Order.SAME)
        assert await client.compare(other, one) is (Order.AFTER if size else Order.SAME)


async def test_what_ranges_share_and_what_they_are_together(client, tails):
    first, second, third, fourth = tails[0], tails[2], tails[5], tails[8]
    early, late = StreamCutRange(first, third), StreamCutRange(second, fourth)

    shared = await client.intersection(early, late)
    assert await client.compare(shared.start, second) is await client.compare(shared.end, third) is Order.SAME
    together = await client.union(late, early)
    assert await client.compare(together.start, first) is await client.compare(together.end, fourth) is Order.SAME
    sizes = [await client.distance(each.start, each.end) for each in (early, late, shared, together)]
    assert sizes[0] + sizes[1] == sizes[2] + sizes[3]


async def test_ranges_that_share_a_cut_do_not_overlap_and_are_one_together(client, tails):
    before, behind = StreamCutRange(UNBOUNDED, tails[4]), StreamCutRange(tails[4], UNBOUNDED)

    assert not await client.overlaps(before, behind)
    together = await client.union(before, behind)
    assert await client.distance(together.start, together.end) == await client.distance(tails[0], tails[8])


async def test_ranges_with_a_gap_between_them_are_no_range_together(client, make_stream, write):
    stream = await make_stream(2)
    head = await client.tail(stream)
    await write(stream)
    middle = await client.tail(stream)
    early, late = StreamCutRange(head, head), StreamCutRange(middle, UNBOUNDED)

    with pytest.raises(InvalidRangeError, match="leave a gap"):
        await client.union(late, early)


async def test_cuts_ahead_in_different_segments_are_incomparable(client, make_stream, write):
    stream = await make_stream(2)
    await write(stream)
    low, high = (await client.tail(stream)).positions.items()
    one, other = (StreamCut(stream, dict([part, (behind, 0)])) for part, behind in ((low, high[0]), (high, low[0])))

    assert await client.compare(one, other) is Order.INCOMPARABLE
    shared = await client.intersection(StreamCutRange(one, UNBOUNDED), StreamCutRange(other, UNBOUNDED))
    assert shared is None
    with pytest.raises(InvalidRangeError, match="ends before it starts"):
        await client.union(StreamCutRange(one, other), EVERYTHING)


async def test_what_retention_has_left_of_a_range_can_be_read(client, tails):
    await client.truncate_stream(tails[6])

    with pytest.raises(StreamTruncatedError):
        await client.plan(StreamCutRange(tails[1], tails[8]))
    left = await client.clip(StreamCutRange(tails[1], tails[8]))
    assert await client.compare(left.start, tails[6]) is Order.SAME
    assert left.end == tails[8]
    assert await client.distance(left.start, left.end) == await client.distance(tails[6], tails[8])
    gone = await client.clip(StreamCutRange(tails[0], tails[3]))
    assert await client.plan(gone) == []


async def test_clipping_the_whole_stream_gives_head_to_tail(client, tails):
    stream = tails[0].stream

    left = await client.clip(EVERYTHING, stream)

    assert left == StreamCutRange(await client.head(stream), tails[8])


async def test_parts_of_a_size_are_as_many_as_it_takes(client, make_stream, write):
    stream = await make_stream(2)
    await write(stream, 1000)  # 13 bytes each
    await client.scale_stream(stream, 3)
    await write(stream, 1000)

    parts = await client.split(EVERYTHING, stream=stream, max_bytes=5000)

    sizes = [await client.distance(part.start, part.end) for part in parts]
    assert sum(sizes) == 26_000
    assert len(parts) == 6
    assert max(sizes) < 5000 + 5 * 13
    for kind in ({}, {"parts": 2, "max_bytes": 3}, {"max_bytes": 0}):
        with pytest.raises(ConfigurationError):
            await client.split(EVERYTHING, stream=stream, **kind)


async def test_cuts_that_cannot_be_compared_are_refused(client, make_stream):
    one, other = await make_stream(1, "one"), await make_stream(1, "other")
    here, there = [await client.tail(stream) for stream in (one, other)]

    with pytest.raises(InvalidStreamCutError, match="cannot be compared"):
        await client.compare(here, there)
    with pytest.raises(ConfigurationError, match="unbounded"):
        await client.compare(here, UNBOUNDED)
    with pytest.raises(InvalidStreamCutError, match="not a segment of the stream"):
        await client.compare(here, StreamCut(one, {SegmentId(one, 7, 3): 0, SegmentId(one, 9, 4): 0}))


async def test_a_cut_of_a_deleted_stream_does_not_fit_one_of_the_same_name(client, make_stream, write):
    stream = await make_stream(2)
    await write(stream)
    old = await client.tail(stream)
    assert await client.delete_stream(stream)
    await make_stream(2)
    await client.scale_stream(stream, 3)

    with pytest.raises(InvalidStreamCutError, match="deleted"):
        await client.clip(StreamCutRange(old, UNBOUNDED))
