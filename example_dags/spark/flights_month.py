"""The flights that departed between two times, out of the stream into Parquet files: a plain Spark job.

    python example_dags/spark/flights_month.py examples/flights 2013-01-01T00:00:00Z 2013-02-01T00:00:00Z /data/january

The stream's watermarks say which range has them all. With two texts of StreamCuts after that, as `pravega backfill`
gives them, that range is read instead, and only flights of these times are kept. Where Pravega is comes from the
environment (`PRAVEGA_CONTROLLER_URI`). The root of the repository has to be on Python's path.
"""

import sys

from example_dags.flights import BY_DEPARTURE
from pyspark.sql import DataFrame, SparkSession


def flights_between(spark: SparkSession, stream: str, since: str, until: str, *cuts: str, **options: str) -> DataFrame:
    """The flights with `since <= departed < until`; `options` are more of the data source, such as `controller`."""
    times = {"event_time_from": since, "event_time_to": until}
    reader = spark.read.format("pravega").options(**BY_DEPARTURE, **times, **options, stream=stream)
    for option, cut in zip(("start_stream_cut", "end_stream_cut"), cuts, strict=False):
        reader = reader.option(option, cut)
    return reader.load()


def main() -> None:
    """Run the job."""
    stream, since, until, folder, *cuts = sys.argv[1:]
    spark = SparkSession.builder.appName(f"flights of {since}").config("spark.ui.enabled", "false").getOrCreate()
    flights_between(spark, stream, since, until, *cuts).write.mode("overwrite").parquet(folder)
    spark.stop()


if __name__ == "__main__":
    main()
