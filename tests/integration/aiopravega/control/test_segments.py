"""Segments on the real server: scaled up and down, followed through epochs, truncated, found, allowed, timed."""

from itertools import pairwise

import pytest

from aiopravega import ScalingPolicy, StreamConfiguration, errors
from aiopravega.control import Access, KeyRange
from aiopravega.names import SegmentId


def shape(ranges):
    """Number, epoch and part of the key space of each segment."""
    return [(entry.segment.number, entry.segment.epoch, entry.low, entry.high) for entry in ranges]


@pytest.mark.parametrize("segments", [1, 3, 64])
async def test_a_new_stream_covers_the_key_space(controller, make_stream, segments):
    ranges = await controller.current_segments(await make_stream(segments=segments))

    assert len(ranges) == segments
    assert (ranges[0].low, ranges[-1].high) == (0.0, 1.0)
    assert all(entry.high == following.low for entry, following in pairwise(ranges))


async def test_a_stream_scales_up_and_down_and_remembers_its_epochs(controller, make_stream):
    stream = await make_stream()
    first = SegmentId(stream, 0, 0)

    await controller.scale(stream, [first], [(0.0, 0.5), (0.5, 1.0)], timeout=300)
    halves = await controller.current_segments(stream)
    await controller.scale(stream, [halves[0].segment], [(0.0, 0.25), (0.25, 0.5)], timeout=300)
    split = await controller.current_segments(stream)
    await controller.scale(stream, [entry.segment for entry in split], [(0.0, 1.0)], timeout=300)
    merged = await controller.current_segments(stream)

    assert shape(halves) == [(1, 1, 0.0, 0.5), (2, 1, 0.5, 1.0)]
    assert shape(split) == [(3, 2, 0.0, 0.25), (4, 2, 0.25, 0.5), (2, 1, 0.5, 1.0)]
    assert shape(merged) == [(5, 3, 0.0, 1.0)]
    assert shape(await controller.epoch_segments(stream, 0)) == [(0, 0, 0.0, 1.0)]
    assert [await controller.epoch_segments(stream, epoch) for epoch in (1, 2, 3)] == [halves, split, merged]
    with pytest.raises(errors.NotFoundError, match=f"epoch 4 of stream {stream}"):
        await controller.epoch_segments(stream, 4)


async def test_successors_and_predecessors_follow_the_key_space(controller, make_stream):
    stream = await make_stream()
    first = SegmentId(stream, 0, 0)
    await controller.scale(stream, [first], [(0.0, 0.5), (0.5, 1.0)], timeout=300)
    halves = await controller.current_segments(stream)
    await controller.scale(stream, [entry.segment for entry in halves], [(0.0, 1.0)], timeout=300)
    (merged,) = await controller.current_segments(stream)

    split = await controller.successors(first)
    (last,) = await controller.successors(halves[0].segment)

    assert [KeyRange(entry.segment, entry.low, entry.high) for entry in split] == halves
    assert [entry.predecessors for entry in split] == [(first,), (first,)]
    assert KeyRange(last.segment, last.low, last.high) == merged
    assert set(last.predecessors) == {entry.segment for entry in halves}
    assert await controller.successors(merged.segment) == []


async def test_scaling_below_what_the_policy_asks_for_is_refused(controller, make_stream):
    stream = await make_stream(segments=2)
    current = [entry.segment for entry in await controller.current_segments(stream)]

    with pytest.raises(errors.ScalingError, match=r"would have 1 segments.*policy"):
        await controller.scale(stream, current, [(0.0, 1.0)], timeout=300)


async def test_segments_between_two_cuts_include_all_epochs_between_them(controller, make_stream):
    stream = await make_stream()
    start = {SegmentId(stream, 0, 0): 0}
    await controller.scale(stream, list(start), [(0.0, 0.5), (0.5, 1.0)], timeout=300)
    middle = dict.fromkeys([entry.segment for entry in await controller.current_segments(stream)], 0)
    await controller.scale(stream, list(middle), [(0.0, 1.0)], timeout=300)
    end = dict.fromkeys([entry.segment for entry in await controller.current_segments(stream)], 0)

    assert await controller.segments_between(stream, start, end) == [*start, *sorted(middle), *end]
    assert await controller.segments_between(stream, middle, middle) == sorted(middle)
    with pytest.raises(errors.InvalidRangeError, match=str(stream)):
        await controller.segments_between(stream, end, start)
    with pytest.raises(errors.InvalidStreamCutError, match="never had"):
        await controller.segments_between(stream, {SegmentId(stream, 70, 7): 0}, end)
    with pytest.raises(errors.InvalidStreamCutError, match="no positions"):
        await controller.segments_between(stream, {}, end)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([(0.0, 0.4), (0.5, 1.0)], "without gap or overlap"),
        ([(0.0, 0.6), (0.5, 1.0)], "without gap or overlap"),
        ([(0.0, 0.5)], "without gap or overlap"),
    ],
    ids=["gap", "overlap", "missing"],
)
async def test_a_scaling_that_does_not_fit_is_refused_and_changes_nothing(controller, make_stream, ranges, words):
    stream = await make_stream()
    before = await controller.current_segments(stream)

    with pytest.raises(errors.ScalingError, match=words):
        await controller.scale(stream, [before[0].segment], ranges, timeout=300)

    assert await controller.current_segments(stream) == before


async def test_a_scaling_of_segments_of_the_past_is_refused(controller, make_stream):
    stream = await make_stream()
    old = SegmentId(stream, 0, 0)
    await controller.scale(stream, [old], [(0.0, 0.5), (0.5, 1.0)], timeout=300)

    for segment in (old, SegmentId(stream, 99, 9)):
        with pytest.raises(errors.ScalingError, match="not all current"):
            await controller.scale(stream, [segment], [(0.0, 1.0)], timeout=300)


async def test_a_scaling_that_has_happened_already_is_done(controller, make_stream):
    stream = await make_stream()
    halves = [(0.0, 0.5), (0.5, 1.0)]

    await controller.scale(stream, [SegmentId(stream, 0, 0)], halves, timeout=300)
    await controller.scale(stream, [SegmentId(stream, 0, 0)], halves, timeout=300)

    assert shape(await controller.current_segments(stream)) == [(1, 1, 0.0, 0.5), (2, 1, 0.5, 1.0)]


async def test_a_fixed_policy_scales_the_stream_at_once(controller, make_stream):
    stream = await make_stream(segments=2)

    await controller.update_stream(stream, StreamConfiguration(ScalingPolicy.fixed(1)))

    assert shape(await controller.current_segments(stream)) == [(2, 1, 0.0, 1.0)]


async def test_a_scaling_needs_segments_and_ranges(controller, make_stream):
    stream = await make_stream()

    with pytest.raises(errors.ConfigurationError, match=str(stream)):
        await controller.scale(stream, [], [(0.0, 1.0)], timeout=300)
    with pytest.raises(errors.ConfigurationError, match=str(stream)):
        await controller.scale(stream, [SegmentId(stream, 0, 0)], [], timeout=300)


async def test_truncation_moves_the_head_forward_only(controller, make_stream):
    stream = await make_stream()
    old = {SegmentId(stream, 0, 0): 0}
    assert await controller.head_segments(stream) == old
    await controller.scale(stream, list(old), [(0.0, 0.5), (0.5, 1.0)], timeout=300)
    current = dict.fromkeys([entry.segment for entry in await controller.current_segments(stream)], 0)

    await controller.truncate_stream(stream, current)

    assert await controller.head_segments(stream) == current
    for cut in (old, dict(list(current.items())[:1]), {SegmentId(stream, 70, 7): 0}):
        with pytest.raises(errors.InvalidStreamCutError, match=str(stream)):
            await controller.truncate_stream(stream, cut)
    assert await controller.head_segments(stream) == current


async def test_a_segment_store_is_named_for_every_segment(controller, make_stream):
    segment = SegmentId(await make_stream(), 0, 0)

    endpoint = await controller.endpoint(segment)

    assert endpoint.host
    assert 0 < endpoint.port < 65536


async def test_a_segment_of_no_stream_has_no_successors(controller, make_stream):
    stream = await make_stream()

    assert await controller.successors(SegmentId(stream, 70, 7)) == []
    with pytest.raises(errors.SegmentNotFoundError, match="nowhere"):
        await controller.successors(SegmentId(type(stream)(stream.scope, "nowhere"), 0, 0))


async def test_without_authentication_tokens_are_empty(controller, make_stream):
    assert await controller.delegation_token(await make_stream(), Access.READ_WRITE) == ""


async def test_time_is_noted_forward_only(controller, make_stream):
    stream = await make_stream()
    segment = SegmentId(stream, 0, 0)

    await controller.note_time(stream, "writer", 10, {segment: 100})
    await controller.note_time(stream, "writer", 11, {segment: 100})
    await controller.note_time(stream, "writer", 11, {segment: 100})

    with pytest.raises(errors.ConfigurationError, match=f"writer of stream {stream}.*time"):
        await controller.note_time(stream, "writer", 10, {segment: 100})
    with pytest.raises(errors.InvalidStreamCutError, match="position"):
        await controller.note_time(stream, "writer", 12, {segment: 99})
