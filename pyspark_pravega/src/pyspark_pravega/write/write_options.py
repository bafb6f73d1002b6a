"""Options of a write, read once and checked before any work starts.

They keep the names and defaults of Pravega's JVM connector. This module asks no server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, Self
from uuid import uuid4

from aiopravega.config import PravegaConfig
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import ledger_name
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit
from pravega_jobs.decoding.option_texts import Options, choice
from pravega_jobs.decoding.options import DECODE_OPTIONS, Format
from pravega_jobs.spark.options import (
    CLAIMANT_OPTION,
    CONNECTION_OPTIONS,
    ERRORS_OPTIONS,
    INTERVAL_OPTIONS,
    LEDGER_OPTION,
    ON_WRITTEN_OPTION,
    RANGE_OPTIONS,
    REBUILD_OPTION,
    STREAM_OPTION,
    TIME_OPTION,
    TIME_UNIT_OPTION,
    WRITE_ID_OPTION,
)
from pyspark_pravega.encode.encode_options import ENCODE_OPTIONS, EncodeOptions
from pyspark_pravega.write.division import DIVISION_OPTIONS, Division
from pyspark_pravega.write.error_options import ErrorOptions
from pyspark_pravega.write.stream_policies import POLICY_OPTIONS, patience_of, retention_of, scaling_of

_MILLISECONDS: Final = 1000
_SECONDS_PER_DAY: Final = 24 * 3600
_DEFAULT_RETAIN_DAYS: Final = 30
_DEFAULT_LEASE_MS: Final = 120_000
_DEFAULT_STREAMING_LEASE_MS: Final = 30_000
# The limits of a server by default (`controller.transaction.lease.count.min` and `.max`).
_SHORTEST_LEASE_MS: Final = 10_000
_LONGEST_LEASE_MS: Final = 600_000
_DEFAULT_POLL_MS: Final = 50

_RETAIN: Final = "commit_ledger_retain_days"
_MODE: Final = "writer_mode"
_EXACTLY_ONCE: Final = "exactly_once"
_ROUTER: Final = "event_router"
_TIME_DELAY: Final = "event_time_delay_ms"
_TIME_WRITER: Final = "event_time_writer"
# Spark's own options of a streaming query, which it also passes to the source.
_OF_SPARK: Final = ("checkpointlocation", "path")

WRITE_OPTIONS: Final = (
    *CONNECTION_OPTIONS,
    STREAM_OPTION,
    *DIVISION_OPTIONS,
    _MODE,
    _EXACTLY_ONCE,
    _ROUTER,
    TIME_OPTION,
    TIME_UNIT_OPTION,
    _TIME_DELAY,
    _TIME_WRITER,
    *ENCODE_OPTIONS,
    "transaction_timeout_ms",
    "read_after_write_consistency",
    "transaction_status_poll_interval_ms",
    WRITE_ID_OPTION,
    LEDGER_OPTION,
    ON_WRITTEN_OPTION,
    REBUILD_OPTION,
    CLAIMANT_OPTION,
    *ERRORS_OPTIONS,
    _RETAIN,
    "allow_create_scope",
    "allow_create_stream",
    *POLICY_OPTIONS,
)


class WriterMode(StrEnum):
    """The promise about rows: each once; each at least once; or most of them, although the cluster may fail."""

    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"
    BEST_EFFORT = "best_effort"


class OnWritten(StrEnum):
    """The rule for a write with a used id: compare its rows, do nothing, or fail."""

    VERIFY = "verify"
    SKIP = "skip"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The columns that the user named: `router` has the routing keys, `time` the times of the events."""

    router: str | None = None
    time: str | None = None
    encoded: bool = False


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """The options of the times that a write notes to the stream, by the column with the events' times.

    Times are counted in `unit`; `delay` is the milliseconds by which rows may come late; `writer` is the name of the
    writer in the stream's notes; None: the name of the write.
    """

    unit: TimeUnit = TimeUnit.MS
    delay: int = 0
    writer: str | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The settings of one write; times are in seconds.

    `stream` is the stream, or the first one by name, if `division` says how rows are divided among several.
    `write_id` names the write: a write that is done under this name is not done again. If the user gives none, the name
    is random: the tasks of a job may be retried, but a job that runs again writes again. `on_written` is the rule for a
    used write id; `rebuild` is the generation, `claimant` the work that it is for; `errors` go elsewhere. The ledger
    of writes is the key-value table `ledger_table` of `ledger_scope`, which remembers a write for at least
    `ledger_retain`.
    """

    config: PravegaConfig
    stream: StreamName
    division: Division | None
    mode: WriterMode
    columns: ColumnOptions
    encode: EncodeOptions
    times: TimeOptions
    lease: float
    wait_visible: bool
    poll: float
    write_id: str
    on_written: OnWritten
    rebuild: int
    claimant: str | None
    errors: ErrorOptions
    ledger_scope: str
    ledger_table: str
    ledger_retain: float
    create_scope: bool
    create_stream: bool
    scaling: ScalingPolicy
    retention: RetentionPolicy
    patience: timedelta

    @property
    def exactly_once(self) -> bool:
        """True if rows are written in transactions, each once."""
        return self.mode is WriterMode.EXACTLY_ONCE

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The streams of the write, in the order of their names."""
        return (self.stream,) if self.division is None else self.division.streams

    @classmethod
    def parse(cls, options: Mapping[str, str], *, streaming: bool = False) -> Self:
        """Read Spark's options; options of reads are accepted, so that one set can serve a read and a write.

        For a streaming query `write_id` is random here; each micro-batch replaces it by its name.

        Raises:
            ConfigurationError: an option is unknown or missing, or cannot work.
        """
        own = _OF_SPARK if streaming else ()
        given = Options(
            options, {*WRITE_OPTIONS, *RANGE_OPTIONS, *INTERVAL_OPTIONS, *DECODE_OPTIONS, *own}, "a write to Pravega"
        )
        config = given.config()
        mode = _mode(given)
        division = Division.parse(given, config.scope, exactly_once=mode is WriterMode.EXACTLY_ONCE)
        in_sql = "insert into a temporary view: CREATE TEMPORARY VIEW … USING pravega OPTIONS (…)"
        stream = given.stream(config, in_sql) if division is None else division.streams[0]
        for option in (WRITE_ID_OPTION, ON_WRITTEN_OPTION, REBUILD_OPTION, CLAIMANT_OPTION):
            if given.text(option) is not None and mode is not WriterMode.EXACTLY_ONCE:
                raise ConfigurationError(
                    f"option {option!r} needs exactly_once=true: plain writes cannot be recognised"
                )
        encode = EncodeOptions.parse(given, decodes=given.text("decode") is not None)
        time = given.text(TIME_OPTION)
        if time is None and (given.text(_TIME_DELAY) or given.text(_TIME_WRITER)):
            raise ConfigurationError(f"options of times need option {TIME_OPTION!r}: the column that has them")
        if given.text(WRITE_ID_OPTION) is not None and streaming:
            raise ConfigurationError(
                "option 'write_id' is for spark.write: the writes of a streaming query are named by its checkpoint"
            )
        on_written = choice(given, ON_WRITTEN_OPTION, OnWritten, OnWritten.VERIFY)
        if on_written is OnWritten.FAIL and streaming:
            raise ConfigurationError(
                f"option {ON_WRITTEN_OPTION!r} is 'fail', but Spark repeats the last micro-batch of a query that was "
                "ended at the wrong moment, which would then never start again: use 'verify', which fails if the rows "
                "differ"
            )
        if given.text(REBUILD_OPTION) is not None and streaming:
            raise ConfigurationError(
                f"option {REBUILD_OPTION!r} is for spark.write: a streaming query has no interval to write again. "
                "Write the interval by spark.write, or in foreachBatch, with a write_id; or start the query with a new "
                "checkpoint, which writes everything again"
            )
        if given.text(REBUILD_OPTION) is not None and given.text(WRITE_ID_OPTION) is None:
            raise ConfigurationError(
                f"option {REBUILD_OPTION!r} needs option {WRITE_ID_OPTION!r}: the id of the write whose rows are "
                "written again"
            )
        if division is not None:
            division.check_beside(given, time)
        ledger_scope, ledger_table = ledger_name(given.text(LEDGER_OPTION), stream.scope)
        return cls(
            config=config,
            stream=stream,
            division=division,
            mode=mode,
            columns=ColumnOptions(given.text(_ROUTER), time, encode.format is not Format.RAW),
            encode=encode,
            times=TimeOptions(given.time_unit(), given.number(_TIME_DELAY, 0) or 0, given.text(_TIME_WRITER)),
            lease=_lease(given, _DEFAULT_STREAMING_LEASE_MS if streaming else _DEFAULT_LEASE_MS),
            wait_visible=given.flag("read_after_write_consistency", True),
            poll=(given.number("transaction_status_poll_interval_ms") or _DEFAULT_POLL_MS) / _MILLISECONDS,
            write_id=given.text(WRITE_ID_OPTION) or str(uuid4()),
            on_written=on_written,
            rebuild=given.number(REBUILD_OPTION) or 1,
            claimant=given.text(CLAIMANT_OPTION),
            errors=ErrorOptions.parse(given, stream, exactly_once=mode is WriterMode.EXACTLY_ONCE),
            ledger_scope=ledger_scope,
            ledger_table=ledger_table,
            ledger_retain=(given.number(_RETAIN) or _DEFAULT_RETAIN_DAYS) * _SECONDS_PER_DAY,
            create_scope=given.flag("allow_create_scope", True),
            create_stream=given.flag("allow_create_stream", True),
            scaling=scaling_of(given),
            retention=retention_of(given),
            patience=patience_of(given, notes=time is not None),
        )


def _mode(given: Options) -> WriterMode:
    """The mode, by its option or by the option of the JVM connector."""
    flag = given.text(_EXACTLY_ONCE) and given.flag(_EXACTLY_ONCE, True)
    by_flag = WriterMode.AT_LEAST_ONCE if flag is False else WriterMode.EXACTLY_ONCE
    mode = choice(given, _MODE, WriterMode, by_flag)
    if flag is not None and flag != (mode is WriterMode.EXACTLY_ONCE):
        raise ConfigurationError(
            f"options {_MODE!r} and {_EXACTLY_ONCE!r} say different things: give one of them, as {_MODE}={mode}"
        )
    return mode


def _lease(given: Options, default: int) -> float:
    """The lease in seconds. Longer leases, as other connectors need, are cut to the limit: this one is renewed."""
    lease = given.number("transaction_timeout_ms", _SHORTEST_LEASE_MS) or default
    return min(lease, _LONGEST_LEASE_MS) / _MILLISECONDS
