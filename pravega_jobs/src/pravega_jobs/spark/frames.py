"""Ranges of streams as DataFrames, and DataFrames into streams exactly once, by Spark's data source `pravega`."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.names import StreamName
from pravega_jobs.spark.options import (
    FORMAT,
    METADATA_COLUMNS_OPTION,
    READ_BYTES,
    REBUILD_OPTION,
    STREAM_OPTION,
    WRITE_ID_OPTION,
    connection_options,
    range_options,
)
from pravega_jobs.spark.py4j_logs import keep_secrets_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

_EVENTS: Final = "events"
_ENDS: Final = "ends"
# Spark reports what it has observed a moment after the action; the value never comes if no action has read the frame.
_WAIT_SECONDS: Final = 5.0


def load_range(
    spark: "SparkSession",
    config: PravegaConfig,
    stream: StreamName,
    cuts: StreamCutRange,
    options: Mapping[str, str],
    columns: str | None = None,
) -> "DataFrame":
    """The events of a range.

    Args:
        spark: the session.
        config: the cluster.
        stream: the stream.
        cuts: the range.
        options: more options of the data source, which say neither cluster nor range.
        columns: of the decoded events, as SQL writes them (`id int, name string`); by default as the source knows them.
    """
    keep_secrets_out()
    source = spark.read.format(FORMAT).options(**options).options(**connection_options(config), **range_options(cuts))
    if columns is not None:
        source = source.schema(columns)
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
    keep_secrets_out()
    sink = frame.write.format(FORMAT).mode("append").options(**options).options(**connection_options(config))
    sink.options(**{STREAM_OPTION: str(stream), WRITE_ID_OPTION: write_id, REBUILD_OPTION: str(generation)}).save()


def with_constants(frame: "DataFrame", columns: Mapping[str, str]) -> "DataFrame":
    """The frame with more columns behind its own, each of one text."""
    from pyspark.sql import functions

    return frame.withColumns({name: functions.lit(text) for name, text in columns.items()})


def counted(frame: "DataFrame") -> "tuple[DataFrame, Observation]":
    """The same frame, whose rows are counted while they pass, so that nothing is read twice; see `count_of`."""
    from pyspark.sql import Observation, functions

    observation = Observation()
    return frame.observe(observation, functions.count("*").alias(_EVENTS)), observation


def count_of(observation: "Observation") -> int:
    """The rows that have passed a counted frame, once Spark has read it to its end: it waits until then."""
    rows: int = observation.get[_EVENTS]
    return rows


@dataclass(frozen=True, slots=True)
class RangeCount:
    """The events of a range, counted while a job reads them, so that nothing is read twice."""

    observation: "Observation"
    size: int

    def events(self, seconds: float = _WAIT_SECONDS) -> int | None:
        """The events that the range has given the job; None: the job's first action has not read all of it, once.

        It waits for up to `seconds` for Spark's report of that action.
        """
        found = _observed(self.observation, seconds)
        if found is None or (found[READ_BYTES] or 0) != self.size:
            return None
        return int(found[_EVENTS]) - int(found[_ENDS])


def load_counted(
    spark: "SparkSession",
    config: PravegaConfig,
    stream: StreamName,
    cuts: StreamCutRange,
    options: Mapping[str, str],
    size: int,
    columns: str | None = None,
) -> "tuple[DataFrame, RangeCount]":
    """The same as `load_range`, with its count. `size` is that of the range, in bytes."""
    from pyspark.sql import Observation, functions

    options = {name.lower(): value for name, value in options.items()}
    asked = [name for name in options.get(METADATA_COLUMNS_OPTION, "").split(",") if name.strip()]
    options[METADATA_COLUMNS_OPTION] = ",".join([*asked, READ_BYTES])
    ends = functions.col(READ_BYTES)
    observation = Observation()
    named = None if columns is None else f"{columns}, {READ_BYTES} bigint"
    frame = load_range(spark, config, stream, cuts, options, named).observe(
        observation,
        functions.count("*").alias(_EVENTS),
        functions.count(ends).alias(_ENDS),
        functions.sum(ends).alias(READ_BYTES),
    )
    return frame.filter(ends.isNull()).drop(READ_BYTES), RangeCount(observation, size)


def _observed(observation: "Observation", seconds: float) -> Mapping[str, Any] | None:
    """What Spark has observed; None: nothing within the time limit."""
    found: list[Mapping[str, Any]] = []
    # It waits without a limit, and nothing ends that: so a thread waits that no one waits for.
    waiting = threading.Thread(target=lambda: found.append(observation.get), name="spark observation", daemon=True)
    waiting.start()
    waiting.join(seconds)
    return found[0] if found and found[0] else None
