"""Options of a read, read once and checked before any work starts.

They keep the names and defaults of Pravega's JVM connector. This module asks no server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.times import TimeUnit
from pravega_jobs.decoding.option_texts import METADATA_OPTION, Options
from pravega_jobs.decoding.options import DECODE_OPTIONS, DecodeOptions
from pravega_jobs.spark.options import (
    CONNECTION_OPTIONS,
    INTERVAL_OPTIONS,
    METADATA_COLUMNS_OPTION,
    METADATA_PREFIX_OPTION,
    RANGE_OPTIONS,
    STREAM_OPTION,
    TIME_UNIT_OPTION,
)
from pyspark_pravega.read.interval import TimeInterval
from pyspark_pravega.read.sources import Source, is_cut_of_one_stream, parse_sources
from pyspark_pravega.read.stream_options import STREAMING_OPTIONS, StreamingOptions
from pyspark_pravega.write.write_options import WRITE_OPTIONS

_STREAMS: Final = "streams"
_SPLIT_BYTES: Final = "split_bytes"
_MIN_PARTITIONS: Final = "min_partitions"

READ_OPTIONS: Final = (
    *CONNECTION_OPTIONS,
    STREAM_OPTION,
    _STREAMS,
    *RANGE_OPTIONS,
    METADATA_OPTION,
    METADATA_COLUMNS_OPTION,
    METADATA_PREFIX_OPTION,
    _SPLIT_BYTES,
    _MIN_PARTITIONS,
    TIME_UNIT_OPTION,
    *INTERVAL_OPTIONS,
    *DECODE_OPTIONS,
    *STREAMING_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The settings of one read.

    `split_bytes` is the size of a task's piece of a segment: None leaves it to the number of cores, 0 forbids to
    split segments. `min_partitions` is the least number of tasks; None stands for the number of cores.
    `metadata_columns` are read in addition to the columns that a read always has; `metadata_prefix` is put in front of
    their names. `event_time_unit` is the unit of the times of the stream's writers. `interval` is of event times; None:
    the read has all events of the range.
    """

    config: PravegaConfig
    sources: tuple[Source, ...]
    split_bytes: int | None
    min_partitions: int | None
    metadata_columns: tuple[str, ...]
    metadata_prefix: str
    event_time_unit: TimeUnit
    interval: TimeInterval | None
    decode: DecodeOptions
    streaming: StreamingOptions

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read Spark's options; options of writes are accepted, so that one set can serve a read and a write.

        Raises:
            ConfigurationError: an option is unknown or missing, or cannot work.
            InvalidStreamCutError: a text is not a cut, or it is a cut of another stream.
        """
        cuts = {name for name in options if is_cut_of_one_stream(name)}
        known = {*READ_OPTIONS, *WRITE_OPTIONS, *(name.lower() for name in cuts)}
        given = Options(options, known, "a read from Pravega")
        if given.text(METADATA_OPTION) is not None:
            raise ConfigurationError(
                f"option {METADATA_OPTION!r} is for spark.read: a table of metadata is not a stream"
            )
        config = given.config()
        interval = TimeInterval.parse(given)
        return cls(
            config=config,
            sources=parse_sources(given, config, cuts, of_times=interval is not None),
            split_bytes=given.number(_SPLIT_BYTES, 0),
            min_partitions=given.number(_MIN_PARTITIONS),
            metadata_columns=given.names(METADATA_COLUMNS_OPTION, str.lower),
            metadata_prefix=given.text(METADATA_PREFIX_OPTION) or "",
            event_time_unit=given.time_unit(),
            interval=interval,
            decode=DecodeOptions.parse(given),
            streaming=StreamingOptions.parse(given),
        )
