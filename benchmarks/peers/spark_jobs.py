"""The same jobs on any Spark whose format `pravega` takes the same options: ours, or the JVM connector's.

read       SCOPE STREAM EVENTS   a whole stream, all columns, into the sink that does nothing
typed      SCOPE STREAM EVENTS KIND FILE MESSAGE   the same, with its events as columns: by `decode`, or in a Spark
           with the JVM connector by Spark's functions; FILE has the schema
available  SCOPE STREAM EVENTS   the same as read by a streaming query with Trigger.AvailableNow
write      SCOPE STREAM EVENTS SIZE   rows without routing keys, exactly once, by four tasks
keyed      SCOPE STREAM EVENTS SIZE   the same with routing keys
follow     SCOPE STREAM EVENTS   a query that follows the stream until it has read so many events: its triggers
start      SCOPE STREAM          a query that follows the stream, until `stop`
stop

It runs with the PySpark of the Python that starts it, and needs nothing else. Arguments: the controller, and the jars
that Spark is to have before its own, if any.
"""

import json
import os
import random
import statistics
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import from_avro

_TASKS = 4
_KEYS = 1000
_LONGEST_SECONDS = 300.0
# What Spark says of each trigger of a query.
_IN_TRIGGERS = ("latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets")


def _session(jars: str | None) -> SparkSession:
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").appName("benchmark")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.streaming.numRecentProgressUpdates": "100000",
        **({"spark.driver.extraClassPath": jars} if jars else {}),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _stages(triggers: list[dict[str, Any]], began: float, seconds: float) -> dict[str, float]:
    """Seconds of a query that began at a time of the epoch: before its first trigger, in its triggers, and after."""
    first = datetime.fromisoformat(triggers[0]["timestamp"]).timestamp() - began
    spent = {name: sum(one["durationMs"].get(name, 0) for one in triggers) / 1000 for name in _IN_TRIGGERS}
    whole = sum(one["durationMs"]["triggerExecution"] for one in triggers) / 1000
    other = {"other": whole - sum(spent.values()), "after": seconds - first - whole}
    return {f"stage {name}": value for name, value in {"before": first, **spent, **other}.items()}


def _read(frame: Any, events: int) -> dict[str, float]:
    start = time.perf_counter()
    frame.write.mode("overwrite").format("noop").save()
    return {"seconds": time.perf_counter() - start, "events": events}


class Jobs:
    """The jobs of one session."""

    def __init__(self, controller_uri: str, jars: str | None = None) -> None:
        self._controller_uri = controller_uri
        self._session = _session(jars)
        self._decodes = jars is None
        self._query: Any = None
        self._folder: Any = None

    def read(self, scope: str, stream: str, events: str) -> dict[str, float]:
        """A whole stream by a batch job."""
        return _read(self._raw(scope, stream), int(events))

    def typed(self, scope: str, stream: str, events: str, kind: str, file: str, message: str) -> dict[str, float]:
        """A whole stream by a batch job, as columns."""
        if self._decodes:
            return _read(self._decoded(scope, stream, kind, file, message), int(events))
        row = self._by_spark(kind, file, message).alias("row")
        return _read(self._raw(scope, stream).select(row).select("row.*"), int(events))

    def available(self, scope: str, stream: str, events: str) -> dict[str, float]:
        """A whole stream by a query that reads what there is, and how long each of its stages took."""
        with tempfile.TemporaryDirectory() as checkpoint:
            began, start = time.time(), time.perf_counter()
            query = self._sink(scope, stream, "earliest", checkpoint).trigger(availableNow=True).start()
            query.awaitTermination()
            seconds = time.perf_counter() - start
        found = sum(progress["numInputRows"] for progress in query.recentProgress)
        assert found == int(events), (found, events)
        return {"seconds": seconds, "events": found, **_stages(query.recentProgress, began, seconds)}

    def write(self, scope: str, stream: str, events: str, size: str) -> dict[str, float]:
        """Rows without routing keys, exactly once."""
        return self._write(scope, stream, int(events), sf.lit(random.randbytes(int(size))).alias("event"))

    def keyed(self, scope: str, stream: str, events: str, size: str) -> dict[str, float]:
        """Rows with routing keys, exactly once."""
        key = sf.concat(sf.lit("key-"), (sf.col("id") % _KEYS).cast("string")).alias("routing_key")
        return self._write(scope, stream, int(events), sf.lit(random.randbytes(int(size))).alias("event"), key)

    def follow(self, scope: str, stream: str, events: str) -> dict[str, float]:
        """A query until it has read so many events, and how long its triggers took that had some."""
        with tempfile.TemporaryDirectory() as checkpoint:
            start = time.perf_counter()
            query = self._sink(scope, stream, "earliest", checkpoint).start()
            while sum(one["numInputRows"] for one in query.recentProgress) < int(events):
                if time.perf_counter() - start > _LONGEST_SECONDS or query.exception() is not None:
                    raise RuntimeError(f"the query has read {query.recentProgress[-1:]}: {query.exception()}")
                time.sleep(0.05)
            seconds = time.perf_counter() - start
            query.stop()
        triggers = [one["durationMs"]["triggerExecution"] / 1000 for one in query.recentProgress if one["numInputRows"]]
        return {
            "seconds": seconds,
            "events": int(events),
            "trigger": statistics.median(triggers),
            "triggers": len(triggers),
        }

    def start(self, scope: str, stream: str) -> dict[str, float]:
        """Start a query that follows a stream, and wait until it waits."""
        self._folder = tempfile.TemporaryDirectory()
        self._query = self._sink(scope, stream, "latest", self._folder.name).start()
        while not self._query.status["message"].startswith("Waiting"):
            time.sleep(0.05)
        return {"seconds": 0}

    def stop(self) -> dict[str, float]:
        """Stop it; how long that took."""
        start = time.perf_counter()
        self._query.stop()
        seconds = time.perf_counter() - start
        assert self._query.exception() is None, self._query.exception()
        self._folder.cleanup()
        return {"seconds": seconds}

    def _raw(self, scope: str, stream: str) -> Any:
        return self._session.read.format("pravega").options(**self._options(scope, stream)).load()

    def _decoded(self, scope: str, stream: str, kind: str, file: str, message: str) -> Any:
        reader = self._session.read.format("pravega").options(**self._options(scope, stream), decode=kind)
        if kind == "json":
            return reader.schema(Path(file).read_text()).load()
        return reader.options(schema_file=file, **({"schema_type": message} if kind == "protobuf" else {})).load()

    def _by_spark(self, kind: str, file: str, message: str) -> Any:
        if kind == "json":
            return sf.from_json(sf.col("event").cast("string"), Path(file).read_text())
        if kind == "avro":
            return from_avro("event", Path(file).read_text())
        # Python's from_protobuf of 3.5 does not know the functions of a jar of 3.4, which has this one.
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001 - Spark has no other way to a function of a jar
        functions = jvm.org.apache.spark.sql
        return Column(functions.protobuf.functions.from_protobuf(functions.functions.col("event"), message, file, {}))

    def _options(self, scope: str, stream: str) -> dict[str, str]:
        return {"controller": self._controller_uri, "scope": scope, "stream": stream}

    def _sink(self, scope: str, stream: str, start: str, checkpoint: str) -> Any:
        options = {**self._options(scope, stream), "start_stream_cut": start}
        frame = self._session.readStream.format("pravega").options(**options).load()
        return frame.writeStream.format("noop").option("checkpointLocation", checkpoint)

    def _write(self, scope: str, stream: str, events: int, *columns: Any) -> dict[str, float]:
        rows = self._session.range(0, events, 1, _TASKS).select(*columns).write.format("pravega")
        start = time.perf_counter()
        rows.options(**self._options(scope, stream), exactly_once="true").mode("append").save()
        return {"seconds": time.perf_counter() - start, "events": events}


def main() -> None:
    """Answer commands from standard input until it ends."""
    controller_uri, *jars = sys.argv[1:]
    jobs = Jobs(controller_uri, *jars)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        print(json.dumps(getattr(jobs, command)(*words)), flush=True)


if __name__ == "__main__":
    main()
