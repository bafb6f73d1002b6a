"""A Spark job of its own: reads a stream and says how many events it found, and which executors read them."""

import argparse
import json
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as in Spark's own examples


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("master", "controller", "scope", "stream"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    spark = SparkSession.builder.master(arguments.master).getOrCreate()
    options = {name: getattr(arguments, name) for name in ("controller", "scope", "stream")}
    options["split_bytes"] = "0"  # small segments would share a task
    events = spark.read.format("pravega").options(**options).load()
    found = events.groupBy("segment_id").agg(
        F.count("*").alias("events"),
        F.sum(F.length("event")).alias("bytes"),
        F.countDistinct("event").alias("distinct"),
    )
    # The parent of a Python worker belongs to the executor that reads.
    executors = events.select("offset").rdd.mapPartitions(lambda _: [os.getppid()]).distinct().count()
    print(json.dumps({"executors": executors, "segments": [row.asDict() for row in found.collect()]}))
    spark.stop()


if __name__ == "__main__":
    main()
