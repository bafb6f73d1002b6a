"""The client and the Spark format of another checkout, run by its own Python, as a peer of the benchmarks.

write       SCOPE STREAM EVENTS SIZE   Spark, exactly once
at-least    SCOPE STREAM EVENTS SIZE   Spark, at least once
read        SCOPE STREAM EVENTS SIZE   Spark, a whole stream into the sink that does nothing
available   SCOPE STREAM EVENTS SIZE   the same by a streaming query
events      SCOPE STREAM EVENTS SIZE   single events with routing keys by the blocking writer

It must run with all releases that are compared, so it uses only what all of them have.
"""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from aiopravega import PravegaConfig, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.measure import Load
from benchmarks.spark import SparkContender

# The fields of /proc/<pid>/stat after the name: user and system time, and those of children that have ended.
_TIMES = slice(11, 15)
_KEYS = 1000


def _cpu_seconds() -> float:
    """CPU seconds so far of this process and all below it."""
    family, ticks = [os.getpid()], 0
    for process in family:
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile: its parent has its seconds
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                family += [int(child) for child in children.read_text().split()]
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[_TIMES])
    return ticks / os.sysconf("SC_CLK_TCK")


def _write_events(client: PravegaClient, stream: StreamName, load: Load) -> None:
    payload = bytes(load.size)
    # The two-text form: earlier releases have it only.
    with client.writer(stream.scope, stream.stream) as writer:  # type: ignore[call-arg]  # types show the other form
        for number in range(load.events):
            writer.write(payload, f"key-{number % _KEYS}")


def _run(spark: SparkContender, client: PravegaClient, command: str, stream: StreamName, load: Load) -> None:
    match command:
        case "write":
            spark.write(stream, load)
        case "at-least":
            spark.write(stream, load, exactly_once="false")
        case "read":
            spark.noop(stream, load)
        case "available":
            spark.available_now(stream, load)
        case "events":
            _write_events(client, stream, load)
        case _:
            raise ValueError(command)


def main() -> None:
    """Answer commands from standard input until it ends."""
    uri = sys.argv[1]
    with SparkContender(uri) as spark, PravegaClient(PravegaConfig(controller_uri=uri)) as client:
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            command, scope, stream, events, size = line.split()
            load = Load(command, int(events), int(size))
            start, before = time.perf_counter(), _cpu_seconds()
            _run(spark, client, command, StreamName(scope, stream), load)
            seconds, cpu = time.perf_counter() - start, _cpu_seconds() - before
            answer = {"events": load.events, "bytes": load.events * load.size, "seconds": seconds, "cpu": cpu}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
