"""Receives commands from an asyncio transport with few copies, and knows whether the transport takes more."""

import asyncio
from collections.abc import Callable

from aiopravega import wire
from aiopravega.errors import PravegaError


class CommandReceiver(asyncio.BufferedProtocol):
    """Hands every command to `on_command`, and the end of the connection to `on_closed`, once.

    `writable` is set while the transport takes more; `heard` is set whenever bytes come, and its owner clears it.
    """

    def __init__(
        self, on_command: Callable[[wire.Command], None], on_closed: Callable[[BaseException | None], None]
    ) -> None:
        self._on_command = on_command
        self._on_closed = on_closed
        self._decoder = wire.FrameDecoder()
        self._failure: PravegaError | None = None
        self._transport: asyncio.Transport | None = None
        self.heard = False
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._decoder.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.heard = True
        try:
            for command in self._decoder.received(nbytes):
                self._on_command(command)
        except PravegaError as error:
            self._failure = error
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_closed(self._failure or exc)
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
