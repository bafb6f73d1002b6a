"""Where a stream ends, asked again and again as cheaply as the servers allow.

For waiting for many streams at once. What a caller waits for is not known here.
"""

import asyncio
from dataclasses import dataclass
from typing import Self

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.errors import SegmentNotFoundError
from aiopravega.names import SegmentId, StreamName


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a stream at some moment, and whether the stream is sealed, so that nothing comes after it."""

    cut: StreamCut
    is_sealed: bool

    @classmethod
    async def of(cls, client: PravegaClient, stream: StreamName) -> Self:
        """The end as it is now.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        # Asked before the tail: nothing comes after the tail of a sealed stream.
        is_sealed = await client.is_sealed(stream)
        return cls(await client.tail(stream), is_sealed)


class TailWatch:
    """Asks for the end of one stream. The controller is asked only when the segments are not those of before.

    As long as none of the segments that took events is sealed or gone, the stream was neither scaled, sealed nor
    deleted: then one request to a segment store for each segment is enough.
    """

    def __init__(self, stream: StreamName) -> None:
        self._stream = stream
        self._open: tuple[SegmentId, ...] = ()

    async def check(self, client: PravegaClient) -> Tail:
        """The end as it is now.

        Raises:
            StreamNotFoundError: there is no such stream any more.
        """
        known = await self._without_controller(client)
        if known is not None:
            return Tail(known, is_sealed=False)
        self._open = ()
        found = await Tail.of(client, self._stream)
        if not found.is_sealed:
            self._open = tuple(found.cut.positions)
        return found

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
