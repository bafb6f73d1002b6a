"""Receives frames from an asyncio transport with few copies: large frames go straight into their own buffer."""

import asyncio
from collections.abc import Callable

from aiopravega import wire
from aiopravega.errors import PravegaError

# Frames up to this size are parsed in place; a larger one gets a buffer of its own.
_SCRATCH = 64 * 1024


class FrameReceiver(asyncio.BufferedProtocol):
    """Hands every command to `on_command`, and the end of the connection to `on_closed`, once."""

    def __init__(
        self, on_command: Callable[[wire.Command], None], on_closed: Callable[[BaseException | None], None]
    ) -> None:
        self._on_command = on_command
        self._on_closed = on_closed
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._filled = 0
        self._large: memoryview | None = None
        self._large_kind = 0
        self._large_filled = 0
        self._failure: PravegaError | None = None
        self._transport: asyncio.Transport | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._large is not None:
            return self._large[self._large_filled :]
        return self._scratch[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        try:
            if self._large is None:
                self._filled += nbytes
                self._parse()
                return
            self._large_filled += nbytes
            if self._large_filled == len(self._large):
                whole, self._large = self._large, None
                self._on_command(wire.decode(self._large_kind, whole))
        except PravegaError as error:
            self._failure = error
            if self._transport is not None:
                self._transport.abort()

    def _parse(self) -> None:
        at = 0
        while self._filled - at >= wire.FRAME_HEADER:
            kind, length = wire.parse_header(self._scratch, at)
            start = at + wire.FRAME_HEADER
            if start + length <= self._filled:
                at = start + length
                self._on_command(wire.decode(kind, bytes(self._scratch[start:at])))
                continue
            if wire.FRAME_HEADER + length > _SCRATCH:
                self._large = memoryview(bytearray(length))
                self._large_kind = kind
                self._large_filled = self._filled - start
                self._large[: self._large_filled] = self._scratch[start : self._filled]
                at = self._filled
            break
        rest = self._filled - at
        if at and rest:
            self._scratch[:rest] = bytes(self._scratch[at : self._filled])
        self._filled = rest

    def connection_lost(self, exc: Exception | None) -> None:
        self.writable.set()
        self._on_closed(self._failure or exc)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
