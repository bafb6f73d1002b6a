"""Notes of a writer's time: what goes to the controller, and what is refused before it can do harm."""

from datetime import UTC, datetime

import pytest

from aiopravega import PravegaClient, SegmentId, StreamCut
from aiopravega.errors import (
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    StreamNotFoundError,
    StreamTruncatedError,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def refused(client: PravegaClient, cut: StreamCut, error: type[Exception], match: str) -> None:
    assert cut.stream is not None
    with pytest.raises(error, match=match):
        await client.note_time(cut.stream, "writer", NOON, cut)


async def test_times_go_forward(client, make_timed, write):
    stream = await make_timed(2)
    first = await write(stream)
    await client.note_time(stream, "writer", 1000, first)
    second = await write(stream)
    await client.note_time(stream, "writer", 2000)  # at the tail

    with pytest.raises(ConfigurationError, match="time is before one that this writer has noted"):
        await client.note_time(stream, "writer", 1999, second)
    with pytest.raises(InvalidStreamCutError, match="position is before one that this writer has noted"):
        await client.note_time(stream, "writer", 2001, first)
    await client.note_time(stream, "another writer", 500, first)


async def test_a_segment_that_the_stream_does_not_have_is_refused(client, make_timed, write):
    stream = await make_timed(2)
    tail = await write(stream)

    for number, epoch in ((2, 0), (1, 1), (9, 9)):
        unknown = SegmentId(stream, number, epoch)
        await refused(
            client, StreamCut(stream, {**tail.positions, unknown: 0}), InvalidStreamCutError, "another stream"
        )
        await refused(client, StreamCut(stream, {unknown: 0}), InvalidStreamCutError, f"segments {number}.#epoch")


async def test_a_cut_that_promises_too_much_is_refused(client, make_timed, write):
    stream = await make_timed(2)
    tail = await write(stream)
    (segment, offset), (other, _) = tail.positions.items()

    await refused(client, StreamCut(stream, {segment: offset}), InvalidStreamCutError, "do not cover the key space")
    beyond = StreamCut(stream, {**tail.positions, other: 10**9})
    await refused(client, beyond, InvalidRangeError, "lies beyond the tail")


async def test_a_cut_before_the_head_is_refused(client, make_timed, write):
    stream = await make_timed(1)
    first = await write(stream)
    await client.truncate_stream(await write(stream))

    await refused(client, first, StreamTruncatedError, "removed")


async def test_a_cut_of_another_stream_is_refused(client, make_timed, write):
    stream, other = await make_timed(1), await make_timed(1, "other")

    with pytest.raises(InvalidStreamCutError, match="give a StreamCut of that stream"):
        await client.note_time(stream, "writer", NOON, await write(other))
    with pytest.raises(InvalidStreamCutError, match="give a StreamCut of that stream"):
        await client.note_time(stream, "writer", NOON, StreamCut.unbounded())


async def test_a_cut_of_a_deleted_stream_of_this_name_is_refused(client, make_timed, write):
    stream = await make_timed(2)
    old = await write(stream)
    await client.delete_stream(stream)
    await make_timed(2)

    await refused(client, old, InvalidStreamCutError, "no such segments")


async def test_a_cut_from_before_a_scaling_is_noted(client, make_timed, write):
    stream = await make_timed(1)
    before = await write(stream)
    await client.scale_stream(stream, 3)
    await client.note_time(stream, "slow", NOON, before)

    ended = StreamCut(stream, dict.fromkeys(before.positions, -1))
    await client.note_time(stream, "reader of ends", NOON, ended)


async def test_a_stream_without_notes_is_reported(client, make_timed, scope):
    stream = await make_timed(1)

    with pytest.raises(ConfigurationError, match="the writer needs a name"):
        await client.note_time(stream, "", NOON)
    with pytest.raises(ConfigurationError, match="has no zone"):
        await client.note_time(stream, "writer", NOON.replace(tzinfo=None))
    with pytest.raises(StreamNotFoundError, match="missing"):
        await client.note_time(f"{scope}/missing", "writer", NOON)
