"""A Spark job in a process of its own: writes numbered rows to a stream. Started by tests, not collected by pytest."""

import argparse

from pyspark.sql import SparkSession

ROWS = 3000
KEYS = 10


def main() -> None:
    """Write `ROWS` rows `key-k:number` in four partitions."""
    parser = argparse.ArgumentParser()
    for name in ("master", "controller", "scope", "stream", "write-id"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    spark = SparkSession.builder.master(given.master).getOrCreate()
    key = f"concat('key-', id % {KEYS})"
    rows = spark.range(0, ROWS, numPartitions=4).selectExpr(f"concat({key}, ':', id) as event", f"{key} as routing_key")
    writer = rows.write.format("pravega").mode("append")
    writer.options(controller=given.controller, scope=given.scope, stream=given.stream)
    writer.option("write_id", given.write_id).save()
    spark.stop()


if __name__ == "__main__":
    main()
