"""Tails of streams, requested again and again with few requests, so that a process can watch many streams."""

import asyncio
from dataclasses import dataclass
from typing import Self

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.errors import SegmentNotFoundError
from aiopravega.names import SegmentId, StreamName


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a stream at some moment; `is_sealed` is true if the stream is sealed, so that no event follows."""

    cut: StreamCut
    is_sealed: bool

    @classmethod
    async def of(cls, client: PravegaClient, stream: StreamName) -> Self:
        """Request the present end.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        # Requested before the tail: no event follows the tail of a sealed stream.
        is_sealed = await client.is_sealed(stream)
        return cls(await client.tail(stream), is_sealed)


class TailWatch:
    """Requests the end of one stream, from the controller only when the segments have changed.

    As long as no segment at the tail is sealed or gone, the stream was neither scaled, sealed nor deleted: then one
    request to a segment store for each segment is enough.
    """

    def __init__(self, stream: StreamName) -> None:
        self._stream = stream
        self._open: tuple[SegmentId, ...] = ()

    async def check(self, client: PravegaClient) -> Tail:
        """Request the present end.

        Raises:
            StreamNotFoundError: there is no such stream any more.
        """
        known = await self._without_controller(client)
        if known is not None:
            return Tail(known, is_sealed=False)
        self._open = ()
        tail = await Tail.of(client, self._stream)
        if not tail.is_sealed:
            self._open = tuple(tail.cut.positions)
        return tail

    async def _without_controller(self, client: PravegaClient) -> StreamCut | None:
        if not self._open:
            return None
        try:
            infos = await asyncio.gather(*(client.store.info(segment) for segment in self._open))
        except SegmentNotFoundError:
            return None
        if any(info.sealed for info in infos):
            return None
        return StreamCut(self._stream, {s: info.write_offset for s, info in zip(self._open, infos, strict=True)})
