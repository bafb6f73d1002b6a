"""A stream of many segments with a few events each, read by Spark: beside the same events in one segment.

    python -m benchmarks.small_segments

`split_bytes=0` gives each segment a task of its own.
"""

import argparse
import sys
import time
from statistics import median
from typing import Final

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.spark import SparkContender
from pravega_emulator import PravegaEmulator

_SCOPE: Final = "small"
_EVENTS: Final = 600
_PAYLOAD: Final = b"twenty bytes of data"
_SEGMENTS: Final = 200
_WARM_UP: Final = 1


def _jobs(spark: SparkContender, number: int) -> dict[str, float]:
    """Seconds and tasks of each way to read."""
    found = {}
    ways = {
        "one segment": ("one", {}),
        f"{_SEGMENTS} segments": ("many", {}),
        f"{_SEGMENTS} segments, split_bytes=0": ("many", {"split_bytes": "0"}),
    }
    for way, (stream, options) in ways.items():
        frame = spark.frame(StreamName(_SCOPE, stream), **options)
        start = time.perf_counter()
        events = frame.count()
        found[way] = time.perf_counter() - start
        assert events == _EVENTS, (way, events)
        print(number, way, frame.rdd.getNumPartitions(), "tasks", found[way], file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with PravegaEmulator() as emulator:
        config = PravegaConfig(controller_uri=emulator.controller_uri)
        with PravegaClient(config) as client:
            client.create_scope(_SCOPE)
            for stream, segments in (("one", 1), ("many", _SEGMENTS)):
                client.create_stream(f"{_SCOPE}/{stream}", scaling=ScalingPolicy.fixed(segments))
                with client.writer(f"{_SCOPE}/{stream}") as writer:
                    for number in range(_EVENTS):
                        writer.write(_PAYLOAD, f"key-{number}")
        with SparkContender(emulator.controller_uri) as spark:
            rounds = [_jobs(spark, number) for number in range(given.rounds + _WARM_UP)][_WARM_UP:]
    print(f"| {_EVENTS} events of {len(_PAYLOAD)} bytes in | s |\n|---|---:|")
    for way in rounds[0]:
        print(f"| {way} | {median(times[way] for times in rounds):.2f} |")


if __name__ == "__main__":
    main()
