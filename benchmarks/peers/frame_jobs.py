"""One job of `benchmarks.frames` in a process of its own: what it takes from nothing, imports and sessions included.

    python -m benchmarks.peers.frame_jobs polars|spark|first|memory CONTROLLER SCOPE/STREAM [DDL]

`polars` reads all rows of JSON into Polars, `spark` the same into Spark's sink that does nothing, `first` has the first
batch of a range of raw events, and `memory` reads all raw events. The last line is JSON: the rows, and for `memory` the
largest resident size in bytes.
"""

import json
import resource
import sys
from collections.abc import Callable


def _polars(controller: str, stream: str, ddl: str) -> dict[str, int]:
    from aiopravega import PravegaConfig
    from aiopravega.blocking import PravegaClient
    from pravega_jobs.frames import range_of, read_polars

    with PravegaClient(PravegaConfig(controller_uri=controller)) as client:
        frame = read_polars(range_of(client, stream), decode="json", columns=ddl, largest=1 << 40)
        return {"rows": frame.height}


def _spark(controller: str, stream: str, ddl: str) -> dict[str, int]:
    from aiopravega import StreamName
    from benchmarks.spark import SparkContender

    name = StreamName.of(stream)
    with SparkContender(controller) as spark:
        rows = spark.session.read.format("pravega").schema(ddl).options(**spark.options(name, decode="json")).load()
        rows.write.format("noop").mode("overwrite").save()
        return {"rows": 0}


def _first(controller: str, stream: str) -> dict[str, int]:
    from aiopravega import PravegaConfig
    from aiopravega.blocking import PravegaClient
    from pravega_jobs.frames import range_of, read_arrow

    with PravegaClient(PravegaConfig(controller_uri=controller)) as client:
        return {"rows": next(iter(read_arrow(range_of(client, stream)))).num_rows}


def _memory(controller: str, stream: str) -> dict[str, int]:
    from aiopravega import PravegaConfig
    from aiopravega.blocking import PravegaClient
    from pravega_jobs.frames import range_of, read_arrow

    with PravegaClient(PravegaConfig(controller_uri=controller)) as client:
        rows = sum(batch.num_rows for batch in read_arrow(range_of(client, stream)))
    return {"rows": rows, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    job, *arguments = sys.argv[1:]
    jobs: dict[str, Callable[..., dict[str, int]]] = {
        "polars": _polars,
        "spark": _spark,
        "first": _first,
        "memory": _memory,
    }
    print(json.dumps(jobs[job](*arguments)))
