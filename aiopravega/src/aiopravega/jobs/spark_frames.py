"""Ranges of streams as DataFrames, and DataFrames into streams exactly once, by Spark's data source `pravega`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.jobs.spark_options import (
    FORMAT,
    REBUILD_OPTION,
    STREAM_OPTION,
    WRITE_ID_OPTION,
    connection_options,
    range_options,
)
from aiopravega.names import StreamName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

_EVENTS: Final = "events"


def load_range(
    spark: "SparkSession", config: PravegaConfig, stream: StreamName, cuts: StreamCutRange, options: Mapping[str, str]
) -> "DataFrame":
    """The events of a range. `options` are more options of the data source, which say neither cluster nor range."""
    source = spark.read.format(FORMAT).options(**options).options(**connection_options(config), **range_options(cuts))
    return source.option(STREAM_OPTION, str(stream)).load()


def save_events(
    frame: "DataFrame",
    config: PravegaConfig,
    stream: StreamName,
    write_id: str,
    options: Mapping[str, str],
    generation: int = 1,
) -> None:
    """Write the rows of a frame under a write id. `options` are more options of the data source."""
    sink = frame.write.format(FORMAT).mode("append").options(**options).options(**connection_options(config))
    sink.options(**{STREAM_OPTION: str(stream), WRITE_ID_OPTION: write_id, REBUILD_OPTION: str(generation)}).save()


def counted(frame: "DataFrame") -> "tuple[DataFrame, Observation]":
    """The same frame, whose rows are counted while they pass, so that nothing is read twice; see `count_of`."""
    from pyspark.sql import Observation, functions

    observation = Observation()
    return frame.observe(observation, functions.count("*").alias(_EVENTS)), observation


def count_of(observation: "Observation") -> int:
    """The rows that have passed a counted frame, once Spark has read it to its end: it waits until then."""
    rows: int = observation.get[_EVENTS]
    return rows
