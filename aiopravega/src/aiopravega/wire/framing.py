"""Frames on a connection: int32 type, int32 length, payload. Bytes in, commands out, and back."""

import struct
import uuid
from collections.abc import Iterator
from typing import Final

from aiopravega.errors import ProtocolError
from aiopravega.wire.command import COMMANDS, Command
from aiopravega.wire.commands import AppendBlock

FRAME_HEADER: Final = 8
MAX_FRAME: Final = 0x00FF_FFFF
_HEADER = struct.Struct(">ii")
_WRITER_ID_BYTES = 16
# Frames up to this size, header included, are parsed where they arrive; a larger one gets its own buffer.
_SCRATCH = 64 * 1024


def _check_payload(kind: type[Command], length: int) -> None:
    if length > MAX_FRAME:
        raise ProtocolError(f"{kind.__name__} of {length:,} bytes does not fit into a frame of {MAX_FRAME:,}")


def encode(command: Command) -> bytes:
    """A whole frame.

    Raises:
        ProtocolError: the command is too long for one.
    """
    frame = bytearray(FRAME_HEADER)
    command.write_fields(frame)
    length = len(frame) - FRAME_HEADER
    _check_payload(type(command), length)
    _HEADER.pack_into(frame, 0, command.TYPE, length)
    return bytes(frame)


def append_block_header(writer_id: uuid.UUID, payload_length: int) -> bytes:
    """The frame of an `AppendBlock` up to its payload, which then need not be copied.

    Raises:
        ProtocolError: the payload is too long for a frame.
    """
    length = _WRITER_ID_BYTES + payload_length
    _check_payload(AppendBlock, length)
    return _HEADER.pack(AppendBlock.TYPE, length) + writer_id.bytes


def parse_header(header: bytes | bytearray | memoryview, at: int = 0) -> tuple[int, int]:
    """Type and payload length of a frame.

    Raises:
        ProtocolError: no command has this type, or no frame this length.
    """
    kind, length = _HEADER.unpack_from(header, at)
    if kind not in COMMANDS:
        raise ProtocolError(
            f"unknown command {kind}: the other side speaks another protocol (TLS?) or another version of Pravega's"
        )
    if not 0 <= length <= MAX_FRAME:
        raise ProtocolError(f"a frame of {length} bytes: the other side does not speak Pravega's protocol")
    return kind, length


def decode(kind: int, payload: bytes | bytearray | memoryview) -> Command:
    """The command in a frame's payload; `kind` is one that `parse_header` has passed.

    Raises:
        ProtocolError: the payload does not fit the command.
    """
    return COMMANDS[kind].read_fields(memoryview(payload))


class FrameDecoder:
    """Cuts what is received into commands.

    The receiver puts bytes into `buffer()` and then says to `received` how many they are; so the payload of a
    large frame arrives in the memory where the command keeps it. After a `ProtocolError` nothing more can be read.
    """

    def __init__(self) -> None:
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._filled = 0
        self._large: memoryview | None = None
        self._large_kind = 0
        self._large_filled = 0

    def buffer(self) -> memoryview:
        """The buffer for the next bytes; it has room for at least one."""
        if self._large is not None:
            return self._large[self._large_filled :]
        return self._scratch[self._filled :]

    def received(self, count: int) -> Iterator[Command]:
        """The commands that are whole with the next `count` bytes; they must all be taken before more is received.

        Raises:
            ProtocolError: the bytes are not frames.
        """
        if self._large is None:
            self._filled += count
            yield from self._parse()
            return
        self._large_filled += count
        if self._large_filled == len(self._large):
            payload, self._large = self._large, None
            yield decode(self._large_kind, payload)

    def _parse(self) -> Iterator[Command]:
        at = 0
        while self._filled - at >= FRAME_HEADER:
            kind, length = parse_header(self._scratch, at)
            start, end = at + FRAME_HEADER, at + FRAME_HEADER + length
            if end <= self._filled:
                # Copied, because the command may keep views of its payload and the scratch is written again.
                yield decode(kind, bytes(self._scratch[start:end]))
                at = end
                continue
            if end - at > _SCRATCH:
                self._begin_large(kind, length, self._scratch[start : self._filled])
                at = self._filled
            break
        rest = self._filled - at
        if at and rest:
            self._scratch[:rest] = bytes(self._scratch[at : self._filled])
        self._filled = rest

    def _begin_large(self, kind: int, length: int, beginning: memoryview) -> None:
        self._large = memoryview(bytearray(length))
        self._large_kind = kind
        self._large_filled = len(beginning)
        self._large[: len(beginning)] = beginning
