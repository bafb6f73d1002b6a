"""Operators that run Spark between a stream and files: read a range, write events exactly once.

They reach Pravega by the data source `pravega`. Whatever can be wrong with the stream or the range is found before
Spark is started.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import Context, XComArg

from aiopravega import PravegaConfig, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.jobs.ranges import fix_range
from aiopravega.jobs.retries import unsplit_if_need_be
from aiopravega.jobs.spark_frames import count_of, counted, load_range, save_events
from aiopravega.jobs.spark_options import LEDGER_OPTION, TIME_OPTION, interval_options
from aiopravega.jobs.writes import finished_write, parse_generation, write_once
from aiopravega.ledger import ledger_name
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.identity import write_name
from airflow_pravega.intervals import failures_recorded, finish, shown
from airflow_pravega.spark.digest import digest_of_files
from airflow_pravega.spark.operator import PravegaSparkOperator
from airflow_pravega.task_failures import failing_for_good

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PravegaSparkReadOperator(PravegaSparkOperator):
    """Reads exactly one range of a stream with Spark and writes it to files, replacing those of an earlier try.

    Returns `{"path", "events", "rows", "bytes", "seconds", "digest"}`: the events read, the rows written, the bytes
    of the range in the stream (event headers included), and the digest of the files, or None.

    The same range gives the same files in every run: the rows come in the order of segment and offset. A transformation
    that shuffles (groups, joins) loses that order: name `sort_by` then. How the rows are divided into files follows
    from Spark's cores where segments are split: for the same files on another cluster, give the option `split_bytes`.

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
        hook = PravegaHook(self.pravega_conn_id)
        with failures_recorded(hook, self.stream, self.stream_cuts, context), failing_for_good():
            config = hook.get_config()
            stream = StreamName.parse(self.stream, config.scope)
            given = cast("Mapping[str, str]", self.stream_cuts)  # not an XComArg any more, if what it gave is right
            cuts, times = StreamCutRange.from_json(given), self._times(given)
            with hook.get_client() as client:
                found = client.run(fix_range(client.asynchronous, stream, cuts.start, cuts.end))
                began = time.monotonic()
                with self.session(hook, context) as spark:
                    read = partial(self._read, spark, config, stream, found.cuts, times)
                    events, rows = unsplit_if_need_be(read, self.log.warning)
                    digest = digest_of_files(spark, self.output_path, self.output_format) if self.digest else None
                finish(client, stream, given, found.cuts, write_name(context))
        result = {
            "path": self.output_path,
            "events": events,
            "rows": rows,
            "bytes": found.size,
            "seconds": round(time.monotonic() - began, 3),
            "digest": digest,
        }
        self.log.info("Read %s %s: %s", stream, shown(found.cuts), result)
        return result

    def _times(self, cuts: Mapping[str, str]) -> dict[str, str]:
        """Options that leave out the events of other times, if the range is one of event times."""
        if "since" not in cuts or "until" not in cuts:
            return {}
        if TIME_OPTION not in {name.lower() for name in self.options}:
            raise ConfigurationError(
                f"stream_cuts is of the event times {cuts['since']} to {cuts['until']}, and its range has events of "
                f"other times too: name their column by options={{{TIME_OPTION!r}: …}}, and give 'decode' there"
            )
        return interval_options(cuts["since"], cuts["until"])

    def _read(
        self,
        spark: "SparkSession",
        config: PravegaConfig,
        stream: StreamName,
        cuts: StreamCutRange,
        times: Mapping[str, str],
        more: Mapping[str, str],
    ) -> tuple[int, int]:
        """Read the range and write the files; returns the events that were read and the rows that were written."""
        frame, read = counted(load_range(spark, config, stream, cuts, {**self.options, **times, **more}))
        frame = self.transformed(frame)
        if self.sort_by:
            frame = frame.orderBy(*self.sort_by)
        if self.files is not None:
            frame = frame.coalesce(self.files)
        frame, written = counted(frame)
        frame.write.format(self.output_format).mode("overwrite").save(self.output_path)
        return count_of(read), count_of(written)


class PravegaSparkWriteOperator(PravegaSparkOperator):
    """Writes events to a stream exactly once with Spark: tries of the same write id add nothing to the first success.

    If the write is done already, the rows are computed and compared with it, and the task fails if they differ, as
    after a task was cleared because its code or source has changed. The option `on_written` says what else is to be
    done: `skip` compares never, `fail` fails in any case.

    Returns `{"stream", "write_id", "generation", "events", "bytes", "cuts", "written", "seconds"}`: what the stream
    holds of this write (the bytes with event headers), between which cuts (`{"start": text, "end": text}`, or None if
    the account may not ask for them), and whether this try has written it, or found it written.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope; made if it is missing. (templated)
        source: path of files to read (templated), or a function from the session and the task's context to a
            DataFrame.
        source_format: format of the files at `source`.
        transform: from the source's DataFrame to one with the columns `event` (string or binary) and, if wanted,
            `routing_key`; a function, or its dotted name.
        write_id: name of the write; by default made of DAG, task, map index and the run's partition key, logical date
            or id. Another id writes again. (templated)
        rebuild: the generation of the write, for rows that are written again on purpose: 2 after 1 is done, and so on;
            a number or its text. (templated)
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
        "rebuild",
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
        rebuild: int | str = 1,
        commit_ledger: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow calls functions that it finds in templated fields; this one is for later.
        self.source = source if isinstance(source, str) else None
        self._make_frame = source if callable(source) else None
        self.source_format = source_format
        self.write_id = write_id
        self.rebuild = rebuild
        self.commit_ledger = commit_ledger

    def execute(self, context: Context) -> dict[str, Any]:
        """Write, or compare with what is written.

        Raises:
            AirflowFailException: the stream, a column or an option cannot work, or the write is done with other rows.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            write_id = self.write_id or write_name(context)
            generation = parse_generation(self.rebuild)
            config = hook.get_config()
            stream = StreamName.parse(self.stream, config.scope)
            ledger_name(self.commit_ledger, stream.scope)
            with hook.get_client() as client:
                find = partial(finished_write, client.asynchronous, stream, write_id, self.commit_ledger, generation)
                write = partial(self._write, hook, config, stream, write_id, generation, context)
                # A further try looks like that of a task that was cleared while it ran: both compare.
                done = write_once(stream, write_id, lambda: client.run(find()), write, retried=False)
        cuts = done.record.cuts
        result = {
            "stream": str(stream),
            "write_id": write_id,
            "generation": generation,
            "events": done.record.total_events,
            "bytes": done.record.total_bytes,
            "cuts": cuts and cuts.to_json(),
            "written": done.by_this_try,
            "seconds": round(done.seconds, 3),
        }
        self.log.info(
            "%s to %s %s: %d events, %s bytes, write id %r, generation %d",
            "Written" if done.by_this_try else "Written already",
            stream,
            shown(cuts),
            done.record.total_events,
            f"{done.record.total_bytes:,}",
            write_id,
            generation,
        )
        return result

    def _write(
        self,
        hook: PravegaHook,
        config: PravegaConfig,
        stream: StreamName,
        write_id: str,
        generation: int,
        context: Context,
    ) -> None:
        ledger = {LEDGER_OPTION: self.commit_ledger} if self.commit_ledger else {}
        with self.session(hook, context) as spark:
            if self._make_frame is not None:
                frame = self._make_frame(spark, context)
            else:
                frame = spark.read.format(self.source_format).load(self.source)
            save_events(self.transformed(frame), config, stream, write_id, self.options | ledger, generation)
