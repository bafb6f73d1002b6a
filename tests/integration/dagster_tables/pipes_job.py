"""A job that a Pipes client starts: it copies or counts its range, or does what it should not.

python pipes_job.py copy|count|nothing [URL of a Spark Connect server]

A copy is killed amid its write at its first try, and after the write, before it reports, at its second one; by Spark
Connect, it is not.
"""

import os
import signal
import sys

from pyspark_pravega.remote.dagster import PravegaPipes, open_pravega_pipes


def deadly(event: bytearray, job: int) -> bytes:
    """The event; amid the range, the death of the job."""
    if bytes(event) == b"event 7":
        os.kill(job, signal.SIGKILL)
    return bytes(event)


def work(pipes: PravegaPipes, what: str, url: str | None) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    local = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = (SparkSession.builder.remote(url) if url else local).getOrCreate()
    frame = pipes.read(spark)
    if what == "count":
        pipes.report_materialization({"counted": frame.groupBy().count().collect()[0][0]}, data_version="mine")
        return
    tries = 2 if url else pipes.context.retry_number
    if tries == 0:
        job = os.getpid()
        killing = udf(lambda event: deadly(event, job), "binary")
        frame = frame.select(killing("event").alias("event"))
    written = pipes.write(frame.selectExpr("event", "cast(event as string) as routing_key"))
    if tries == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    pipes.report_materialization({"rows": written.total_events})


with open_pravega_pipes() as opened:
    if sys.argv[1] != "nothing":
        work(opened, sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
