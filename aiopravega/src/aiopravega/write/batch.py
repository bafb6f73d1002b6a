"""Blocks of whole events on their way to one segment. No I/O.

A block is the unit that is appended, acknowledged and, after a scaling, taken apart again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from aiopravega import wire
from aiopravega.errors import EventTooLargeError
from aiopravega.routing import SegmentMap

# An append block is at most 16 MiB - 1 with its header; blocks beyond 1 MiB bring no more speed.
BLOCK_BYTES = 1024 * 1024
BLOCK_EVENTS = 1000
LARGEST_BLOCK = 16 * 1024 * 1024 - 1024


@dataclass(frozen=True, slots=True)
class FramedBlock:
    """Whole framed events for one segment.

    `positions` are the events' positions in the key space, by which they find their segment again after a scaling;
    None: they have no routing keys, and may go to any segment.
    """

    payload: bytes | memoryview
    events: int
    positions: Sequence[float] | None = None

    @property
    def size(self) -> int:
        """Bytes, event headers included."""
        return len(self.payload)


def check_event(data: bytes | bytearray | memoryview, largest: int = wire.MAX_EVENT) -> None:
    """Raise `EventTooLargeError` if an event has more than `largest` bytes."""
    if len(data) <= largest:
        return
    way_out = "Split it, or store it elsewhere and write its address"
    if len(data) <= wire.LARGEST_EVENT:
        way_out = f"Write it by a writer with large_events=True (transactions and Spark take none). Or: {way_out}"
    raise EventTooLargeError(
        f"an event of {len(data):,} bytes: this writer takes at most {largest:,}; it was not sent. {way_out}",
        size=len(data),
    )


def keyless_blocks(events: Iterable[bytes]) -> Iterator[FramedBlock]:
    """Events without routing keys in blocks, framed many at a time.

    Raises:
        EventTooLargeError: an event has more than 8 MiB; the ones before it are in earlier blocks.
    """
    source = iter(events)
    while group := list(islice(source, BLOCK_EVENTS)):
        if sum(map(len, group)) + wire.EVENT_HEADER * len(group) <= BLOCK_BYTES:
            yield FramedBlock(wire.frame_events(group), len(group))
        else:
            yield from _blocks_of_large(group)


def _blocks_of_large(events: Sequence[bytes]) -> Iterator[FramedBlock]:
    """Events that are too large for one block; each block has as many as fit, at least one."""
    first, size = 0, 0
    for number, data in enumerate(events):
        framed = wire.EVENT_HEADER + len(data)
        if first < number and (size + framed > BLOCK_BYTES or len(data) > wire.MAX_EVENT):
            yield FramedBlock(wire.frame_events(events[first:number]), number - first)
            first, size = number, 0
        check_event(data)
        size += framed
    yield FramedBlock(wire.frame_events(events[first:]), len(events) - first)


class BatchBuilder:
    """Collects single events into blocks."""

    __slots__ = ("_frames", "_positions", "size")

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._positions: list[float] = []
        self.size = 0

    def add(self, data: bytes | bytearray | memoryview, position: float) -> bool:
        """Add one event; returns True if the block is full."""
        frames = self._frames
        frames.append(wire.event_header(len(data)))
        frames.append(bytes(data))
        self._positions.append(position)
        self.size += wire.EVENT_HEADER + len(data)
        return self.size >= BLOCK_BYTES or len(self._positions) >= BLOCK_EVENTS

    def next_block(self) -> FramedBlock | None:
        """Return the block collected so far, and start a new one; None if it has no event."""
        if not self._positions:
            return None
        block = FramedBlock(b"".join(self._frames), len(self._positions), self._positions)
        self._frames, self._positions, self.size = [], [], 0
        return block


def split_block(block: FramedBlock, segments: SegmentMap) -> list[tuple[int, FramedBlock]]:
    """Take a block apart for another set of segments: pairs of an index into `segments` and a block for it.

    The order of each routing key's events is kept.
    """
    if block.positions is None:
        return [(0, block)]
    frames, whole = wire.scan_frames(block.payload, 0, block.size)
    parts: dict[int, tuple[list[bytes], list[float]]] = {}
    for start, end, position in zip(frames, [*frames[1:], whole], block.positions, strict=True):
        payloads, positions = parts.setdefault(segments.index_for(position), ([], []))
        payloads.append(bytes(block.payload[start:end]))
        positions.append(position)
    return [
        (lane, FramedBlock(b"".join(payloads), len(payloads), positions))
        for lane, (payloads, positions) in parts.items()
    ]
