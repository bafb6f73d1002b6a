"""Subscribers on a real controller: who they are, and which cuts they may report."""

import pytest

from aiopravega import StreamCut
from aiopravega.errors import (
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    StreamNotFoundError,
    SubscriberNotFoundError,
)


async def write(client, stream) -> StreamCut:
    async with client.writer(stream) as writer:
        for number in range(20):
            await writer.write(b"event", routing_key=str(number))
    found: StreamCut = await client.tail(stream)
    return found


async def test_subscribers_come_and_go(client, make_stream):
    stream = await make_stream(2)

    await client.subscribe(stream, "etl")
    await client.subscribe(stream, "audit")
    await client.subscribe(stream, "etl")

    assert await client.subscribers(stream) == ["audit", "etl"]
    assert await client.unsubscribe(stream, "audit")
    assert not await client.unsubscribe(stream, "audit")
    assert await client.subscribers(stream) == ["etl"]
    # What Pravega makes for them is not shown as a stream.
    assert await client.list_streams(stream.scope) == [stream]


async def test_a_subscriber_moves_forward_only(client, make_stream):
    stream = await make_stream(2)
    head = await client.head(stream)
    await client.subscribe(stream, "etl")
    first, second = await write(client, stream), await write(client, stream)

    await client.report(stream, "etl", second)
    await client.report(stream, "etl", second)

    for earlier in (first, head):
        with pytest.raises(InvalidStreamCutError, match="reported a later"):
            await client.report(stream, "etl", earlier)
    # A subscription that is repeated does not go back to the head.
    await client.subscribe(stream, "etl")


async def test_a_subscriber_moves_over_scalings(client, make_stream):
    stream = await make_stream(1)
    await client.subscribe(stream, "etl")
    before = await write(client, stream)
    await client.scale_stream(stream, 3)
    after = await write(client, stream)

    await client.report(stream, "etl", before)
    await client.report(stream, "etl", after)

    with pytest.raises(InvalidStreamCutError, match="reported a later"):
        await client.report(stream, "etl", before)


async def test_cuts_that_pravega_would_take_but_must_not_are_refused(client, make_stream):
    stream, other = await make_stream(1), await make_stream(1, "other")
    tail = await write(client, stream)
    beyond = StreamCut(stream, {segment: offset + 100 for segment, offset in tail.positions.items()})
    await client.subscribe(stream, "etl")

    with pytest.raises(InvalidRangeError):
        await client.report(stream, "etl", beyond)
    with pytest.raises(InvalidStreamCutError, match="of that stream"):
        await client.report(stream, "etl", await client.tail(other))
    with pytest.raises(InvalidRangeError):
        await client.subscribe(stream, "second", beyond)


async def test_a_cut_inside_an_event_is_refused(client, make_stream):
    stream = await make_stream(1)
    ((segment, middle),) = (await write(client, stream)).positions.items()
    await write(client, stream)
    inside, between = StreamCut(stream, {segment: middle + 5}), StreamCut(stream, {segment: middle})
    await client.subscribe(stream, "etl")

    with pytest.raises(InvalidStreamCutError, match=f"inside the event at offset {middle}"):
        await client.report(stream, "etl", inside)
    with pytest.raises(InvalidStreamCutError, match=f"inside the event at offset {middle}"):
        await client.subscribe(stream, "second", inside)
    await client.report(stream, "etl", between)


async def test_subscribing_again_reports_the_head_of_an_unreported_subscriber(client, make_stream):
    stream = await make_stream(1)
    tail = await write(client, stream)
    group = await client.controller.create_reader_group(stream.scope, "etl.stream", stream)
    assert await client.subscribers(stream) == ["etl"]

    await client.subscribe(stream, "etl")

    # The head was reported for it: a report of an earlier cut goes back.
    await client.report(stream, "etl", tail)
    with pytest.raises(InvalidStreamCutError, match="before the last one"):
        await client.controller.update_subscriber(group, stream, await client.controller.head_segments(stream))


async def test_a_name_that_is_left_over_from_a_deleted_stream_is_refused(client, make_stream):
    stream = await make_stream(1)
    await client.subscribe(stream, "etl")
    await client.delete_stream(stream)
    await make_stream(1)

    with pytest.raises(ConfigurationError, match="belongs to a deleted stream of this name"):
        await client.subscribe(stream, "etl")
    await client.subscribe(stream, "etl-2")


async def test_a_missing_subscriber_or_stream_is_named(client, make_stream, scope):
    stream = await make_stream(1)

    with pytest.raises(SubscriberNotFoundError, match=r"nobody\.stream"):
        await client.report(stream, "nobody", await client.tail(stream))
    with pytest.raises(StreamNotFoundError, match="missing"):
        await client.subscribe(f"{scope}/missing", "etl")
    with pytest.raises(StreamNotFoundError, match="missing"):
        await client.subscribers(f"{scope}/missing")
    with pytest.raises(ConfigurationError, match="no name"):
        await client.subscribe(stream, "no name")
