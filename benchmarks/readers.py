"""Our readers: the bulk reader in processes of its own, one a core."""

import multiprocessing
import os
import resource
from functools import cache
from types import TracebackType
from typing import Self

import pyarrow as pa

from aiopravega import UNBOUNDED, PravegaConfig, SegmentRange, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.read.ahead import REQUESTS
from aiopravega.read.bulk import BulkReader
from aiopravega.schema.arrow.frames import find_frames
from benchmarks.measure import Measured, stopwatch


@cache
def _reader(config: PravegaConfig) -> BulkReader:
    """The reader of this worker process, up for all rounds."""
    client = PravegaClient(config)
    return BulkReader(client.locate, config)


def _allocate(size: int) -> memoryview:
    return memoryview(pa.allocate_buffer(size))  # not zeroed, and what Spark's readers use


def _read_part(config: PravegaConfig, wanted: SegmentRange, requests: int) -> tuple[int, int]:
    """Events, and the worker's largest memory in bytes."""
    blocks = _reader(config).read(wanted, scan=find_frames, allocate=_allocate, requests=requests)
    events = sum(len(block.frames) for block in blocks)
    return events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class BulkContender:
    """The bulk reader in one process per core, up for all rounds; use it with `with`."""

    def __init__(self, config: PravegaConfig) -> None:
        self._config = config
        self.largest_memory = 0

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        self._pool = context.Pool(os.cpu_count())
        self._client = PravegaClient(self._config)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.terminate()
        self._pool.join()
        self._client.close()

    def read(self, stream: StreamName, size: int, tasks: int = 1, requests: int = REQUESTS) -> Measured:
        """All events of a stream; `size` is that of one event, for the payload's bytes.

        Args:
            stream: that is read.
            size: in bytes.
            tasks: at least so many pieces of each segment can be read at a time.
            requests: under way in each of them.
        """
        with stopwatch() as watch:
            parts = self._client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
            pieces = self._client.split_segments(dict.fromkeys(parts, tasks))
            done = self._pool.starmap(_read_part, [(self._config, piece, requests) for piece in pieces], chunksize=1)
        self.largest_memory = max(self.largest_memory, *(memory for _, memory in done))
        events = sum(count for count, _ in done)
        return Measured(events, events * size, watch.seconds)
