"""Ranges of streams as DataFrames, and DataFrames into streams exactly once, by Spark's data source `pravega`."""

import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.names import StreamName
from pravega_jobs.spark.options import (
    CLAIMANT_OPTION,
    ERROR,
    FORMAT,
    METADATA_COLUMNS_OPTION,
    READ_BYTES,
    REBUILD_OPTION,
    STREAM_OPTION,
    WRITE_ID_OPTION,
    connection_options,
    range_options,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession

ENCODE_OPTION: Final = "encode"
_RAW: Final = "raw"
_EVENT: Final = "event"
_ROUTING_KEY: Final = "routing_key"
# Without the first option, a null would look like a column that does not exist. By default, Spark cuts microseconds.
_JSON: Final[dict[str, str]] = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
EVENTS: Final = "events"  # the value of an observation that counts
_ENDS: Final = "ends"
# Spark reports what it has observed a moment after the action; the value never comes if no action has read the frame.
_WAIT_SECONDS: Final = 5.0
_PY4J_LOGGERS: Final = ("py4j.java_gateway", "py4j.clientserver")
_SECRET: Final = re.compile("password|token", re.IGNORECASE)


def load_range(
    spark: "SparkSession",
    config: PravegaConfig,
    stream: StreamName,
    cuts: StreamCutRange,
    options: Mapping[str, str],
) -> "DataFrame":
    """The events of a range.

    Args:
        spark: the session.
        config: the cluster.
        stream: the stream.
        cuts: the range.
        options: more options of the data source, without the cluster and the range.
    """
    keep_secrets_out_of_logs()
    source = spark.read.format(FORMAT).options(**options).options(**connection_options(config), **range_options(cuts))
    return source.option(STREAM_OPTION, str(stream)).load()


def events_writer(
    frame: "DataFrame",
    config: PravegaConfig,
    stream: StreamName,
    write_id: str,
    options: Mapping[str, str],
    generation: int = 1,
    claimant: str | None = None,
) -> "DataFrameWriter":
    """A writer of the rows of a frame under a write id, for a claimant. `options` are more options of the data source.

    Its `save` writes, or compares with the rows that are written.
    """
    keep_secrets_out_of_logs()
    sink = frame.write.format(FORMAT).mode("append").options(**options).options(**connection_options(config))
    own = {STREAM_OPTION: str(stream), WRITE_ID_OPTION: write_id, REBUILD_OPTION: str(generation)}
    return sink.options(**own, **({} if claimant is None else {CLAIMANT_OPTION: claimant}))


def as_events(frame: "DataFrame", options: Mapping[str, str]) -> "DataFrame":
    """The rows of a frame as events: a frame with a column `event` as it is, the rows of others as JSON objects.

    The columns `routing_key` and `_error` stay columns, and are not in the JSON. Times have all their microseconds;
    those with a zone are in UTC, whatever the session's zone is, because a later try must make the same events. If the
    options of the write have `encode`, the data source encodes all columns, and the frame stays as it is.
    """
    from pyspark.sql import functions

    encode = next((value for name, value in options.items() if name.lower() == ENCODE_OPTION), _RAW)
    if encode.lower() != _RAW:
        return frame
    # pandas knows no types of a frame without rows; Spark then has columns of no type.
    untyped = {name: functions.col(name).cast("string") for name in _untyped(frame)}
    if _EVENT in frame.columns:
        return frame.withColumns(untyped) if untyped else frame
    beside = [name for name in (_ROUTING_KEY, ERROR) if name in frame.columns]
    values = functions.struct(*(f"`{name}`" for name in frame.columns if name not in beside))
    columns = [untyped.get(name, functions.col(name)) for name in beside]
    return frame.select(functions.to_json(values, _JSON).alias(_EVENT), *columns)


def _untyped(frame: "DataFrame") -> list[str]:
    """The columns of a write that have no type."""
    return [
        each.name for each in frame.schema if each.name in (_EVENT, _ROUTING_KEY) and each.dataType.typeName() == "void"
    ]


def counted(frame: "DataFrame", name: str | None = None) -> "tuple[DataFrame, Observation]":
    """The same frame, whose rows are counted while they pass, so that nothing is read twice; see `count_of`.

    `name` is that of the observation, which no other has; None: one of Spark's making.
    """
    from pyspark.sql import Observation, functions

    observation = Observation(name)
    return frame.observe(observation, functions.count("*").alias(EVENTS)), observation


def count_of(observation: "Observation") -> int:
    """The rows that have passed a counted frame, once Spark has read it to its end: it waits until then."""
    rows: int = observation.get[EVENTS]
    return rows


@dataclass(frozen=True, slots=True)
class RangeCount:
    """The events of a range, counted while a job reads them, so that nothing is read twice."""

    observation: "Observation"
    size: int

    def events(self, seconds: float = _WAIT_SECONDS) -> int | None:
        """The number of events that the job got; None: its first action has not read the whole range, once.

        It waits for up to `seconds` for Spark's report of that action.
        """
        found = _observed(self.observation, seconds)
        if found is None or (found[READ_BYTES] or 0) != self.size:
            return None
        return int(found[EVENTS]) - int(found[_ENDS])


def load_counted(
    spark: "SparkSession",
    config: PravegaConfig,
    stream: StreamName,
    cuts: StreamCutRange,
    options: Mapping[str, str],
    size: int,
) -> "tuple[DataFrame, RangeCount]":
    """The same as `load_range`, with its count. `size`: the bytes of the range."""
    from pyspark.sql import Observation, functions

    options = {name.lower(): value for name, value in options.items()}
    asked = [name for name in options.get(METADATA_COLUMNS_OPTION, "").split(",") if name.strip()]
    options[METADATA_COLUMNS_OPTION] = ",".join([*asked, READ_BYTES])
    ends = functions.col(READ_BYTES)
    observation = Observation()
    frame = load_range(spark, config, stream, cuts, options).observe(
        observation,
        functions.count("*").alias(EVENTS),
        functions.count(ends).alias(_ENDS),
        functions.sum(ends).alias(READ_BYTES),
    )
    return frame.filter(ends.isNull()).drop(READ_BYTES), RangeCount(observation, size)


def _observed(observation: "Observation", seconds: float) -> Mapping[str, Any] | None:
    """The values that Spark has observed; None: it has reported none within the time limit."""
    found: list[Mapping[str, Any]] = []
    # `Observation.get` waits without a limit, and cannot be ended: it runs in a daemon thread.
    waiting = threading.Thread(target=lambda: found.append(observation.get), name="spark observation", daemon=True)
    waiting.start()
    waiting.join(seconds)
    return found[0] if found and found[0] else None


class _WithoutSecrets(logging.Filter):
    """Drops lines of DEBUG that set a password or a token: py4j logs each command to Spark, with values of options."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True if the line is logged."""
        return record.levelno > logging.DEBUG or not _SECRET.search(record.getMessage())


_FILTER: Final = _WithoutSecrets()


def keep_secrets_out_of_logs() -> None:
    """Have py4j log no option that is a secret; safe to repeat.

    It holds for the processes of schedulers, which set a job's options here. A program that calls
    `.option("password", …)` itself, with py4j at DEBUG, logs it: give passwords in the environment instead.
    """
    for name in _PY4J_LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
