"""What the examples do with the stream of flights: the same Spark, whichever scheduler runs it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

# The time is that of the departure, on New York's clocks. A flight that was cancelled has no delay.
FLIGHT = "departure timestamp_ntz, carrier string, flight long, origin string, dest string, dep_delay double"


def typed_flights(events: DataFrame) -> DataFrame:
    """The events of the stream as rows with types; where each came from stays with it."""
    flight = sql.from_json(sql.col("event").cast("string"), FLIGHT).alias("flight")
    return events.select(flight, "segment_id", "offset").select("flight.*", "segment_id", "offset")


def delays_per_carrier_and_day(flights: DataFrame) -> DataFrame:
    """One event per carrier and day. Sums, not means: a day that two ranges share can be added up."""
    delays = flights.groupBy(sql.to_date("departure").alias("day"), "carrier").agg(
        sql.count("*").alias("flights"),
        sql.count("dep_delay").alias("departed"),
        sql.coalesce(sql.sum("dep_delay"), sql.lit(0.0)).alias("delay_minutes"),
    )
    return delays.select(sql.to_json(sql.struct("*")).alias("event"), sql.col("carrier").alias("routing_key"))
