"""Bounded reads of one segment in bulk: blocks of whole events, for callers that block.

Frames are found by a scan that the caller may replace, and buffers come from the caller too, so that Spark gets
Arrow's without a copy. Only the part of an event that a block cuts off is copied, in front of the next block.
"""

from collections.abc import Callable, Generator, Iterator, Sized
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from aiopravega.config import PravegaConfig
from aiopravega.cuts import SegmentRange
from aiopravega.errors import MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.read.ahead import REQUEST_BYTES, REQUESTS, Allocate, BulkConnections, Locate, ReadAhead, Window

# A reader has up to three blocks: one that is used, one that is waited for, one that is asked for ahead.
BLOCK_BYTES: Final = 8 * 1024 * 1024
# Room in front of a block for the event that the one before cut off; a longer part costs a copy of the block.
_HEADROOM: Final = 512 * 1024

S = TypeVar("S", bound=Sized)
# From a buffer, the start and the end of its bytes to the positions of all whole frames, and the end of the last one.
Scan = Callable[[memoryview, int, int], tuple[S, int]]


@dataclass(frozen=True, slots=True)
class EventBlock(Generic[S]):
    """Whole events, back to back.

    `data` holds their frames, of which the first is at `offset` (in bytes) in the segment, and `frames` the
    position of each frame in `data`.
    """

    segment: SegmentId
    offset: int
    data: memoryview
    frames: S


class EventBlocks(Iterator[EventBlock[S]]):
    """The blocks of one range, as `BulkReader.read` makes them.

    It keeps nothing of a block that it has given out: the buffer lives only as long as its user wants.
    """

    def __init__(
        self, windows: Generator[Window, None, None], wanted: SegmentRange, scan: Scan[S], allocate: Allocate
    ) -> None:
        self._windows = windows
        self._wanted, self._scan, self._allocate = wanted, scan, allocate
        self._rest = b""  # of an event that continues in the next window

    def close(self) -> None:
        """Stop early."""
        self._windows.close()

    def __next__(self) -> EventBlock[S]:
        for window in self._windows:
            block = self._block(window)
            if len(block.frames):
                return block
        if self._rest:
            wanted, at = self._wanted, self._wanted.end - len(self._rest)
            raise MalformedEventError(
                f"{wanted.segment}: the range from {wanted.start} to {wanted.end} ends inside the event at {at}, or "
                "starts inside one: use StreamCuts that lie between events",
                at=at,
            )
        raise StopIteration

    def _block(self, window: Window) -> EventBlock[S]:
        data = _joined(self._rest, window, self._allocate)
        offset = window.end - len(data)
        try:
            frames, end = self._scan(data, 0, len(data))
        except MalformedEventError as error:
            raise _no_event(self._wanted, offset + error.at) from error
        self._rest = bytes(data[end:])
        return EventBlock(self._wanted.segment, offset, data[:end], frames)


class BulkReader:
    """Reads ranges of segments in blocks; keeps its connections for further ranges. Threads may share it.

    Args:
        locate: finds the owner of a segment and a token; `aiopravega.blocking.PravegaClient.locate` does.
        config: time limits and TLS.
    """

    def __init__(self, locate: Locate, config: PravegaConfig) -> None:
        self._connections = BulkConnections(locate, config)

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()

    def read(
        self,
        wanted: SegmentRange,
        *,
        scan: Scan[S],
        allocate: Allocate = bytearray,
        block_bytes: int = BLOCK_BYTES,
        request_bytes: int = REQUEST_BYTES,
        requests: int = REQUESTS,
    ) -> "EventBlocks[S]":
        """The events of a range in blocks of about `block_bytes`, resumed where it stopped after failures that pass.

        Args:
            wanted: the range; it must start and end between events.
            scan: finds the frames; `aiopravega.wire.scan_frames` does.
            allocate: makes a writable buffer of so many bytes, for one block; it is never written again once the
                block is handed out.
            block_bytes: bytes of the segment that are received into one buffer.
            request_bytes: asked for by one request.
            requests: how many are under way.

        Raises:
            MalformedEventError: the range starts or ends inside an event.
            StreamTruncatedError: the range begins before the segment's head.
            SegmentNotFoundError: the segment was deleted, or truncated as a whole.
            PravegaError: what else the server answers, or why it could not be reached for the retry timeout.
        """
        ahead = ReadAhead(
            self._connections,
            wanted,
            window_bytes=block_bytes,
            headroom=min(_HEADROOM, wanted.size),
            allocate=allocate,
            request_bytes=request_bytes,
            requests=requests,
        )
        return EventBlocks(ahead.windows(), wanted, scan, allocate)


def _joined(rest: bytes, window: Window, allocate: Allocate) -> memoryview:
    """The window's bytes with `rest`, the end of the window before, in front of them."""
    start = window.headroom - len(rest)
    if start >= 0:
        window.buffer[start : window.headroom] = rest
        return window.buffer[start:]
    fresh = window.buffer[window.headroom :]
    joined = memoryview(allocate(len(rest) + len(fresh))).cast("B")
    joined[: len(rest)] = rest
    joined[len(rest) :] = fresh
    return joined


def _no_event(wanted: SegmentRange, offset: int) -> MalformedEventError:
    return MalformedEventError(
        f"{wanted.segment}: no event starts at offset {offset}, in the range from {wanted.start} to {wanted.end}: "
        "a StreamCut lies inside an event, or the stream was written by something else than Pravega's event writers. "
        "Use StreamCuts that lie between events",
        at=offset,
    )
