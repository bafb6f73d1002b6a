"""The Spark job of `flights_elsewhere.py`. It needs pyspark-pravega with the extra `pipes`, and no Dagster.

`SPARK_REMOTE` is Spark's own setting for a Spark Connect server; `spark-submit --master` names a cluster.
"""

from example_dags.flights import delays_per_carrier_and_day, typed_flights
from pyspark.sql import SparkSession

from pyspark_pravega.pipes import open_pravega_pipes


def main() -> None:
    """Add up the delays of each carrier and day in the range of this run, and write them, one an event."""
    with open_pravega_pipes() as pipes:
        spark = SparkSession.builder.appName("delays of carriers").getOrCreate()
        flights = typed_flights(pipes.read(spark))
        written = pipes.write(delays_per_carrier_and_day(flights))
        pipes.report_materialization({"carriers and days": written.total_events})


if __name__ == "__main__":
    main()
