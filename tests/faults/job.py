"""A Spark job in a process of its own: several writes at once, each to a stream of its own. Not collected by pytest.

The writes share one driver, so that one kill meets all of them, each at another point. How a write ended is a file
of its stream's name in the folder of results.
"""

import argparse
import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from tests.faults.rows import Rows

# More at a time start more Python workers, each of which imports everything, instead of using old ones again.
_AT_ONCE = 2
_POLL_SECONDS = 0.02
# Spark gives a new Python worker ten seconds, which a busy machine may not have; nothing has begun by then. The process
# that came too late has to start and to end: without a pause, the next ones would come too late because of it.
_STARVED = "Python worker failed to connect back"
_STARVED_PAUSE_SECONDS = 15.0
_QUERY_SECONDS = 600
# Enough of an error to find its class in, which Spark hides in its stack traces.
_LAST_CHARACTERS = 20_000
# Options of a write that a read has too.
_CONNECTION = ("controller", "scope", "ca_file", "username", "password")


def _rows(spark: SparkSession, write: dict[str, Any]) -> DataFrame:
    rows = Rows(**write["rows"])
    numbers = spark.range(rows.first, rows.first + rows.count, numPartitions=rows.partitions)
    return numbers.selectExpr(*rows.sql())


def _write_batch(spark: SparkSession, write: dict[str, Any], options: dict[str, str]) -> None:
    named = {"stream": write["stream"]} | ({"write_id": write["write_id"]} if write["write_id"] else {})
    _rows(spark, write).write.format("pravega").mode("append").options(**options, **named).save()


def _write_stream(spark: SparkSession, write: dict[str, Any], options: dict[str, str]) -> None:
    """From a stream to a stream, in micro-batches, over all that there is."""
    sink = _events(spark, write, options).writeStream.format("pravega").options(**options, stream=write["stream"])
    _follow(sink, write)


def _write_each_batch(spark: SparkSession, write: dict[str, Any], options: dict[str, str]) -> None:
    """The same with a batch job for each micro-batch, which is named by its number alone."""

    def write_batch(frame: DataFrame, number: int) -> None:
        named = {"stream": write["stream"], "write_id": f"totals/{number}"}
        frame.write.format("pravega").mode("append").options(**options, **named).save()

    _follow(_events(spark, write, options).writeStream.foreachBatch(write_batch), write)


def _events(spark: SparkSession, write: dict[str, Any], options: dict[str, str]) -> DataFrame:
    reading = {name: value for name, value in options.items() if name in _CONNECTION}
    source = spark.readStream.format("pravega").options(**reading, stream=write["source"])
    source.option("start_stream_cut", "earliest").option("split_bytes", "0")
    events = source.option("max_bytes_per_trigger", write["trigger_bytes"]).load()
    return events.selectExpr("event", "split(string(event), ':')[0] AS routing_key")


def _follow(sink: DataStreamWriter, write: dict[str, Any]) -> None:
    query = sink.option("checkpointLocation", write["checkpoint"]).trigger(availableNow=True).start()
    if not query.awaitTermination(_QUERY_SECONDS):
        query.stop()
        raise TimeoutError(f"the query ran for more than {_QUERY_SECONDS} s")


_KINDS = {"batch": _write_batch, "streaming": _write_stream, "foreachBatch": _write_each_batch}


def _run(spark: SparkSession, write: dict[str, Any], job: dict[str, Any]) -> None:
    spark.createDataFrame([], "id long")  # makes it this thread's session; else Spark finds no source in Python
    errors: list[str] = []
    begun = time.monotonic()
    while len(errors) < job["tries"]:
        try:
            _KINDS[write["kind"]](spark, write, job["options"] | write["options"])
            break
        except Exception as error:  # noqa: BLE001  # whatever it is, the harness judges it
            if _STARVED in str(error):
                time.sleep(_STARVED_PAUSE_SECONDS)
            else:
                errors.append(f"{type(error).__name__}: {error}"[-_LAST_CHARACTERS:])
    result = {"errors": errors, "seconds": time.monotonic() - begun, "written": len(errors) < job["tries"]}
    path = Path(job["results"]) / f"{write['stream']}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result))
    part.rename(path)


def main() -> None:
    """Run the job that a JSON file describes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", type=Path)
    job = json.loads(parser.parse_args().job.read_text())
    logging.basicConfig(level=logging.INFO)
    settings = {
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.executorEnv.FAULT_ROLE": "executor",
        **job["settings"],
    }
    builder = SparkSession.builder.master(job["master"])
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    threads: dict[str, threading.Thread] = {}
    any_query = False
    for write in job["writes"]:
        while sum(_is_busy(thread, name) for name, thread in threads.items()) >= _AT_ONCE:
            time.sleep(_POLL_SECONDS)
        threads[write["stream"]] = threading.Thread(target=_run, args=(spark, write, job))
        threads[write["stream"]].start()
        if write["kind"] == "streaming" and not any_query:
            any_query = True
            _await_first_batch(spark, threads[write["stream"]])
    for thread in threads.values():
        thread.join()
    spark.stop()


def _await_first_batch(spark: SparkSession, query: threading.Thread) -> None:
    """Wait until the first query has written something, or has ended.

    Spark keeps one map of environment variables for all queries of a source in Python that it found by its name. The
    first query puts some into it, unguarded, while others may serialise it, which then fails: forever, if two have put
    at once ("Illegal size 5 of collection, expected 6").
    """
    while query.is_alive() and not any(active.lastProgress for active in spark.streams.active):
        time.sleep(_POLL_SECONDS)


def _is_busy(thread: threading.Thread, stream: str) -> bool:
    """True if a write needs the machine: it has not ended, and does not wait at its point."""
    plan = os.environ.get("FAULT_PLAN")
    waits = plan is not None and Path(plan).with_name(f"{stream}.reached").exists()
    return thread.is_alive() and not waits


if __name__ == "__main__":
    main()
