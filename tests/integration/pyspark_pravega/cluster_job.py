"""A Spark of its own, with two executors: reads a stream, writes another one, and follows the first one into files.

It says how many events it found, and how many executors read them.
"""

import argparse
import json
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as in Spark's own examples
from tests.integration.pyspark_pravega.follow_job import follow
from tests.integration.pyspark_pravega.job import write_rows


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("controller", "scope", "stream", "sink", "limit", "folder"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    spark = SparkSession.builder.master("local-cluster[2,1,1024]").getOrCreate()
    options = {"controller": given.controller, "scope": given.scope, "stream": given.stream}
    _read(spark, options)
    write_rows(spark, options | {"stream": given.sink, "write_id": "daily"})
    follow(spark, options | {"max_bytes_per_trigger": given.limit}, given.folder, to_the_end=True)
    spark.stop()


def _read(spark: SparkSession, options: dict[str, str]) -> None:
    # Without split_bytes, small segments would share a task.
    events = spark.read.format("pravega").options(**options, split_bytes="0").load()
    found = events.groupBy("segment_id").agg(
        F.count("*").alias("events"),
        F.sum(F.length("event")).alias("bytes"),
        F.countDistinct("event").alias("distinct"),
    )
    # The parent of a Python worker belongs to the executor that reads.
    executors = events.select("offset").rdd.mapPartitions(lambda _: [os.getppid()]).distinct().count()
    print(json.dumps({"executors": executors, "segments": [row.asDict() for row in found.collect()]}))


if __name__ == "__main__":
    main()
