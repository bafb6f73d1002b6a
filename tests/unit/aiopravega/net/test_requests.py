# long because: one test per kind of answer, on the scripted server that all share
"""Requests over one shared connection: each gets its own answer, or learns why there is none."""

import asyncio
import random

import pytest

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaTimeoutError, ProtocolError

PATIENT = 60.0


def info(connection, segment="s"):
    return wire.GetStreamSegmentInfo(connection.next_request_id(), segment, "")


def read(connection, offset, length=100):
    return wire.ReadSegment("s", offset, length, "token", connection.next_request_id())


def info_of(request, tail=0):
    return wire.StreamSegmentInfo(request.request_id, request.segment, True, False, False, 0, tail)


def ask(connection, *commands, timeout=PATIENT):
    return [asyncio.create_task(connection.request(command, timeout)) for command in commands]


async def test_answers_out_of_order_reach_their_requests(connect):
    async def play(peer):
        requests = [await peer.receive() for _ in range(200)]
        random.Random(7).shuffle(requests)
        for request in requests:
            peer.send(info_of(request))
        await peer.closed()

    connection = await connect(play)
    commands = [info(connection, f"segment-{number}") for number in range(200)]

    answers = await asyncio.gather(*ask(connection, *commands))

    assert [answer.segment for answer in answers] == [command.segment for command in commands]


async def test_large_answers_between_small_ones(connect):
    data = random.Random(7).randbytes(1 << 21)

    async def play(peer):
        first, large, last = [await peer.receive() for _ in range(3)]
        answer = wire.SegmentRead("s", 0, False, False, data, large.request_id)
        stream = b"".join(map(wire.encode, (info_of(last), answer, info_of(first))))
        for start in range(0, len(stream), 333_333):
            peer.send(stream[start : start + 333_333])
            await asyncio.sleep(0)
        await peer.closed()

    connection = await connect(play)

    first, large, last = await asyncio.gather(
        *ask(connection, info(connection, "first"), read(connection, 0, len(data)), info(connection, "last"))
    )

    assert (first.segment, last.segment) == ("first", "last")
    assert large.data == data


async def test_a_connection_that_is_lost_fails_all_that_wait(connect):
    async def play(peer):
        for _ in range(3):
            await peer.receive()

    connection = await connect(play)

    lost = await asyncio.gather(*ask(connection, *(info(connection) for _ in range(3))), return_exceptions=True)

    assert [type(error) for error in lost] == [PravegaConnectionError] * 3
    assert connection.closed
    with pytest.raises(PravegaConnectionError, match="the connection was closed"):
        await connection.request(info(connection), PATIENT)


async def test_a_connection_that_is_reset_fails_all_that_wait(connect):
    async def play(peer):
        await peer.receive()
        peer.send(b"\0\0")  # half a frame
        peer.reset()

    connection = await connect(play)

    with pytest.raises(PravegaConnectionError, match=str(connection.endpoint)) as lost:
        await connection.request(info(connection), PATIENT)
    assert lost.value.retryable


async def test_no_answer_is_a_time_out_and_a_late_one_is_dropped(connect):
    late = asyncio.Event()

    async def play(peer):
        slow = await peer.receive()
        await late.wait()
        peer.send(info_of(slow, tail=1))
        peer.send(info_of(await peer.receive(), tail=2))
        await peer.closed()

    connection = await connect(play)

    with pytest.raises(PravegaTimeoutError, match=r"did not answer GetStreamSegmentInfo about s within 0\.05 s"):
        await connection.request(info(connection), 0.05)
    late.set()
    answer = await connection.request(info(connection), PATIENT)

    assert answer.write_offset == 2


async def test_a_request_that_is_cancelled_does_not_disturb_the_others(connect):
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def play(peer):
        requests = [await peer.receive() for _ in range(2)]
        asked.set()
        await go_on.wait()
        peer.send(*map(info_of, requests))
        await peer.closed()

    connection = await connect(play)
    cancelled, other = ask(connection, info(connection, "cancelled"), info(connection, "other"))
    await asked.wait()
    cancelled.cancel()
    go_on.set()

    assert (await other).segment == "other"
    with pytest.raises(asyncio.CancelledError):
        await cancelled


@pytest.mark.parametrize(
    ("garbage", "complaint"),
    [
        (b"\xde\xad\xbe\xef" * 4, "unknown command"),
        (b"\0\0\0\x0a\0\0\0\x01\0", "promises"),
        (wire.encode(wire.ReadSegment("s", 0, 1, "", 1)), "ReadSegment, which is not an answer"),
    ],
    ids=["no frame", "no fields", "a request"],
)
async def test_garbage_fails_all_that_wait_and_ends_the_connection(connect, garbage, complaint):
    ended = asyncio.Event()

    async def play(peer):
        first = await peer.receive()
        await peer.receive()
        peer.send(info_of(first), garbage)
        await peer.closed()
        ended.set()

    connection = await connect(play)
    first, second = ask(connection, info(connection, "first"), info(connection, "second"))

    assert (await first).segment == "first"
    with pytest.raises(ProtocolError, match=complaint):
        await second
    assert connection.closed
    await ended.wait()


async def test_answers_that_nobody_waits_for_are_dropped(connect):
    async def play(peer):
        request = await peer.receive()
        peer.send(wire.KeepAlive(), wire.Hello(16, 5), wire.NoSuchSegment(12345, "other"), info_of(request))
        await peer.closed()

    connection = await connect(play)

    assert (await connection.request(info(connection, "mine"), PATIENT)).segment == "mine"


async def test_failures_are_answers(connect):
    async def play(peer):
        peer.send(wire.NoSuchSegment((await peer.receive()).request_id, "s"))
        await peer.closed()

    connection = await connect(play)

    assert isinstance(await connection.request(info(connection), PATIENT), wire.NoSuchSegment)


# --- refused tokens: for reads, the answer names the offset and not the request -----------------------------


async def test_a_refused_token_of_a_read_is_found_by_the_offset(connect):
    async def play(peer):
        refused, fine = await peer.receive(), await peer.receive()
        peer.send(wire.AuthTokenCheckFailed(refused.offset, "", 1))
        peer.send(wire.SegmentRead("s", fine.offset, False, False, b"data", fine.request_id))
        await peer.closed()

    connection = await connect(play)

    refused, fine = await asyncio.gather(*ask(connection, read(connection, 0), read(connection, 4096)))

    assert refused == wire.AuthTokenCheckFailed(0, "", 1)
    assert fine.data == b"data"


async def test_reads_at_one_offset_each_get_their_refusal(connect):
    async def play(peer):
        requests = [await peer.receive() for _ in range(3)]
        for request in requests:
            peer.send(wire.AuthTokenCheckFailed(request.offset, "", 1))
        await peer.closed()

    connection = await connect(play)

    answers = await asyncio.gather(*ask(connection, *(read(connection, 0) for _ in range(3))))

    assert answers == [wire.AuthTokenCheckFailed(0, "", 1)] * 3


async def test_a_read_that_has_its_answer_gets_no_refusal(connect):
    async def play(peer):
        fine, refused = await peer.receive(), await peer.receive()
        peer.send(
            wire.SegmentRead("s", 0, False, False, b"data", fine.request_id),
            wire.AuthTokenCheckFailed(refused.offset, "", 1),
        )
        await peer.closed()

    connection = await connect(play)

    fine, refused = await asyncio.gather(*ask(connection, read(connection, 0), read(connection, 0)))

    assert fine.data == b"data"
    assert refused == wire.AuthTokenCheckFailed(0, "", 1)


async def test_a_refused_token_of_another_request_is_found_by_its_id(connect):
    async def play(peer):
        peer.send(wire.AuthTokenCheckFailed((await peer.receive()).request_id, "", 0))
        await peer.closed()

    connection = await connect(play)

    assert (await connection.request(info(connection), PATIENT)).error_code == 0
