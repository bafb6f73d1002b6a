"""Bounded reads of real streams: exactly the range, whatever the stream has been through, and clear refusals."""

import pytest

from aiopravega import UNBOUNDED, PravegaClient, PravegaConfig, SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import (
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    MalformedEventError,
    PravegaConnectionError,
    StreamMadeAgainError,
    StreamNotFoundError,
    StreamTruncatedError,
)

KEYS = [f"key-{number}" for number in range(20)]


async def write(client: PravegaClient, stream: StreamName, first: int, last: int) -> None:
    async with client.writer(stream) as writer:
        for number in range(first, last):
            await writer.write(b"%d" % number, routing_key=KEYS[number % len(KEYS)])


async def numbers(client: PravegaClient, wanted: StreamCutRange, stream: StreamName | None = None) -> list[int]:
    return [int(event.data) async for event in client.read(wanted, stream)]


def assert_in_order_by_key(found: list[int]) -> None:
    for key in range(len(KEYS)):
        mine = [number for number in found if number % len(KEYS) == key]
        assert mine == sorted(mine)


async def test_an_empty_stream_gives_no_events(client, make_stream):
    stream = await make_stream(3)

    assert await numbers(client, StreamCutRange(UNBOUNDED, UNBOUNDED), stream) == []
    assert await client.head(stream) == await client.tail(stream)


async def test_ranges_between_cuts_share_no_event_and_miss_none(client, make_stream):
    stream = await make_stream(4)
    cuts = [await client.tail(stream)]
    for part in range(5):
        await write(client, stream, part * 100, part * 100 + 100)
        cuts.append(await client.tail(stream))

    for part in range(5):
        found = await numbers(client, StreamCutRange(cuts[part], cuts[part + 1]))
        assert sorted(found) == list(range(part * 100, part * 100 + 100))
        assert_in_order_by_key(found)


async def test_a_range_goes_across_scalings(client, make_stream):
    stream = await make_stream(1)
    cuts = [await client.tail(stream)]
    for part, segments in enumerate((4, 2, 3, 1)):
        await write(client, stream, part * 100, part * 100 + 100)
        cuts.append(await client.tail(stream))
        await client.scale_stream(stream, segments)
    await write(client, stream, 400, 500)
    cuts.append(await client.tail(stream))

    assert sorted(await numbers(client, StreamCutRange(UNBOUNDED, UNBOUNDED), stream)) == list(range(500))
    for first in range(len(cuts)):
        for last in range(first, len(cuts)):
            wanted = StreamCutRange(cuts[first], cuts[last])
            found = await numbers(client, wanted)
            assert sorted(found) == list(range(first * 100, last * 100))
            assert_in_order_by_key(found)
            assert await client.distance(wanted.start, wanted.end) == sum(8 + len(str(number)) for number in found)


async def test_a_sealed_stream_is_read_to_its_end(client, make_stream):
    stream = await make_stream(2)
    await write(client, stream, 0, 50)
    await client.scale_stream(stream, 3)
    await write(client, stream, 50, 100)
    await client.seal_stream(stream)

    assert sorted(await numbers(client, StreamCutRange(UNBOUNDED, UNBOUNDED), stream)) == list(range(100))


async def test_a_stream_of_64_segments(client, make_stream):
    stream = await make_stream(64)
    await write(client, stream, 0, 1000)

    assert sorted(await numbers(client, StreamCutRange(UNBOUNDED, UNBOUNDED), stream)) == list(range(1000))


async def test_an_end_of_minus_one_means_the_end_of_the_sealed_segment(client, make_stream):
    stream = await make_stream(1)
    await write(client, stream, 0, 10)
    await client.scale_stream(stream, 2)
    await write(client, stream, 10, 20)
    first = SegmentId(stream, 0, 0)

    to_the_end = StreamCutRange(StreamCut(stream, {first: 0}), StreamCut(stream, {first: -1}))
    behind_it = StreamCutRange(StreamCut(stream, {first: -1}), UNBOUNDED)

    assert sorted(await numbers(client, to_the_end)) == list(range(10))
    assert sorted(await numbers(client, behind_it)) == list(range(10, 20))


async def test_a_truncated_range_is_refused_and_the_rest_can_be_read(client, make_stream):
    stream = await make_stream(1)
    begin = await client.tail(stream)
    await write(client, stream, 0, 10)
    middle = await client.tail(stream)
    await write(client, stream, 10, 20)
    await client.truncate_stream(middle)

    with pytest.raises(StreamTruncatedError, match=rf"{stream} starts at offset .* asks for 0"):
        await client.plan(StreamCutRange(begin, UNBOUNDED))
    assert sorted(await numbers(client, StreamCutRange(middle, UNBOUNDED))) == list(range(10, 20))
    assert await client.head(stream) == middle


async def test_segments_that_were_truncated_as_a_whole_are_a_clear_error(client, make_stream):
    stream = await make_stream(1)
    begin = await client.tail(stream)
    await write(client, stream, 0, 10)
    await client.scale_stream(stream, 2)
    await write(client, stream, 10, 20)
    await client.truncate_stream(await client.tail(stream))

    with pytest.raises(StreamTruncatedError, match="Start from the head"):
        await client.plan(StreamCutRange(begin, UNBOUNDED))
    assert await numbers(client, StreamCutRange(UNBOUNDED, UNBOUNDED), stream) == []


async def test_a_reversed_range_is_refused_even_across_a_scaling(client, make_stream):
    stream = await make_stream(1)
    before = await client.tail(stream)
    await write(client, stream, 0, 10)
    await client.scale_stream(stream, 2)
    after = await client.tail(stream)

    with pytest.raises(InvalidRangeError):
        await client.plan(StreamCutRange(after, before))


async def test_a_cut_beyond_the_tail_is_refused(client, make_stream):
    stream = await make_stream(1)

    with pytest.raises(InvalidRangeError, match="ends at offset 0"):
        await client.plan(StreamCutRange(UNBOUNDED, StreamCut(stream, {SegmentId(stream, 0, 0): 1000})))


async def test_a_cut_of_another_stream_is_refused(client, make_stream):
    mine, other = await make_stream(1, name="mine"), await make_stream(1, name="other")

    with pytest.raises(InvalidStreamCutError, match=rf"{other}.*{mine}"):
        await client.plan(StreamCutRange(await client.tail(other), UNBOUNDED), mine)


async def test_a_cut_with_a_segment_that_the_stream_never_had_is_refused(client, make_stream):
    stream = await make_stream(1)

    with pytest.raises(InvalidStreamCutError):
        await client.plan(StreamCutRange(StreamCut(stream, {SegmentId(stream, 77, 3): 0}), UNBOUNDED))


async def test_a_cut_of_a_stream_that_was_deleted_and_made_again_is_refused(client, make_stream):
    stream = await make_stream(2)
    await write(client, stream, 0, 10)
    old = await client.tail(stream)
    assert await client.delete_stream(stream)
    await make_stream(2)

    made_again = rf"stream {stream} was deleted and made again on \d.* belongs to the deleted one"
    with pytest.raises(StreamMadeAgainError, match=made_again):
        await client.plan(StreamCutRange(old, UNBOUNDED))
    with pytest.raises(StreamMadeAgainError, match=made_again):
        await client.compare(old, await client.tail(stream))
    with pytest.raises(StreamMadeAgainError, match=made_again):
        await client.plan(StreamCutRange(StreamCut(stream, dict.fromkeys(old.positions, 0)), old))


async def test_a_cut_inside_an_event_is_a_clear_error(client, make_stream):
    stream = await make_stream(1)
    await write(client, stream, 0, 10)
    segment = SegmentId(stream, 0, 0)
    inside = StreamCutRange(StreamCut(stream, {segment: 0}), StreamCut(stream, {segment: 12}))

    with pytest.raises(MalformedEventError, match="use StreamCuts that lie between events"):
        await numbers(client, inside)


async def test_an_unknown_stream_is_named(client, scope):
    with pytest.raises(StreamNotFoundError, match=f"{scope}/nowhere"):
        await client.tail(f"{scope}/nowhere")
    with pytest.raises(StreamNotFoundError, match=f"{scope}/nowhere"):
        await client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), StreamName(scope, "nowhere"))


async def test_an_unbounded_range_needs_a_stream(client):
    with pytest.raises(ConfigurationError, match="name the stream"):
        await client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED))


async def test_without_a_server_the_error_names_the_address_and_comes_soon():
    config = PravegaConfig(controller_uri="tcp://127.0.0.1:1", connect_timeout=2.0)

    with pytest.raises(PravegaConnectionError, match=r"127\.0\.0\.1:1"):
        async with PravegaClient(config):
            pass
