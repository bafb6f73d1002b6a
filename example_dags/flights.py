"""The work of the examples on the stream of flights: the same Spark under every scheduler."""

from datetime import timedelta
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import (
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

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


# The same by the data source, for reads of event times: `departed` is a point in time, `departure` what clocks said.
COLUMNS: Final = StructType(
    [
        StructField("departed", TimestampType()),
        StructField("departure", TimestampNTZType()),
        StructField("carrier", StringType()),
        StructField("flight", LongType()),
        StructField("origin", StringType()),
        StructField("dest", StringType()),
        StructField("dep_delay", DoubleType()),
    ]
)
# Of the flights of a day, none left so much later than the first one of any later day: what the source notes is after.
AHEAD: Final = timedelta(hours=12)
# Segments are not split, so that the files do not depend on the number of Spark's cores.
BY_DEPARTURE: Final = {
    "decode": "json",
    "schema_text": COLUMNS.json(),
    "event_time": "departed",
    "event_time_ahead_ms": str(AHEAD // timedelta(milliseconds=1)),
    "split_bytes": "0",
}
