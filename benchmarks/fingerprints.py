"""The cost of recognising the rows of an exactly-once write by their hashes.

    python -m benchmarks.fingerprints

Processor time of one thread for a block of rows, without server and Spark, so that others on the machine count little.
Beside the hashes stand what a task does with the same rows anyway, and the CRC-32 that the hashes replaced.
"""

import argparse
import time
import zlib
from collections.abc import Callable
from statistics import median
from typing import Final

import numpy as np
import pyarrow as pa

from pyspark_pravega.write.framing import frame_events
from pyspark_pravega.write.lanes import positions_of
from pyspark_pravega.write.row_hashes import RowTally

_CHUNK_BYTES: Final = 4_000_000  # what a task has at a time, for a stream of four segments
_KEYS: Final = 1000
_MICROSECONDS: Final = 1e6


def measure(work: Callable[[], object], rows: int, rounds: int) -> float:
    """Microseconds of processor time for each row: the median of the rounds."""
    found = []
    for _ in range(rounds):
        began = time.thread_time()
        work()
        found.append(time.thread_time() - began)
    return median(found) / rows * _MICROSECONDS


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=51)
    given = parser.parse_args()
    print("| event | framing | positions of keys | CRC-32 | hashes | added |\n|---|---:|---:|---:|---:|---:|")
    for size in (1000, 100):
        rows = _CHUNK_BYTES // size
        random = np.random.default_rng(1)
        events = pa.array([random.bytes(size) for _ in range(rows)], pa.binary())
        keys = pa.array([f"key-{number % _KEYS}" for number in range(rows)])
        positions, whole = positions_of(keys), events.buffers()[2]
        framing, placing, old, new = (
            measure(work, rows, given.rounds)
            for work in (
                lambda events=events: frame_events(events),
                lambda keys=keys: positions_of(keys),
                lambda whole=whole: zlib.crc32(whole),
                lambda events=events, positions=positions: RowTally().add(events, positions),
            )
        )
        print(f"| {size} B | {framing:.3f} | {placing:.3f} | {old:.3f} | {new:.3f} | {new - old:.3f} |")


if __name__ == "__main__":
    main()
