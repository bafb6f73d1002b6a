"""Appends over a shared connection: bytes go out whole and in order, and acknowledgements find their writers."""

import asyncio
import uuid
from typing import Any

import pytest

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaTimeoutError

PATIENT = 60.0
# More than sockets keep while nobody reads.
MUCH = 96 * 1024 * 1024


class Writer:
    """Registers itself and collects its answers."""

    def __init__(self, connection):
        self.id = uuid.uuid4()
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        self.request_id = connection.register_writer(self.id, self.answers.put_nowait, self.answers.put_nowait)


async def blocks_of(peer):
    """The ends of blocks as they come."""
    while True:
        command = await peer.receive()
        if isinstance(command, wire.AppendBlockEnd):
            yield command


def block(writer, payload, last_event):
    end = wire.AppendBlockEnd(writer.id, len(payload), b"", 1, last_event, writer.request_id)
    return [wire.append_block_header(writer.id, len(payload)), memoryview(payload), wire.encode(end)]


@pytest.mark.parametrize("size", [0, 1, 64 * 1024 - 60, 64 * 1024, 3 * 1024 * 1024])
async def test_the_parts_of_a_block_arrive_as_one(connect, size):
    arrived: asyncio.Queue[Any] = asyncio.Queue()

    async def play(peer):
        for _ in range(4):
            arrived.put_nowait(await peer.receive())
        await peer.closed()

    connection = await connect(play)
    writer = Writer(connection)
    payloads = [bytes([number]) * size for number in (1, 2)]

    for number, payload in enumerate(payloads):
        await connection.send(block(writer, payload, number))

    for number, payload in enumerate(payloads):
        assert await arrived.get() == wire.AppendBlock(writer.id, payload)
        assert (await arrived.get()).last_event_number == number


async def test_acknowledgements_reach_the_writer_whose_id_they_have(connect):
    async def play(peer):
        ends = [await anext(blocks_of(peer)) for _ in range(2)]
        for end in reversed(ends):
            peer.send(wire.DataAppended(end.writer_id, end.last_event_number))
        peer.send(wire.InvalidEventNumber(ends[0].writer_id, 0))
        await peer.closed()

    connection = await connect(play)
    first, second = Writer(connection), Writer(connection)
    await connection.send(block(first, b"one", 10))
    await connection.send(block(second, b"two", 20))

    assert (await first.answers.get()).event_number == 10
    assert isinstance(await first.answers.get(), wire.InvalidEventNumber)
    assert (await second.answers.get()).event_number == 20


@pytest.mark.parametrize(
    "failure",
    [
        wire.SegmentIsSealed(0, "s"),
        wire.NoSuchSegment(0, "s"),
        wire.WrongHost(0, "s", ""),
        wire.AuthTokenCheckFailed(0, "", 1),
        wire.ErrorMessage(0, "s", "why"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_failures_reach_the_writer_by_the_request_id_of_its_appends(connect, failure):
    async def play(peer):
        end = await anext(blocks_of(peer))
        fields = {name: getattr(failure, name) for name, _, _ in failure.LAYOUT}
        peer.send(type(failure)(**fields | {"request_id": end.request_id}))
        await peer.closed()

    connection = await connect(play)
    writer, other = Writer(connection), Writer(connection)

    await connection.send(block(writer, b"data", 1))

    answer = await writer.answers.get()
    assert type(answer) is type(failure)
    assert answer.request_id == writer.request_id
    assert other.answers.empty()


async def test_the_answer_to_a_set_up_belongs_to_its_request(connect):
    async def play(peer):
        setup = await peer.receive()
        peer.send(wire.AppendSetup(setup.request_id, setup.segment, setup.writer_id, 41))
        await peer.closed()

    connection = await connect(play)
    writer = Writer(connection)
    setup = wire.SetupAppend(connection.next_request_id(), writer.id, "s", "")

    assert (await connection.request(setup, PATIENT)).last_event_number == 41
    assert writer.answers.empty()


async def test_a_writer_that_has_gone_gets_nothing(connect):
    async def play(peer):
        gone = await anext(blocks_of(peer))
        peer.send(wire.DataAppended(gone.writer_id, 1), wire.SegmentIsSealed(gone.request_id, "s"))
        stays = await anext(blocks_of(peer))
        peer.send(wire.DataAppended(stays.writer_id, 2))
        await peer.closed()

    connection = await connect(play)
    gone, stays = Writer(connection), Writer(connection)
    await connection.send(block(gone, b"one", 1))
    connection.unregister_writer(gone.id)
    connection.unregister_writer(gone.id)
    await connection.send(block(stays, b"two", 2))

    assert (await stays.answers.get()).event_number == 2
    assert gone.answers.empty()


async def test_all_writers_learn_that_the_connection_is_lost(connect):
    async def play(peer):
        await peer.receive()

    connection = await connect(play)
    writers = [Writer(connection) for _ in range(3)]
    await connection.send(block(writers[0], b"data", 1))

    for writer in writers:
        assert isinstance(await writer.answers.get(), PravegaConnectionError)
        assert writer.answers.empty()


async def test_a_writer_that_comes_too_late_gets_the_error_at_once(connect):
    async def play(peer):
        await peer.closed()

    connection = await connect(play)
    await connection.close()

    assert isinstance(Writer(connection).answers.get_nowait(), PravegaConnectionError)


# --- back-pressure ------------------------------------------------------------------------------------------


async def test_sending_waits_until_the_server_takes_the_bytes(connect):
    begun, go_on = asyncio.Event(), asyncio.Event()
    taken = asyncio.get_running_loop().create_future()

    async def play(peer):
        await peer.reader.readexactly(1)
        begun.set()
        await go_on.wait()
        count = 1
        while count < MUCH:
            count += len(await peer.reader.read(1 << 20))
        taken.set_result(count)
        await peer.closed()

    connection = await connect(play)
    sending = asyncio.create_task(connection.send([memoryview(bytes(MUCH))]))
    await begun.wait()
    await asyncio.sleep(0)
    assert not sending.done()

    go_on.set()
    await sending

    assert await taken >= MUCH


async def test_sending_ends_when_the_connection_does(connect):
    async def play(peer):
        await peer.reader.readexactly(1)
        peer.reset()

    connection = await connect(play)

    with pytest.raises(PravegaConnectionError):
        await connection.send([memoryview(bytes(MUCH))])


async def test_a_request_that_the_server_does_not_take_is_a_time_out(connect):
    async def play(peer):
        await peer.reader.readexactly(1)
        await asyncio.Event().wait()  # until the test is over

    connection = await connect(play)
    sending = asyncio.create_task(connection.send([memoryview(bytes(MUCH))]))
    await asyncio.sleep(0)

    with pytest.raises(PravegaTimeoutError, match="did not answer GetStreamSegmentInfo"):
        await connection.request(wire.GetStreamSegmentInfo(connection.next_request_id(), "s", ""), 0.05)

    await connection.close()
    with pytest.raises(PravegaConnectionError):
        await sending


async def test_nothing_is_written_into_a_connection_that_is_lost(connect, caplog):
    """The loop hears of the loss one round later; who sends block after block without a pause hears of it before."""
    lost = asyncio.Event()

    async def play(peer):
        await peer.receive()
        peer.reset()
        await asyncio.sleep(0)  # the socket is closed in the loop's next round
        lost.set()

    connection = await connect(play)
    writer = Writer(connection)
    await connection.send(block(writer, b"data", 1))
    await lost.wait()

    async def send_many():
        for number in range(2, 100):
            await connection.send(block(writer, b"data", number))

    with pytest.raises(PravegaConnectionError, match="was lost while sending"):
        await send_many()

    assert not caplog.records
