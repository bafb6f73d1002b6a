"""Bounded reads of one segment in bulk: blocks of whole events, for callers that block.

Frames are found by a scan that the caller may replace, and buffers come from the caller too, so that Spark gets Arrow's
without a copy. Only the part of an event that a block cuts off is copied, in front of the next block. An event that is
longer than a block gets its own buffer.
"""

from collections.abc import Callable, Generator, Iterator, Sized
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from aiopravega import wire
from aiopravega.config import PravegaConfig
from aiopravega.cuts import SegmentRange
from aiopravega.errors import EventTooLargeError, MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.read.ahead import REQUEST_BYTES, REQUESTS, Allocate, BulkConnections, Locate, ReadAhead, Window
from aiopravega.read.events import cut_off, no_event, too_large

# A reader has up to three blocks: one in use, one that it waits for, one requested ahead.
BLOCK_BYTES: Final = 8 * 1024 * 1024
# Room in front of a block for the event that the previous block cut off; a longer part costs a copy of the block.
_HEADROOM: Final = 512 * 1024

S = TypeVar("S", bound=Sized)
# Takes a buffer, the start and the end of its bytes and the longest accepted event; returns the positions of all whole
# frames, and the end of the last one.
Scan = Callable[[memoryview, int, int, int], tuple[S, int]]


@dataclass(frozen=True, slots=True)
class EventBlock(Generic[S]):
    """Whole events, back to back.

    `data` holds their frames; the first is at `offset` (in bytes) in the segment. `frames` holds the position of each
    frame in `data`.
    """

    segment: SegmentId
    offset: int
    data: memoryview
    frames: S


class EventBlocks(Iterator[EventBlock[S]]):
    """The blocks of one range, as `BulkReader.read` makes them.

    It keeps no reference to a block that it has given out: the buffer lives only as long as its user needs it.
    """

    def __init__(
        self,
        windows: Generator[Window, None, None],
        wanted: SegmentRange,
        scan: Scan[S],
        allocate: Allocate,
        max_event_bytes: int,
    ) -> None:
        self._windows = windows
        self._wanted, self._scan, self._allocate = wanted, scan, allocate
        self._max_event_bytes = max_event_bytes
        self._position = wanted.start  # of the first byte that is in no block yet
        self._rest = b""  # of an event that continues in the next window
        self._left: memoryview | None = None  # of the window in which a long event ended

    def close(self) -> None:
        """Stop early."""
        self._windows.close()

    def __next__(self) -> EventBlock[S]:
        while (data := self._next_data()) is not None:
            block = self._block(data)
            if len(block.frames):
                return block
        if self._rest:
            raise cut_off(self._wanted, self._position)
        raise StopIteration

    def _next_data(self) -> memoryview | None:
        """The bytes from `_position` on: the next window, or one event that is longer than a window."""
        if self._left is not None:
            left, self._left = self._left, None
            return left
        missing = wire.frame_size(self._rest) - len(self._rest)
        window = None if self._position + len(self._rest) + missing > self._wanted.end else next(self._windows, None)
        if window is None:
            return None
        if missing > window.size:
            return self._long_event(window, len(self._rest) + missing)
        return _joined(self._rest, window, self._allocate)

    def _long_event(self, window: Window, size: int) -> memoryview:
        """The frame of `size` bytes that begins with `_rest` and ends in a later window; each byte is copied once."""
        frame = memoryview(self._allocate(size)).cast("B")
        filled = len(self._rest)
        frame[:filled] = self._rest
        while True:
            fresh = window.buffer[window.headroom :]
            used = min(len(fresh), size - filled)
            frame[filled : filled + used] = fresh[:used]
            filled += used
            if filled == size:
                self._left = fresh[used:] if used < len(fresh) else None
                return frame
            window = next(self._windows)

    def _block(self, data: memoryview) -> EventBlock[S]:
        offset = self._position
        try:
            frames, end = self._scan(data, 0, len(data), self._max_event_bytes)
        except MalformedEventError as error:
            raise no_event(self._wanted, offset + error.at) from error
        except EventTooLargeError as error:
            raise too_large(self._wanted.segment, offset + error.at, error.size, self._max_event_bytes) from error
        self._rest = bytes(data[end:])
        self._position += end
        return EventBlock(self._wanted.segment, offset, data[:end], frames)


class BulkReader:
    """Reads ranges of segments in blocks; keeps its connections for further ranges. Threads may share it.

    Args:
        locate: finds the owner of a segment and a token; `aiopravega.blocking.PravegaClient.locate` does.
        config: time limits, TLS, and the longest event that is accepted.
    """

    def __init__(self, locate: Locate, config: PravegaConfig) -> None:
        self._connections = BulkConnections(locate, config)
        self._max_event_bytes = config.max_event_bytes

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
        """The events of a range in blocks of about `block_bytes`, resumed after failures that pass.

        Args:
            wanted: the range; it must start and end between events.
            scan: finds the frames, such as `aiopravega.wire.scan_frames`.
            allocate: makes a writable buffer of so many bytes, for one block; it is never written again once the
                block is handed out.
            block_bytes: bytes of the segment that are received into one buffer.
            request_bytes: size of one request.
            requests: how many requests are open at a time.

        Raises:
            MalformedEventError: the range starts or ends inside an event.
            EventTooLargeError: an event has more than the configuration's `max_event_bytes`.
            StreamTruncatedError: the range begins before the segment's head.
            SegmentNotFoundError: the segment was deleted, or truncated as a whole.
            PravegaError: any other answer of the server, or why it could not be reached for the retry timeout.
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
        return EventBlocks(ahead.windows(), wanted, scan, allocate, self._max_event_bytes)


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
