"""A streaming query of its own: writes the events of a stream into Parquet files, until it is killed or done."""

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("controller", "scope", "stream", "start", "limit", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--to-the-end", action="store_true")
    arguments = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    options = {name: getattr(arguments, name) for name in ("controller", "scope", "stream")}
    options |= {"start_stream_cut": arguments.start, "max_bytes_per_trigger": arguments.limit}
    follow(spark, options, arguments.folder, to_the_end=arguments.to_the_end)
    spark.stop()


def follow(spark: SparkSession, options: dict[str, str], folder: str, *, to_the_end: bool) -> None:
    """Write events into Parquet files, until the job is killed or has written what there is."""
    events = spark.readStream.format("pravega").options(**options).load()
    writer = events.select("event").writeStream.format("parquet").option("path", f"{folder}/events")
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
    writer = writer.trigger(availableNow=True) if to_the_end else writer.trigger(processingTime="0 seconds")
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
