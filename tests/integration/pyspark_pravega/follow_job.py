"""A streaming query of its own: writes the events of a stream into Parquet files, until it is killed or done."""

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("controller", "scope", "stream", "start", "limit", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--to-the-end", action="store_true")
    arguments = parser.parse_args()
    spark = SparkSession.builder.master(arguments.master).getOrCreate()
    options = {name: getattr(arguments, name) for name in ("controller", "scope", "stream")}
    events = (
        spark.readStream.format("pravega")
        .options(**options)
        .option("start_stream_cut", arguments.start)
        .option("max_bytes_per_trigger", arguments.limit)
        .load()
    )
    writer = events.select("event").writeStream.format("parquet").option("path", f"{arguments.folder}/events")
    writer = writer.option("checkpointLocation", f"{arguments.folder}/checkpoint")
    writer = writer.trigger(availableNow=True) if arguments.to_the_end else writer.trigger(processingTime="0 seconds")
    writer.start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
