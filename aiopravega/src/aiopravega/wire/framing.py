"""Frames on a connection: int32 type, int32 length, payload. Bytes in, commands out, and back."""

import struct
import uuid
from collections.abc import Iterator
from typing import Final

from aiopravega.errors import ProtocolError
from aiopravega.wire.command import COMMANDS, Command, Reply
from aiopravega.wire.commands import AppendBlock

FRAME_HEADER: Final = 8
MAX_FRAME: Final = 0x00FF_FFFF
_HEADER = struct.Struct(">ii")
_WRITER_ID_BYTES = 16


def encode(command: Command) -> bytes:
    """A whole frame."""
    frame = bytearray(FRAME_HEADER)
    command.write_fields(frame)
    _HEADER.pack_into(frame, 0, command.TYPE, len(frame) - FRAME_HEADER)
    if len(frame) - FRAME_HEADER > MAX_FRAME:
        raise ProtocolError(f"{type(command).__name__} of {len(frame):,} bytes does not fit into a frame")
    return bytes(frame)


def append_block_header(writer_id: uuid.UUID, payload_length: int) -> bytes:
    """The frame of an `AppendBlock` up to its payload, which then need not be copied."""
    return _HEADER.pack(AppendBlock.TYPE, _WRITER_ID_BYTES + payload_length) + writer_id.bytes


def parse_header(header: bytes | bytearray | memoryview, at: int = 0) -> tuple[int, int]:
    """Type and payload length of a frame.

    Raises:
        ProtocolError: no command has this type, or no frame this length.
    """
    kind, length = _HEADER.unpack_from(header, at)
    if kind not in COMMANDS:
        raise ProtocolError(f"unknown command {kind}: the other side does not speak Pravega's protocol, or a newer one")
    if not 0 <= length <= MAX_FRAME:
        raise ProtocolError(f"a frame of {length} bytes: the other side does not speak Pravega's protocol")
    return kind, length


def decode(kind: int, payload: bytes | memoryview) -> Command:
    """The command in a frame's payload.

    Raises:
        ProtocolError: the payload does not fit the command.
    """
    return COMMANDS[kind].read_fields(memoryview(payload))


class FrameDecoder:
    """Cuts a stream of bytes into commands; keeps what is not whole yet."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> list[Reply]:
        """Take bytes; returns the commands that are whole now.

        Raises:
            ProtocolError: the bytes are no frames.
        """
        self._waiting += data
        return list(self._whole())

    def _whole(self) -> Iterator[Reply]:
        at = 0
        try:
            while len(self._waiting) - at >= FRAME_HEADER:
                kind, length = parse_header(self._waiting, at)
                start, end = at + FRAME_HEADER, at + FRAME_HEADER + length
                if end > len(self._waiting):
                    return
                command = decode(kind, bytes(memoryview(self._waiting)[start:end]))
                at = end
                if isinstance(command, Reply):
                    yield command
                else:
                    raise ProtocolError(f"{type(command).__name__} is not an answer")
        finally:
            del self._waiting[:at]
