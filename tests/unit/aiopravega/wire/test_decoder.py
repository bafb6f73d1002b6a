"""Frames are cut out of whatever pieces the network brings."""

import contextlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import ProtocolError

# Up to this size, with its header, a frame is parsed where it arrives.
IN_PLACE = 64 * 1024
READ = wire.SegmentRead("s/t/0.#epoch.0", 0, False, False, b"", 1)
READ_FRAME = len(wire.encode(READ))


def feed(decoder, data):
    """Give bytes to a decoder as a socket does: never more at once than there is room for."""
    commands = []
    rest = memoryview(data)
    while rest:
        room = decoder.buffer()
        assert room
        count = min(len(room), len(rest))
        room[:count] = rest[:count]
        commands += decoder.received(count)
        rest = rest[count:]
    return commands


def a_read_of(size):
    return wire.SegmentRead("s/t/0.#epoch.0", 7, True, False, (bytes(range(256)) * (size // 256 + 1))[:size], 1)


def test_a_frame_that_comes_whole(command):
    assert feed(wire.FrameDecoder(), wire.encode(command)) == [command]


def test_a_frame_that_comes_byte_by_byte(command):
    decoder = wire.FrameDecoder()
    frame = wire.encode(command)

    for at in range(len(frame) - 1):
        assert feed(decoder, frame[at : at + 1]) == []
    assert feed(decoder, frame[-1:]) == [command]


def test_a_frame_with_the_beginning_of_the_next_one_after_it(command):
    decoder = wire.FrameDecoder()
    following = wire.encode(wire.Hello(16, 5))

    for cut in range(len(following)):
        assert feed(decoder, wire.encode(command) + following[:cut]) == [command]
        assert feed(decoder, following[cut:]) == [wire.Hello(16, 5)]


def test_many_frames_at_once_come_in_their_order(commands):
    assert feed(wire.FrameDecoder(), b"".join(map(wire.encode, commands))) == commands


@given(st.data())
def test_the_pieces_do_not_matter(commands, data):
    chosen = data.draw(st.lists(st.sampled_from([*commands, a_read_of(IN_PLACE), a_read_of(200_000)]), max_size=6))
    stream = b"".join(map(wire.encode, chosen))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    decoder = wire.FrameDecoder()

    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += feed(decoder, stream[start:end])

    assert found == chosen


@pytest.mark.parametrize("length", [IN_PLACE - 1, IN_PLACE, IN_PLACE + 1, 2 * IN_PLACE, 1 << 21])
def test_frames_around_the_size_that_is_parsed_in_place(length):
    command = a_read_of(length - READ_FRAME)
    frame = wire.encode(command)
    assert len(frame) == length

    assert feed(wire.FrameDecoder(), frame * 3) == [command] * 3


def test_the_longest_frame_is_read():
    command = wire.AppendBlock(uuid.UUID(int=1), bytes(wire.MAX_FRAME - 16))

    assert feed(wire.FrameDecoder(), wire.encode(command)) == [command]


def test_the_data_of_a_large_frame_stays_where_it_was_received():
    decoder = wire.FrameDecoder()
    frame = wire.encode(a_read_of(1 << 20))
    feed(decoder, frame[:IN_PLACE])
    memory = decoder.buffer().obj

    (read,) = feed(decoder, frame[IN_PLACE:])

    assert read.data.obj is memory


def test_a_command_that_is_kept_does_not_change_when_more_is_received():
    decoder = wire.FrameDecoder()
    (kept,) = feed(decoder, wire.encode(a_read_of(1000)))
    before = bytes(kept.data)

    feed(decoder, wire.encode(wire.SegmentRead("other", 0, False, False, b"!" * 5000, 2)))

    assert kept.data == before


def test_commands_in_front_of_garbage_are_still_found(command):
    decoder = wire.FrameDecoder()
    data = wire.encode(command) + b"\xde\xad\xbe\xef" * 4
    decoder.buffer()[: len(data)] = data
    commands = decoder.received(len(data))

    assert next(commands) == command
    with pytest.raises(ProtocolError, match="unknown command"):
        next(commands)


@given(st.lists(st.binary(max_size=100), max_size=5))
def test_garbage_is_commands_or_a_protocol_error(pieces):
    decoder = wire.FrameDecoder()
    with contextlib.suppress(ProtocolError):
        for piece in pieces:
            assert all(isinstance(command, wire.Command) for command in feed(decoder, piece))


@given(st.data())
def test_damaged_frames_are_commands_or_a_protocol_error(commands, data):
    stream = bytearray(b"".join(map(wire.encode, data.draw(st.permutations(commands)))))
    for at in data.draw(st.lists(st.integers(0, len(stream) - 1), min_size=1, max_size=5)):
        stream[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ProtocolError):
        assert all(isinstance(command, wire.Command) for command in feed(wire.FrameDecoder(), stream))
