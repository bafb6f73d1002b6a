"""One server with all contenders, and streams for them."""

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.measure import Load
from benchmarks.peer import Peer
from benchmarks.readers import BulkContender
from benchmarks.second_tier import settle, storage_of
from benchmarks.spark import SparkContender
from benchmarks.writers import write_events
from pravega_emulator import PravegaEmulator
from pravega_emulator.fetch import ensure_jars
from pravega_emulator.java import find_java

SCOPE = "benchmark"
SEGMENTS = 4
CORES = os.cpu_count() or 1
_WARM_UP = Load("warm-up", 1_000_000, 1_000)
_HEAP_MEGABYTES = 6144
# What is written at a time may have this part of the cache: more than fits ends the server.
_CACHE_SHARE = 2


class Bench:
    """A server and everybody who talks to it, up for all rounds; use it with `with`.

    Args:
        cache_megabytes: of the server.
        folder: for the second tier, the logs, and what the peers complain about.
    """

    def __init__(self, cache_megabytes: int, folder: Path) -> None:
        self._cache_bytes = cache_megabytes * 1_000_000
        self._data = folder / f"server-{cache_megabytes}"
        self._server = PravegaEmulator(
            data=self._data, cache_megabytes=cache_megabytes, heap_megabytes=_HEAP_MEGABYTES, full_jit=True
        )
        self.folder = folder
        self._streams = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.config = stack.enter_context(self._server).config
            uri = self.config.controller_uri
            self.client = stack.enter_context(PravegaClient(self.config))
            self.java = stack.enter_context(Peer.java(find_java(), ensure_jars(), uri, self.folder / "java.log"))
            self.python = stack.enter_context(Peer.python(uri, self.folder / "python.log"))
            self.bulk = stack.enter_context(BulkContender(self.config))
            self.spark = stack.enter_context(SparkContender(uri))
            self.client.create_scope(SCOPE)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def new_stream(self, segments: int = SEGMENTS) -> StreamName:
        """An empty stream that nobody else uses."""
        self._streams += 1
        name = f"run-{self._streams}"
        self.client.create_stream(f"{SCOPE}/{name}", scaling=ScalingPolicy.fixed(segments))
        return StreamName(SCOPE, name)

    def size(self, stream: StreamName) -> int:
        """Bytes that readers see in a stream, headers included."""
        parts = self.client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
        return sum(part.size for part in parts)

    def drop(self, stream: StreamName) -> None:
        """Remove a stream that nobody needs any more."""
        self.client.delete_stream(stream)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of the largest reading processes so far."""
        return {"bulk reader": self.bulk.largest_memory, "Spark task": self.spark.largest_memory}

    def settle(self) -> None:
        """Wait until the server has moved everything to the second tier."""
        settle(self._data)

    def forget(self) -> None:
        """Make the system read the second tier from the disk again, which is otherwise in its page cache as a whole."""
        for root, _, names in os.walk(storage_of(self._data)):
            for name in names:
                with suppress(FileNotFoundError), Path(root, name).open("rb") as file:
                    os.fsync(file.fileno())  # what is not written yet cannot be forgotten
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def fill(self, load: Load, segments: int = SEGMENTS) -> StreamName:
        """A stream that holds a load."""
        stream = self.new_stream(segments)
        for piece in load.pieces(self._cache_bytes // _CACHE_SHARE):
            write_events(self.config, stream, piece)
            self.settle()
        return stream

    def warm_up(self, gigabytes: int) -> None:
        """Write and read so much: a fresh server is three times slower than one that has moved some gigabytes."""
        for number in range(gigabytes):
            stream = self.fill(_WARM_UP)
            self.bulk.read(stream, _WARM_UP.size)
            self.drop(stream)
            print(f"warm-up: {number + 1} of {gigabytes} GB written and read", flush=True)
