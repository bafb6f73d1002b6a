"""Every command: the bytes of the Java client, and back; what older servers leave out; what cannot be."""

import dataclasses
import json
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import wire
from aiopravega.errors import ProtocolError
from aiopravega.wire.command import COMMANDS as KINDS

WRITER = uuid.UUID(int=42)
FRAMES = json.loads((Path(__file__).parents[3] / "vectors" / "wire.json").read_text())["frames"]


def payload_of(command):
    return wire.encode(command)[wire.FRAME_HEADER :]


def of_older_servers(command):
    """Pairs of a payload that lacks trailing fields, and the command with their defaults."""
    payload = bytearray()
    values: list[object] = []
    for name, field, default in command.LAYOUT:
        if default is not dataclasses.MISSING:
            yield bytes(payload), type(command)(*values)
        values.append(getattr(command, name))
        field.write(payload, values[-1])


def test_no_command_is_without_a_golden_frame(commands):
    assert {kind.__name__ for kind in KINDS.values()} == set(FRAMES) == {type(one).__name__ for one in commands}


def test_a_command_is_written_as_the_java_client_writes_it(command):
    assert wire.encode(command).hex() == FRAMES[type(command).__name__]


def test_a_command_is_read_from_what_the_java_client_writes(command):
    frame = bytes.fromhex(FRAMES[type(command).__name__])

    kind, length = wire.parse_header(frame)

    assert (kind, length) == (command.TYPE, len(frame) - wire.FRAME_HEADER)
    assert wire.decode(kind, frame[wire.FRAME_HEADER :]) == command


def test_fields_of_newer_servers_are_ignored(command):
    newer = wire.decode(command.TYPE, payload_of(command) + b"new")

    if isinstance(command, wire.AppendBlock):  # its events go up to the end
        assert isinstance(newer, wire.AppendBlock)
        assert bytes(newer.data) == bytes(command.data) + b"new"
    else:
        assert newer == command


def test_trailing_fields_that_older_servers_leave_out_have_defaults(command):
    for payload, expected in of_older_servers(command):
        assert wire.decode(command.TYPE, payload) == expected


def test_a_payload_that_ends_too_early_is_refused(command):
    if isinstance(command, wire.AppendBlock):
        return  # its events may end anywhere
    payload = payload_of(command)
    allowed = {len(older) for older, _ in of_older_servers(command)}

    for end in range(len(payload)):
        if end not in allowed:
            with pytest.raises(ProtocolError):
                wire.decode(command.TYPE, payload[:end])


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=200))
def test_garbage_in_a_payload_is_a_command_or_a_protocol_error(kind, payload):
    try:
        command = wire.decode(kind, payload)
    except ProtocolError:
        return
    assert type(command) is KINDS[kind]


@given(st.data())
def test_a_damaged_frame_is_a_command_or_a_protocol_error(commands, data):
    frame = bytearray(wire.encode(data.draw(st.sampled_from(commands))))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))

    try:
        kind, _ = wire.parse_header(frame)
        wire.decode(kind, frame[wire.FRAME_HEADER :])
    except ProtocolError:
        pass


def test_a_text_that_is_not_utf_8_is_read_as_far_as_possible():
    # Java writes NUL as C0 80 and what is beyond 16 bits as two surrogates; a message about it must still be shown.
    message = b"a message\xc0\x80" + "…".encode()
    payload = payload_of(wire.ErrorMessage(1, "s", "x" * len(message), 0)).replace(b"x" * len(message), message)

    read = wire.decode(wire.ErrorMessage.TYPE, payload)

    assert isinstance(read, wire.ErrorMessage)
    assert read.message.startswith("a message")
    assert read.message.endswith("…")


def test_a_text_that_is_too_long_for_the_protocol_is_refused():
    with pytest.raises(ProtocolError, match="65536 bytes does not fit"):
        wire.encode(wire.GetStreamSegmentInfo(1, "s", "t" * 65536))


def test_a_count_that_no_frame_can_hold_is_refused_without_reading_on():
    for count in (-1, 2**31 - 1):
        payload = bytes(8) + count.to_bytes(4, "big", signed=True)
        with pytest.raises(ProtocolError):
            wire.decode(wire.TableEntriesUpdated.TYPE, payload)


def test_what_is_too_long_for_a_frame_is_refused():
    longest = wire.MAX_FRAME - 16

    assert len(wire.encode(wire.AppendBlock(WRITER, bytes(longest)))) == wire.FRAME_HEADER + wire.MAX_FRAME
    assert wire.append_block_header(WRITER, longest)
    with pytest.raises(ProtocolError, match="AppendBlock of 16,777,216 bytes does not fit"):
        wire.encode(wire.AppendBlock(WRITER, bytes(longest + 1)))
    with pytest.raises(ProtocolError, match="AppendBlock of 16,777,216 bytes does not fit"):
        wire.append_block_header(WRITER, longest + 1)


@given(st.uuids(), st.binary(max_size=100))
def test_the_header_of_a_block_and_its_payload_are_the_block(writer, payload):
    assert wire.append_block_header(writer, len(payload)) + payload == wire.encode(wire.AppendBlock(writer, payload))


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("00000063 00000000", "unknown command 99"),
        ("15030100 02024600", "unknown command 352518400"),  # an alert of TLS
        ("0000000a ffffffff", "a frame of -1 bytes"),
        ("0000000a 01000000", "a frame of 16777216 bytes"),
    ],
)
def test_a_header_that_no_segment_store_sends_is_refused(header, complaint):
    with pytest.raises(ProtocolError, match=complaint):
        wire.parse_header(bytes.fromhex(header))
