"""Operators that run Spark between a stream and files: read a range, write events exactly once.

They reach Pravega by the data source `pravega`. Whatever can be wrong with the stream or the range is found before
Spark is started.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from airflow.sdk import Context, XComArg

from aiopravega import PravegaConfig, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, InvalidStreamCutError, LedgerError, NotFoundError
from aiopravega.failures import unsplit_if_need_be
from aiopravega.ledger import DEFAULT_TABLE, CommitRecord
from airflow_pravega.failures import failing_for_good
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.identity import write_name
from airflow_pravega.intervals import finish
from airflow_pravega.spark.connector import FORMAT, connection_options
from airflow_pravega.spark.digest import digest_of_files
from airflow_pravega.spark.operator import PravegaSparkOperator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EVENTS: Final = "events"
_TIME_COLUMN: Final = "event_time"


class PravegaSparkReadOperator(PravegaSparkOperator):
    """Reads exactly one range of a stream with Spark and writes it to files, replacing those of an earlier try.

    Returns `{"path", "events", "rows", "bytes", "seconds", "digest"}`: the events read, the rows written, the bytes
    of the range in the stream (event headers included), and the digest of the files, or None.

    The same range gives the same files, whoever reads it: the rows come in the order of segment and offset. A
    transformation that shuffles (groups, joins) loses that order: name `sort_by` then. How the rows are divided into
    files follows from Spark's cores where segments are split: for the same files on another cluster, give the option
    `split_bytes`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text}`, such as a sensor's output. If it also has the names
            `consumer` and `interval`, as those of sensors and of a planned backfill have, the interval is recorded as
            done. If it has the event times `since` and `until`, only the events with `since <= time < until` are read:
            `options` must name the column with the times, `event_time`, and how events are decoded, `decode`.
            (templated)
        output_path: folder of the files, on any file system that Spark knows. (templated)
        output_format: a format that Spark writes.
        transform: from the DataFrame with the columns `event`, `scope`, `stream`, `segment_id` and `offset`, or with
            those of decoded events, to the one that is written; a function, or its dotted name.
        sort_by: columns to sort the result by.
        files: how many files to write; by default as many as Spark has partitions.
        digest: compute the SHA-256 of what was written, which reads it again: of the bytes; of Parquet, in which the
            same rows are not always the same bytes, of the rows and their order.
        master: Spark's master; by default the connection's, or `local[*]`. (templated)
        spark_conf: Spark's settings. (templated)
        options: further options of the data source. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = (
        "stream",
        "stream_cuts",
        "output_path",
        "master",
        "spark_conf",
        "options",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        stream_cuts: Mapping[str, str] | XComArg,
        output_path: str,
        output_format: str = "parquet",
        sort_by: Sequence[str] = (),
        files: int | None = None,
        digest: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stream_cuts = stream_cuts
        self.output_path = output_path
        self.output_format = output_format
        self.sort_by = list(sort_by)
        self.files = files
        self.digest = digest

    def execute(self, context: Context) -> dict[str, Any]:
        """Check the range, then read it.

        Raises:
            AirflowFailException: the stream, the range or an option cannot work.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            config = hook.get_config()
            stream = StreamName.parse(self.stream, config.scope)
            wanted, size = self._check(config, stream)
            began = time.monotonic()
            with self.session(hook, context) as spark:
                events, rows = unsplit_if_need_be(partial(self._run, spark, config, stream, wanted), self.log.warning)
                digest = digest_of_files(spark, self.output_path, self.output_format) if self.digest else None
            self._finish(config, stream, wanted, context)
        result = {
            "path": self.output_path,
            "events": events,
            "rows": rows,
            "bytes": size,
            "seconds": round(time.monotonic() - began, 3),
            "digest": digest,
        }
        self.log.info("Read %s: %s", stream, result)
        return result

    def _check(self, config: PravegaConfig, stream: StreamName) -> tuple[StreamCutRange, int]:
        """The range with both ends fixed, and its bytes; Spark need not be started for one that cannot work."""
        if not isinstance(self.stream_cuts, Mapping):
            raise InvalidStreamCutError(
                f"stream_cuts is {self.stream_cuts!r}, but must be a range with the texts start and end"
            )
        self._times()
        with PravegaClient(config) as client:
            wanted = client.resolve(StreamCutRange.from_json(self.stream_cuts), stream)
            return wanted, sum(part.size for part in client.plan(wanted, stream))

    def _times(self) -> dict[str, str]:
        """Options that leave out the events of other times, if the range is one of event times."""
        cuts = self.stream_cuts
        if not isinstance(cuts, Mapping) or "since" not in cuts or "until" not in cuts:
            return {}
        if _TIME_COLUMN not in {name.lower() for name in self.options}:
            raise ConfigurationError(
                f"stream_cuts is of the event times {cuts['since']} to {cuts['until']}, and its range has events of "
                f"other times too: name their column by options={{{_TIME_COLUMN!r}: …}}, and give 'decode' there"
            )
        return {"event_time_from": cuts["since"], "event_time_to": cuts["until"]}

    def _finish(self, config: PravegaConfig, stream: StreamName, wanted: StreamCutRange, context: Context) -> None:
        if isinstance(self.stream_cuts, Mapping):
            with PravegaClient(config) as client:
                finish(client, stream, self.stream_cuts, wanted, write_name(context))

    def _run(
        self,
        spark: "SparkSession",
        config: PravegaConfig,
        stream: StreamName,
        wanted: StreamCutRange,
        more: Mapping[str, str],
    ) -> tuple[int, int]:
        from pyspark.sql import Observation, functions

        source = spark.read.format(FORMAT).options(**self.options).options(**connection_options(config), **more)
        cuts = {"start_stream_cut": wanted.start.to_text(), "end_stream_cut": wanted.end.to_text()}
        frame = source.options(stream=str(stream), **cuts, **self._times()).load()
        # Counted while they pass, so that nothing is read twice.
        read, written = Observation(), Observation()
        frame = self.transformed(frame.observe(read, functions.count("*").alias(_EVENTS)))
        if self.sort_by:
            frame = frame.orderBy(*self.sort_by)
        if self.files is not None:
            frame = frame.coalesce(self.files)
        frame = frame.observe(written, functions.count("*").alias(_EVENTS))
        frame.write.format(self.output_format).mode("overwrite").save(self.output_path)
        return read.get[_EVENTS], written.get[_EVENTS]


class PravegaSparkWriteOperator(PravegaSparkOperator):
    """Writes events to a stream exactly once with Spark: tries of the same write id add nothing to the first success.

    Returns `{"stream", "write_id", "events", "bytes", "written", "seconds"}`: what the stream holds of this write (the
    bytes with event headers), and whether this try has written it, or found it written.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope; made if it is missing. (templated)
        source: path of files to read (templated), or a function from the session and the task's context to a
            DataFrame.
        source_format: format of the files at `source`.
        transform: from the source's DataFrame to one with the columns `event` (string or binary) and, if wanted,
            `routing_key`; a function, or its dotted name.
        write_id: name of the write; by default made of DAG, task, map index and the run's partition key, logical date
            or id. Another id writes again. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default a table in the stream's scope. (templated)
        master: Spark's master; by default the connection's, or `local[*]`. (templated)
        spark_conf: Spark's settings. (templated)
        options: further options of the data source. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = (
        "stream",
        "source",
        "write_id",
        "commit_ledger",
        "master",
        "spark_conf",
        "options",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        source: "str | Callable[[SparkSession, Context], DataFrame]",
        source_format: str = "parquet",
        write_id: str | None = None,
        commit_ledger: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow calls functions that it finds in templated fields; this one is for later.
        self.source = source if isinstance(source, str) else None
        self._make_frame = source if callable(source) else None
        self.source_format = source_format
        self.write_id = write_id
        self.commit_ledger = commit_ledger

    def execute(self, context: Context) -> dict[str, Any]:
        """Write, unless it is written.

        Raises:
            AirflowFailException: the stream, a column or an option cannot work.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            config = hook.get_config()
            stream = StreamName.parse(self.stream, config.scope)
            write_id = self.write_id or write_name(context)
            began = time.monotonic()
            record = self._written(config, stream, write_id)
            found = record is not None
            if record is None:
                with self.session(hook, context) as spark:
                    self._write(spark, config, stream, write_id, context)
                record = self._written(config, stream, write_id)
            if record is None:
                raise LedgerError(
                    f"Spark has written to {stream}, but the commit ledger has no record of write {write_id!r}: "
                    "name another ledger by commit_ledger, not in options"
                )
        result = {
            "stream": str(stream),
            "write_id": write_id,
            "events": record.total_events,
            "bytes": record.total_bytes,
            "written": not found,
            "seconds": round(time.monotonic() - began, 3),
        }
        self.log.info("%s: %s", "Written already" if found else "Written", result)
        return result

    def _written(self, config: PravegaConfig, stream: StreamName, write_id: str) -> CommitRecord | None:
        """The record of this write if it is done; what an earlier try decided and did not finish is finished here."""
        scope, _, table = (self.commit_ledger or f"{stream.scope}/{DEFAULT_TABLE}").partition("/")
        with PravegaClient(config) as client:
            try:
                found = client.commit_ledger(scope, table).protocol().begin(stream, write_id, uuid4())
            except NotFoundError:
                return None  # no stream or no ledger yet: the write makes them
        return found if isinstance(found, CommitRecord) else None

    def _write(
        self, spark: "SparkSession", config: PravegaConfig, stream: StreamName, write_id: str, context: Context
    ) -> None:
        if self._make_frame is not None:
            frame = self._make_frame(spark, context)
        else:
            frame = spark.read.format(self.source_format).load(self.source)
        sink = self.transformed(frame).write.format(FORMAT).mode("append").options(**self.options)
        if self.commit_ledger:
            sink = sink.option("commit_ledger", self.commit_ledger)
        sink.options(**connection_options(config)).options(stream=str(stream), write_id=write_id).save()
