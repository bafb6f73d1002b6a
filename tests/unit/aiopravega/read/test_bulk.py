# long because: every fault that a server can make is tried with the same few events
"""Bulk reads of one segment: whatever the server does, each event comes whole, once, and in order."""

import random
import uuid
import weakref

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiopravega import SegmentId, SegmentRange, StreamName, wire
from aiopravega.errors import (
    AuthenticationError,
    EventTooLargeError,
    InvalidRangeError,
    MalformedEventError,
    PravegaConnectionError,
    PravegaTimeoutError,
    ProtocolError,
    SegmentNotFoundError,
    StreamTruncatedError,
)
from aiopravega.wire.failures import TOKEN_EXPIRED

SEGMENT = SegmentId(StreamName("scope", "stream"), 3, 1)
NAME = str(SEGMENT)
KB = 1024


def framed(events):
    return b"".join(wire.event_header(len(event)) + event for event in events)


def some_events(count, longest=300, seed=1):
    source = random.Random(seed)
    return [source.randbytes(source.randrange(longest)) for _ in range(count)]


def read(reader, start, end, **sizes):
    """The events of a range, with the offsets of their frames."""
    small = {"block_bytes": 4 * KB, "request_bytes": KB, "requests": 4}
    found = []
    for block in reader.read(SegmentRange(SEGMENT, start, end), scan=wire.scan_frames, **small | sizes):
        assert block.segment == SEGMENT
        ends = [*block.frames[1:], len(block.data)]
        found += [
            (block.offset + at, bytes(block.data[at + wire.EVENT_HEADER : stop]))
            for at, stop in zip(block.frames, ends, strict=True)
        ]
    return found


def at_offsets(events, at=0):
    """The events with the offsets at which they should be found."""
    found = []
    for event in events:
        found.append((at, event))
        at += wire.EVENT_HEADER + len(event)
    return found


EVENTS = some_events(200)
CONTENT = framed(EVENTS)


def test_a_range_comes_as_whole_events_with_their_offsets(serve):
    _, reader = serve(CONTENT)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)


def test_a_range_may_start_and_end_after_any_event(serve):
    _, reader = serve(CONTENT)
    (start, _), (end, _) = at_offsets(EVENTS)[20], at_offsets(EVENTS)[150]

    assert read(reader, start, end) == at_offsets(EVENTS)[20:150]


def test_an_empty_range_asks_for_nothing(serve):
    store, reader = serve(CONTENT)

    assert read(reader, 0, 0) == []
    assert not store.requests


def test_answers_out_of_order_come_in_order(serve):
    held = []

    def in_reversed_pairs(store, request):
        held.append(store.answer(request))
        return [held.pop(), held.pop()] if len(held) == 2 else []

    events = [bytes(120)] * 256  # 32 requests: the last pair is whole
    store, reader = serve(framed(events), in_reversed_pairs)

    assert read(reader, 0, 32 * KB) == at_offsets(events)
    assert len(store.requests) == 32


def test_short_answers_are_asked_for_the_rest(serve):
    lengths = random.Random(2)
    store, reader = serve(CONTENT, lambda store, request: [store.answer(request, lengths.randrange(1, 700))])

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert len(store.requests) > len(CONTENT) / KB


def test_an_empty_answer_at_the_tail_is_asked_for_again(serve):
    def late(store, request):
        asked = sum(earlier.offset == request.offset for earlier in store.requests)
        return [store.answer(request, 0 if asked == 1 and request.offset + KB < len(CONTENT) else None)]

    _, reader = serve(CONTENT, late)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)


def test_events_longer_than_blocks_and_requests_come_whole(serve):
    events = [b"", b"a" * 50 * KB, b"b", b"c" * 11 * KB, b""]
    content = framed(events)
    _, reader = serve(content)

    assert read(reader, 0, len(content)) == at_offsets(events)


def test_the_largest_events_come_whole_in_blocks_of_the_default_size(serve):
    events = [b"small", b"x" * wire.MAX_EVENT, b"y" * wire.MAX_EVENT, b"", b"z" * wire.MAX_EVENT]
    content = framed(events)
    _, reader = serve(content)

    found = read(reader, 0, len(content), block_bytes=wire.MAX_EVENT, request_bytes=KB * KB)

    assert found == at_offsets(events)


def test_an_event_longer_than_a_block_gets_one_buffer_of_its_size(serve):
    events = [b"small", b"L" * 300 * KB, b"next", b"M" * 70 * KB, b"N" * 40 * KB, b""]
    content = framed(events)
    _, reader = serve(content)
    sizes: list[int] = []

    def allocate(size):
        sizes.append(size)
        return bytearray(size)

    assert read(reader, 0, len(content), allocate=allocate) == at_offsets(events)
    assert {40 * KB + 8, 70 * KB + 8, 300 * KB + 8} <= set(sizes)


def test_an_event_beyond_the_limit_is_refused_before_it_gets_a_buffer(serve):
    events = [b"small", b"L" * 300 * KB, b"next"]
    content = framed(events)
    store, reader = serve(content, max_event_bytes=300 * KB - 1)

    with pytest.raises(EventTooLargeError, match=rf"{NAME}: the event at offset 13 has 307,200 bytes.*=307,199") as it:
        read(reader, 0, len(content))

    assert (it.value.at, it.value.size) == (13, 300 * KB)
    assert len(store.requests) < 20


def test_an_event_longer_than_the_range_is_refused_without_a_buffer(serve):
    content = framed([b"small"]) + wire.event_header(wire.LARGEST_EVENT) + bytes(100 * KB)
    _, reader = serve(content)

    with pytest.raises(MalformedEventError, match="ends inside the event at 13"):
        read(reader, 0, len(content))


def test_events_of_no_bytes_are_events(serve):
    content = framed([b""] * 3000)
    _, reader = serve(content)

    assert read(reader, 0, len(content)) == at_offsets([b""] * 3000)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(0, 3000), max_size=40),
    block_bytes=st.integers(100, 5000),
    request_bytes=st.integers(200, 3000),
    requests=st.integers(1, 7),
    answer=st.integers(150, 4000),
)
def test_any_sizes_give_the_same_events(serve, lengths, block_bytes, request_bytes, requests, answer):
    events = [bytes([number]) * length for number, length in enumerate(lengths)]
    content = framed(events)
    _, reader = serve(content, lambda store, request: [store.answer(request, answer)])

    found = read(reader, 0, len(content), block_bytes=block_bytes, request_bytes=request_bytes, requests=requests)

    assert found == at_offsets(events)


def test_a_connection_lost_within_an_answer_continues_where_it_stopped(serve):
    def lost_once(store, request):
        if store.connections == 1 and request.offset == 5 * KB:
            return [store.answer(request)[:300], None]
        return [store.answer(request)]

    store, reader = serve(CONTENT, lost_once)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert store.located == [False, True]
    assert store.connections == 2
    # What had arrived was not asked for again.
    assert [request.offset for request in store.requests].count(0) == 1


def test_a_connection_lost_after_an_answers_data_counts_its_bytes_once(serve):
    def lost_before_the_request_id(store, request):
        whole = store.answer(request)
        return [whole[:-4], None] if store.connections <= 3 else [whole]

    store, reader = serve(CONTENT, lost_before_the_request_id)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert store.connections == 4


def test_a_token_that_expires_is_replaced(serve):
    def expired(store, request):
        # The server answers a refused read with the offset as the request id.
        if request.delegation_token == "token 1" and request.offset >= 3 * KB:
            return [wire.encode(wire.AuthTokenCheckFailed(request.offset, "", TOKEN_EXPIRED))]
        return [store.answer(request)]

    store, reader = serve(CONTENT, expired)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert store.located == [False, True]
    assert {request.delegation_token for request in store.requests} == {"token 1", "token 2"}


def test_a_segment_that_moves_is_located_again(serve):
    def moved(store, request):
        if store.connections == 1 and request.offset >= 2 * KB:
            return [wire.encode(wire.WrongHost(request.request_id, NAME, "elsewhere:1"))]
        return [store.answer(request)]

    store, reader = serve(CONTENT, moved)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert store.located == [False, True]


def test_a_read_that_waited_while_the_segment_was_sealed_is_asked_again(serve):
    def sealed(store, request):
        if len(store.requests) == 1:
            return [wire.encode(wire.SegmentIsSealed(request.request_id, NAME, "", request.offset))]
        return [store.answer(request)]

    store, reader = serve(CONTENT, sealed)

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert store.connections == 1


def test_signs_of_life_between_answers_mean_nothing(serve):
    _, reader = serve(CONTENT, lambda store, request: [wire.encode(wire.KeepAlive()), store.answer(request)])

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)


@pytest.mark.parametrize(
    ("failure", "error", "text"),
    [
        (lambda id_: wire.AuthTokenCheckFailed(id_, "", 2), AuthenticationError, "check the credentials"),
        (lambda id_: wire.SegmentIsTruncated(id_, NAME, 4096), StreamTruncatedError, "starts at offset 4096"),
        (lambda id_: wire.NoSuchSegment(id_, NAME), SegmentNotFoundError, NAME),
        (lambda id_: wire.AppendSetup(id_, NAME, uuid.UUID(int=0), 0), ProtocolError, "AppendSetup"),
    ],
)
def test_what_cannot_pass_is_raised_at_once(serve, failure, error, text):
    store, reader = serve(CONTENT, lambda _, request: [wire.encode(failure(request.request_id))])

    with pytest.raises(error, match=text):
        read(reader, 0, len(CONTENT))
    assert store.connections == 1


def test_a_server_that_is_silent_is_given_up(serve):
    _, reader = serve(CONTENT, lambda store, request: [], retry=0.0, patience=0.2)  # noqa: ARG005 - the script's form

    with pytest.raises(PravegaTimeoutError, match=r"reading .*: receiving from .*: no answer within 0\.2 s"):
        read(reader, 0, len(CONTENT))


def test_a_server_that_hangs_up_is_given_up_after_the_retry_timeout(serve):
    store, reader = serve(CONTENT, lambda store, request: [None], retry=0.5)  # noqa: ARG005 - the script's form

    with pytest.raises(PravegaConnectionError, match="closed the connection"):
        read(reader, 0, len(CONTENT))
    assert store.connections > 1


def test_bytes_that_were_not_requested_are_refused(serve):
    def shifted(_, request):
        return [wire.encode(wire.SegmentRead(NAME, request.offset + 1, False, False, b"?", request.request_id))]

    _, reader = serve(CONTENT, shifted)

    with pytest.raises(ProtocolError, match="was not asked for"):
        read(reader, 0, len(CONTENT))


def test_a_range_that_continues_after_a_sealed_segment_is_refused(serve):
    _, reader = serve(CONTENT)

    with pytest.raises(InvalidRangeError, match=f"{NAME} ends at offset {len(CONTENT)}"):
        read(reader, 0, len(CONTENT) + 100)


def test_a_range_that_starts_inside_an_event_names_offset_and_remedy(serve):
    content = framed([b"\xff" * 100] * 50)
    _, reader = serve(content)

    with pytest.raises(MalformedEventError, match=rf"{NAME}: no event starts at offset 120.*lie between") as raised:
        read(reader, 120, len(content))
    assert raised.value.at == 120


def test_a_bad_event_in_the_middle_is_named_by_its_offset_in_the_segment(serve):
    good = framed([b"good"] * 2000)
    content = good + b"\xff" * 12 + framed([b"more"] * 10)
    _, reader = serve(content)

    with pytest.raises(MalformedEventError, match=f"no event starts at offset {len(good)}"):
        read(reader, 0, len(content))


def test_a_range_that_ends_inside_an_event_names_offset_and_remedy(serve):
    _, reader = serve(CONTENT)
    last, _ = at_offsets(EVENTS)[-1]

    with pytest.raises(
        MalformedEventError, match=rf"{NAME}: the range from 0 to {last + 3} ends inside the event at {last}"
    ):
        read(reader, 0, last + 3)


def test_ranges_share_a_connection(serve):
    store, reader = serve(CONTENT)
    middle, _ = at_offsets(EVENTS)[100]

    assert read(reader, 0, middle) + read(reader, middle, len(CONTENT)) == at_offsets(EVENTS)
    assert store.connections == 1


def test_a_read_that_is_left_early_does_not_disturb_the_next(serve):
    store, reader = serve(CONTENT)
    blocks = reader.read(
        SegmentRange(SEGMENT, 0, len(CONTENT)), scan=wire.scan_frames, block_bytes=2 * KB, request_bytes=KB
    )
    next(blocks)
    blocks.close()

    assert read(reader, 0, len(CONTENT)) == at_offsets(EVENTS)
    assert store.connections == 2


class _Buffer(bytearray):
    """A buffer that can be watched."""


def test_a_reader_has_few_buffers_whatever_the_range(serve):
    content = framed([b"." * 92] * 5000)
    _, reader = serve(content)
    alive: list[int] = []
    most = 0

    def allocate(size):
        nonlocal most
        buffer = _Buffer(size)
        alive.append(size)
        weakref.finalize(buffer, alive.pop)
        most = max(most, len(alive))
        return buffer

    found = read(reader, 0, len(content), allocate=allocate, block_bytes=10 * KB)

    assert len(found) == 5000
    assert most <= 3


def test_as_many_requests_are_under_way_as_allowed(serve):
    waiting = []

    def three_at_a_time(store, request):
        waiting.append(request)
        return [store.answer(waiting.pop()) for _ in range(3)] if len(waiting) == 3 else []

    # With fewer under way the answers would never come.
    store, reader = serve(framed([b"." * 1016] * 9), three_at_a_time)

    assert len(read(reader, 0, 9 * KB, requests=3)) == 9
    assert len(store.requests) == 9
