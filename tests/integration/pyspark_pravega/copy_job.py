"""A streaming query of its own: copies the events of a stream into another one, until it is killed or done."""

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("controller", "scope", "stream", "sink", "limit", "checkpoint"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--to-the-end", action="store_true")
    arguments = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    reached = {"controller": arguments.controller, "scope": arguments.scope}
    events = (
        spark.readStream.format("pravega")
        .options(stream=arguments.stream, start_stream_cut="earliest", max_bytes_per_trigger=arguments.limit, **reached)
        .load()
    )
    rows = events.selectExpr("event", "substring_index(cast(event as string), ':', 1) as routing_key")
    writer = rows.writeStream.format("pravega").options(stream=arguments.sink, **reached)
    writer = writer.option("checkpointLocation", arguments.checkpoint)
    writer = writer.trigger(availableNow=True) if arguments.to_the_end else writer.trigger(processingTime="0 seconds")
    writer.start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
