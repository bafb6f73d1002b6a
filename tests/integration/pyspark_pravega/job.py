"""A Spark job in a process of its own: writes numbered rows to a stream. Started by tests, not collected by pytest."""

import argparse

from pyspark.sql import SparkSession

ROWS = 3000
KEYS = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("master", "controller", "scope", "stream", "write-id"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    spark = SparkSession.builder.master(given.master).getOrCreate()
    named = {name: getattr(given, name) for name in ("controller", "scope", "stream", "write_id")}
    write_rows(spark, named)
    spark.stop()


def write_rows(spark: SparkSession, options: dict[str, str]) -> None:
    """Write `ROWS` rows `key-k:number` in four partitions."""
    key = f"concat('key-', id % {KEYS})"
    rows = spark.range(0, ROWS, numPartitions=4).selectExpr(f"concat({key}, ':', id) as event", f"{key} as routing_key")
    rows.write.format("pravega").mode("append").options(**options).save()


if __name__ == "__main__":
    main()
