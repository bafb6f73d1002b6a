"""Scopes and streams on the real server: made, listed, changed, sealed, deleted, each again where that is allowed."""

from datetime import timedelta

import pytest

from aiopravega import RetentionPolicy, ScalingPolicy, StreamConfiguration, errors
from aiopravega.names import SegmentId, StreamName

ONE_SEGMENT = StreamConfiguration(ScalingPolicy.fixed(1))


async def test_ping_finds_the_controller(controller):
    await controller.ping()


async def test_a_scope_is_made_once_and_deleted_once(controller, scope):
    assert await controller.scope_exists(scope)
    assert scope in await controller.list_scopes()
    assert await controller.create_scope(scope) is False

    assert await controller.delete_scope(scope) is True
    assert await controller.delete_scope(scope) is False
    assert not await controller.scope_exists(scope)


async def test_internal_scopes_are_not_listed(controller):
    assert not [name for name in await controller.list_scopes() if name.startswith("_")]


async def test_a_scope_that_holds_a_stream_stays(controller, scope, make_stream):
    await make_stream()

    with pytest.raises(errors.ScopeNotEmptyError, match=scope):
        await controller.delete_scope(scope)


async def test_a_name_that_pravega_does_not_take_is_refused(controller, scope):
    with pytest.raises(errors.ConfigurationError, match="a/b"):
        await controller.create_scope("a/b")
    with pytest.raises(errors.ConfigurationError, match="two words"):
        await controller.create_stream(StreamName(scope, "two words"), ONE_SEGMENT)


@pytest.mark.parametrize(
    "configuration",
    [
        StreamConfiguration(ScalingPolicy.fixed(3)),
        StreamConfiguration(
            ScalingPolicy.by_event_rate(1000, 2, 2),
            RetentionPolicy.time(timedelta(days=1), timedelta(days=7)),
            ("sales", "eu"),
            timedelta(seconds=25),
            1 << 20,
        ),
        StreamConfiguration(ScalingPolicy.by_data_rate(64, 3, 1), RetentionPolicy.bytes(10**9), ("one tag",)),
    ],
    ids=["fixed", "events", "bytes"],
)
async def test_a_stream_has_the_configuration_that_it_was_made_with(controller, scope, configuration):
    stream = StreamName(scope, "stream")

    assert await controller.create_stream(stream, configuration) is True
    assert await controller.stream_configuration(stream) == configuration


async def test_an_update_replaces_the_whole_configuration(controller, make_stream):
    stream = await make_stream()
    changed = StreamConfiguration(
        ScalingPolicy.fixed(1), RetentionPolicy.bytes(10**6, 10**7), ("new",), timedelta(seconds=5), 1 << 24
    )

    await controller.update_stream(stream, changed)
    assert await controller.stream_configuration(stream) == changed

    await controller.update_stream(stream, ONE_SEGMENT)
    assert await controller.stream_configuration(stream) == ONE_SEGMENT


async def test_a_stream_that_exists_keeps_its_configuration(controller, make_stream):
    stream = await make_stream(segments=2)

    assert await controller.create_stream(stream, ONE_SEGMENT) is False
    assert len(await controller.current_segments(stream)) == 2


async def test_streams_are_listed_in_order_without_pravegas_own(controller, scope, make_stream):
    for name in ("b", "a", "c"):
        await make_stream(name)

    assert await controller.list_streams(scope) == [StreamName(scope, name) for name in ("a", "b", "c")]


async def test_streams_are_found_by_tag_also_after_an_update(controller, scope, make_stream):
    tagged = StreamName(scope, "tagged")
    await controller.create_stream(tagged, StreamConfiguration(ScalingPolicy.fixed(1), tags=("red", "round")))
    other = await make_stream("other")

    assert await controller.list_streams(scope, "red") == [tagged]
    assert await controller.list_streams(scope, "blue") == []

    await controller.update_stream(other, StreamConfiguration(ScalingPolicy.fixed(1), tags=("red",)))
    await controller.update_stream(tagged, ONE_SEGMENT)
    assert await controller.list_streams(scope, "red") == [other]


async def test_a_stream_is_sealed_then_deleted(controller, make_stream):
    stream = await make_stream()
    assert await controller.stream_exists(stream)

    with pytest.raises(errors.StreamNotSealedError, match=str(stream)):
        await controller.delete_stream(stream)
    await controller.seal_stream(stream)
    await controller.seal_stream(stream)

    assert await controller.delete_stream(stream) is True
    assert await controller.delete_stream(stream) is False
    assert not await controller.stream_exists(stream)


async def test_a_sealed_stream_does_not_change_any_more(controller, make_stream):
    stream = await make_stream()
    segment = SegmentId(stream, 0, 0)
    await controller.seal_stream(stream)

    assert await controller.current_segments(stream) == []
    for change in (
        controller.update_stream(stream, ONE_SEGMENT),
        controller.truncate_stream(stream, {segment: 0}),
        controller.scale(stream, [segment], [(0.0, 1.0)], timeout=30),
        controller.create_transaction(stream, 30_000),
    ):
        with pytest.raises(errors.StreamSealedError, match=str(stream)):
            await change


async def test_a_stream_made_again_has_other_segments(controller, make_stream):
    stream = await make_stream(segments=2)
    first = {entry.segment for entry in await controller.epoch_segments(stream, 0)}
    await controller.seal_stream(stream)
    await controller.delete_stream(stream)

    await make_stream(segments=2)

    second = {entry.segment for entry in await controller.epoch_segments(stream, 0)}
    assert {segment.number for segment in first} == {0, 1}
    assert {segment.number for segment in second} == {2, 3}


@pytest.mark.parametrize("exists", [True, False], ids=["scope-exists", "no-scope"])
async def test_a_stream_that_does_not_exist_is_named(controller, scope, exists):
    stream = StreamName(scope if exists else f"{scope}-gone", "nowhere")
    segment = SegmentId(stream, 0, 0)

    assert not await controller.stream_exists(stream)
    for call in (
        controller.stream_configuration(stream),
        controller.update_stream(stream, ONE_SEGMENT),
        controller.seal_stream(stream),
        controller.truncate_stream(stream, {segment: 0}),
        controller.current_segments(stream),
        controller.epoch_segments(stream, 0),
        controller.head_segments(stream),
        controller.segments_between(stream, {segment: 0}, {segment: 1}),
        controller.scale(stream, [segment], [(0.0, 1.0)], timeout=30),
        controller.create_transaction(stream, 30_000),
        controller.note_time(stream, "writer", 1, {segment: 0}),
    ):
        with pytest.raises(errors.StreamNotFoundError, match=str(stream)):
            await call


async def test_a_scope_that_does_not_exist_is_named(controller, scope):
    gone = f"{scope}-gone"

    for call in (
        controller.create_stream(StreamName(gone, "stream"), ONE_SEGMENT),
        controller.list_streams(gone),
        controller.list_streams(gone, "tag"),
        controller.create_table(gone, "table", 1, 8),
        controller.list_tables(gone),
    ):
        with pytest.raises(errors.ScopeNotFoundError, match=gone):
            await call
