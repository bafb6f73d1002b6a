"""The Spark program of `flights_elsewhere.py` (Dagster) and `flights_submitted.py` (Airflow).

It needs pyspark-pravega, and neither scheduler; under Dagster, its extra `pipes`, too. `SPARK_REMOTE` is Spark's own
setting for a Spark Connect server; `spark-submit --master` names a cluster.
"""

from example_dags.flights import delays_per_carrier_and_day, typed_flights
from pyspark.sql import SparkSession

from pyspark_pravega.remote.airflow import open_pravega_work


def main() -> None:
    """Add up the delays of each carrier and day in the range of this run, and write them, one an event."""
    with open_pravega_work() as work:
        spark = SparkSession.builder.appName("delays of carriers").getOrCreate()
        flights = typed_flights(work.read(spark))
        written = work.write(delays_per_carrier_and_day(flights))
        work.report({"carriers and days": written.total_events})


if __name__ == "__main__":
    main()
