"""The segments of one epoch as lanes: events are batched per lane, and blocks go to its appender.

Shared by the event writer, which changes lanes when the stream scales, and the transaction, which never does.
"""

import asyncio
import random
import uuid
from collections.abc import Sequence

from aiopravega.control import KeyRange
from aiopravega.errors import PravegaError
from aiopravega.routing import SegmentMap
from aiopravega.store import SegmentStore
from aiopravega.write.appender import SegmentAppender
from aiopravega.write.batch import BatchBuilder, FramedBlock

# Bytes in flight for all lanes together, if the server is quick (see `SendWindow`):
# two blocks of 1 MiB in flight on each of four segments keep it as busy as more do.
MAX_IN_FLIGHT = 8 * 1024 * 1024
_LEAST_PER_LANE = 256 * 1024


class Lanes:
    """One batch builder and one appender per segment."""

    def __init__(
        self,
        store: SegmentStore,
        segments: Sequence[KeyRange],
        txn_id: uuid.UUID | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self.map = SegmentMap(segments)
        share = max(_LEAST_PER_LANE, max_in_flight // len(self.map.segments))
        self.appenders = [
            SegmentAppender(store, segment, str(segment) if txn_id is None else segment.transaction(txn_id), share)
            for segment in self.map.segments
        ]
        self.builders = [BatchBuilder() for _ in self.appenders]
        self._turn = random.randrange(len(self.appenders))  # many small writers must not share one segment

    def add(self, data: bytes | bytearray | memoryview, position: float) -> int | None:
        """Batch one event; returns the lane whose block is full now, if any."""
        lane = self.map.index_for(position)
        return lane if self.builders[lane].add(data, position) else None

    def emit(self, lane: int) -> FramedBlock | None:
        """Hand the lane's batch to its appender; returns it if the appender has stopped."""
        block = self.builders[lane].next_block()
        return None if block is None else self.enqueue(lane, block)

    def enqueue(self, lane: int, block: FramedBlock) -> FramedBlock | None:
        """Hand a block to a lane's appender; returns it if the appender has stopped."""
        try:
            self.appenders[lane].enqueue(block)
        except PravegaError:
            return block
        return None

    def next_lane(self) -> int:
        """The lane for a block that may go anywhere: each in turn."""
        self._turn = (self._turn + 1) % len(self.appenders)
        return self._turn

    async def drained(self) -> None:
        """Wait until all that was handed over is durable."""
        await asyncio.gather(*(appender.drained() for appender in self.appenders))

    async def close(self) -> None:
        """Stop all appenders."""
        await asyncio.gather(*(appender.close() for appender in self.appenders))
