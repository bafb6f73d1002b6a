"""The cost of row hashes in a whole exactly-once write: the same write with them, without, and as before.

    python -m benchmarks.whole_writes

A write is all that a task and a driver do, in this process: begin, frame and hash the rows, send them into a
transaction, decide, commit, wait until they are visible. Spark itself is not in it, so that the shares are higher than
those of a job. In each round every contender writes the same rows into a stream of its own, in random order. CPU is
that of this process and the server: it counts where others use the machine as well.
"""

import argparse
import os
import random
import statistics
import sys
import time
import uuid
import zlib
from collections.abc import Iterator
from typing import Final
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, StructType

from aiopravega import PravegaConfig, ScalingPolicy, StreamName, wire
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import Fingerprint, PartitionCommit
from benchmarks.processes import cpu_seconds
from pravega_emulator import PravegaEmulator
from pyspark_pravega.write import partition
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.lanes import chunks
from pyspark_pravega.write.row_hashes import RowTally

_SEGMENTS: Final = 4
_CHUNK_BYTES: Final = 4_000_000  # what a task has at a time, for a stream of four segments
_LEASE: Final = 120.0
# Rounds that nobody counts.
_WARM_UP: Final = 3
_MICROSECONDS: Final = 1e6
_OFFSET: Final = np.dtype(np.int32)
HASHES, CRC, NOTHING = "hashes", "CRC-32, as before", "nothing"

Round = dict[str, tuple[float, float]]


class _Counted(RowTally):
    """Rows are counted only."""

    def add(self, events: pa.BinaryArray, positions: npt.NDArray[np.float64] | None) -> None:
        del positions
        size = (pc.sum(pc.binary_length(events)).as_py() or 0) + len(events) * wire.EVENT_HEADER
        self.fingerprint += Fingerprint(len(events), size, 0)


class _Summed(_Counted):
    """Rows are counted, and a CRC-32 runs over all their bytes, as the releases before the hashes did."""

    _crc = 0

    def add(self, events: pa.BinaryArray, positions: npt.NDArray[np.float64] | None) -> None:
        super().add(events, positions)
        _, buffer, data = events.buffers()
        offsets = np.frombuffer(buffer, _OFFSET, len(events) + 1, events.offset * _OFFSET.itemsize)
        self._crc = zlib.crc32(memoryview(data)[offsets[0] : offsets[-1]], self._crc)


CONTENDERS: Final = {HASHES: RowTally, CRC: _Summed, NOTHING: _Counted}


def write(client: PravegaClient, stream: StreamName, rows: pa.RecordBatch, tally: type[RowTally]) -> None:
    """A whole write of one task."""
    ledger = client.commit_ledger(stream.scope)
    ledger.create()
    ledger.mark(stream)
    job = ledger.protocol().begin(stream, "benchmark", uuid.uuid4())
    transaction = client.open_transaction(stream, lease=_LEASE)
    columns = SinkColumns.find(StructType().add("event", BinaryType()))
    with mock.patch.object(partition, "RowTally", tally):
        writer = partition.TransactionWriter(transaction, columns)
    for chunk in chunks([rows], _CHUNK_BYTES):
        writer.write(chunk)
    transaction.flush()
    transaction.detach()
    found = writer.tally.fingerprint
    part = PartitionCommit(
        partition=0,
        txn_id=transaction.txn_id,
        events=found.events,
        bytes=found.bytes,
        hashes=found.hashes,
        checksum=writer.tally.checksum,
    )
    ledger.protocol().commit(job, [part])


def measure(client: PravegaClient, scope: str, rows: pa.RecordBatch) -> Round:
    """Microseconds of CPU and of the clock for each row, by contender."""
    found = {}
    for name in random.sample(list(CONTENDERS), len(CONTENDERS)):
        stream = StreamName(scope, f"s-{uuid.uuid4().hex}")
        client.create_stream(stream, ScalingPolicy.fixed(_SEGMENTS))
        cpu, clock = cpu_seconds(os.getpid()), time.perf_counter()
        write(client, stream, rows, CONTENDERS[name])
        used = cpu_seconds(os.getpid()) - cpu, time.perf_counter() - clock
        found[name] = (used[0] / rows.num_rows * _MICROSECONDS, used[1] / rows.num_rows * _MICROSECONDS)
        client.delete_stream(stream)
    print(found, file=sys.stderr, flush=True)
    return found


def _lines(size: int, rounds: list[Round]) -> Iterator[str]:
    for name in CONTENDERS:
        typical = [statistics.median(found[name][which] for found in rounds) for which in (0, 1)]
        added = [statistics.median(found[HASHES][which] - found[name][which] for found in rounds) for which in (0, 1)]
        more = ["" if name == HASHES else f"{plus / base:+.1%}" for plus, base in zip(added, typical, strict=True)]
        yield f"| {size} B | {name} | {typical[0]:.2f} | {typical[1]:.2f} | {more[0]} | {more[1]} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--megabytes", type=int, default=200, help="of each write")
    given = parser.parse_args()
    bytes_of = np.random.default_rng(1).bytes
    batches = {
        size: pa.record_batch({"event": [bytes_of(size) for _ in range(given.megabytes * 1_000_000 // size)]})
        for size in (1000, 100)
    }
    print("| event | tally of the rows | CPU | clock | hashes add, CPU | hashes add, clock |")
    print("|---|---|---:|---:|---:|---:|")
    with (
        PravegaEmulator(full_jit=True) as server,
        PravegaClient(PravegaConfig(controller_uri=server.controller_uri)) as client,
    ):
        scope = f"bench-{uuid.uuid4().hex}"
        client.create_scope(scope)
        for size, rows in batches.items():
            for _ in range(_WARM_UP):
                measure(client, scope, rows)
            print(*_lines(size, [measure(client, scope, rows) for _ in range(given.rounds)]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
