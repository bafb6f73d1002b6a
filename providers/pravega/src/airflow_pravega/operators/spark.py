"""Operators that run Spark between a stream and files: read a range, write events exactly once.

They reach Pravega by the data source `pravega`. The stream and the range are checked before Spark is started.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from airflow.sdk import BaseOperatorLink, Context, XComArg

from aiopravega.blocking import PravegaClient
from airflow_pravega.asset_events import tell, took, written
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Columns, FileData, Lineage, columns_of, written_once
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToStream, PravegaSparkLink
from airflow_pravega.spark.deferred_range import Begun, DeferrableRangeOperator
from airflow_pravega.spark.deferring import DeferrableSparkOperator, check_known
from airflow_pravega.spark.files import FileRows
from airflow_pravega.spark.range import Processed
from airflow_pravega.spark.writing import OnceWrite
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.tasks.intervals import shown
from pravega_jobs.spark.connect import OperationEnd, begin
from pravega_jobs.spark.file_digest import digest_of_files
from pravega_jobs.spark.frames import EVENTS, count_of
from pravega_jobs.spark.whole_folder import LeftFolder, whole_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PravegaSparkReadOperator(DeferrableRangeOperator):
    """Reads exactly one range of a stream with Spark and writes it to files, which replace the files of an earlier try.

    The files become visible at once: a try writes beside `output_path`, which is then renamed, so that a try which was
    given up and still runs changes nothing. In an object store a rename is a copy: read the files after the task.

    Returns `{"path", "events", "rows", "bytes", "seconds", "digest"}`: the number of events read and of rows written,
    the bytes of the range in the stream (event headers included), and the digest of the files, or None.

    The same range gives the same files in every run: the rows come in the order of segment and offset. A transformation
    that shuffles (groups, joins) loses that order: give `sort_by` then. If segments are split, the division of the rows
    into files depends on Spark's cores: for the same files on another cluster, give the option `split_bytes`.

    It also takes the arguments of all Spark operators: `master`, `spark_conn_id`, `spark_conf`, `options`,
    `pravega_conn_id`, `deferrable` and `poll_interval`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text}`, such as a sensor's output. If it also has the names
            `consumer` and `interval`, as the ranges of sensors and of a planned backfill have, the interval is recorded
            as done. If it has the event times `since` and `until`, only the events with `since <= time < until` are
            read: `options` must name the column with the times, `event_time`, and how events are decoded, `decode`.
            (templated)
        columns: the columns of events that are decoded as JSON (`options={"decode": "json"}`), as SQL writes them, for
            example `id long, price double`. (templated)
        output_path: folder of the files, on any file system that Spark knows. (templated)
        output_format: a format that Spark writes.
        transform: a function, or its dotted name, that gets the DataFrame of the range and returns the one to be
            written. It gets the columns `event`, `scope`, `stream`, `segment_id` and `offset`, or the columns of
            decoded events.
        sort_by: columns to sort the result by.
        files: number of files to write; by default the number of Spark's partitions.
        digest: compute the SHA-256 of the written files, which reads them again: of their bytes; for Parquet, in which
            the same rows are not always the same bytes, of the rows and their order.
    """

    template_fields: Sequence[str] = ("stream_cuts", "output_path", *DeferrableRangeOperator.template_fields)

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
        given = cast("Mapping[str, str]", self.stream_cuts)
        if self.deferrable:
            self.begin_range(context, given, self._begin_files)
        return self._finished(context, given, self.process_range(context, given, self._write_files))

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Continue after a Spark Connect server has written the files: show them, and finish the interval.

        Raises:
            AirflowFailException: the range or an option cannot work.
            AirflowException: the server has failed, or does not know the operation any more.
            AirflowTaskTimeout: the task's `execution_timeout` is over; the operation is ended.
            PravegaError: the cluster cannot be reached.
        """
        self.end_session(event)
        given, carried = cast("Mapping[str, str]", self.stream_cuts), event["carried"]
        folder, self.output_path = LeftFolder(**carried["folder"]), carried["path"]
        if self.has_to_begin_again(event):
            folder.forget()
            self.begin_range(context, given, self._begin_files, again=event)

        def show(_: PravegaClient, end: OperationEnd, __: float) -> tuple[int, int, str | None]:
            check_known(end)
            events, rows, digest = *(end.count(each, EVENTS) for each in carried["observations"]), None
            if self.digest:
                with self.session(PravegaHook(self.pravega_conn_id), context) as spark:
                    digest = digest_of_files(spark, folder.files, self.output_format)
            folder.show()
            self._describe(events, rows, tuple((name, kind) for name, kind in carried["columns"]))
            return events, rows, digest

        try:
            done = self.complete_range(context, given, event, show)
        finally:
            folder.forget()
        return self._finished(context, given, done)

    def _finished(
        self, context: Context, given: Mapping[str, str], done: Processed[tuple[int, int, str | None]]
    ) -> dict[str, Any]:
        events, rows, digest = done.result
        tell(context, took(done.stream, done.cuts, given, rows=rows, bytes=done.size))
        counts = {"events": events, "rows": rows, "bytes": done.size, "seconds": done.seconds}
        result = {"path": self.output_path, **counts, "digest": digest}
        self.log.info("Read %s %s: %s", done.stream, shown(done.cuts), result)
        return result

    def _write_files(self, client: PravegaClient, frame: "DataFrame") -> tuple[int, int, str | None]:
        """Write the files; returns the number of events read and of rows written, and the files' digest."""
        del client
        with whole_folder(frame.sparkSession, self.output_path) as folder:
            rows = self._planned(frame)
            rows.writer(self.output_format).save(folder)
            digest = digest_of_files(frame.sparkSession, folder, self.output_format) if self.digest else None
        counts = count_of(rows.read), count_of(rows.written)
        self._describe(*counts, columns_of(rows.frame))
        return *counts, digest

    def _begin_files(self, client: PravegaClient, frame: "DataFrame", url: str) -> Begun:
        """Have a server begin to write the files."""
        del client
        folder, names = LeftFolder.begin(frame.sparkSession, self.output_path), (uuid4().hex, uuid4().hex)
        try:
            rows = self._planned(frame, names)
            columns = [list(each) for each in columns_of(rows.frame)]
            operation = begin(rows.writer(self.output_format), url, folder.files)
        except BaseException:
            folder.forget()
            raise
        carried = {"folder": asdict(folder), "path": self.output_path, "observations": list(names), "columns": columns}
        return Begun(operation, carried, names)

    def _planned(self, frame: "DataFrame", names: tuple[str | None, str | None] = (None, None)) -> FileRows:
        rows = FileRows.planned(frame, self.transformed, self.sort_by, self.files, names)
        self.lineage = replace(self.lineage, outputs=(FileData(self.output_path, columns=columns_of(rows.frame)),))
        return rows

    def _describe(self, events: int, rows: int, columns: Columns) -> None:
        self.describe_input(events=events)
        self.lineage = replace(self.lineage, outputs=(FileData(self.output_path, columns=columns, rows=rows),))


class PravegaSparkWriteOperator(ReportsLineage, LinkedToStream, DeferrableSparkOperator):
    """Writes events to a stream exactly once with Spark: tries of the same write id add nothing to the first success.

    If the write is done already, the rows are computed again and compared with the written ones. The task fails if they
    differ, for example if it was cleared because its code or source has changed. The option `on_written` changes this:
    `skip` never compares, `fail` fails in any case.

    Returns `{"stream", "write_id", "generation", "events", "bytes", "cuts", "written", "seconds"}`: the events and
    bytes that the stream holds of this write (with event headers), the cuts around them (`{"start": text, "end":
    text}`, or None if the account may not ask for them), and whether this try has written them; if not, an earlier one.

    It also takes the arguments of all Spark operators: `master`, `spark_conn_id`, `spark_conf`, `options`,
    `pravega_conn_id`, `deferrable` and `poll_interval`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope; made if it is missing. (templated)
        source: path of files to read (templated), or a function that gets the session and the task's context and
            returns a DataFrame.
        source_format: format of the files at `source`.
        transform: a function, or its dotted name, that gets the source's DataFrame and returns one with the columns
            `event` (string or binary) and, if wanted, `routing_key`.
        write_id: name of the write; by default made of DAG, task, map index and the run's partition key, logical date
            or id. Another id writes again. (templated)
        rebuild: the generation of the write, for rows that are written again on purpose: 2 after 1 is done, and so on;
            a number or its text. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default a table in the stream's scope. (templated)
    """

    operator_extra_links: Collection[BaseOperatorLink] = (*LinkedToStream.operator_extra_links, PravegaSparkLink())
    template_fields: Sequence[str] = (
        "source",
        "write_id",
        "rebuild",
        "commit_ledger",
        *DeferrableSparkOperator.template_fields,
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
        # Airflow would call a function in a templated field while it renders; this one is called in `_write`.
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
        with self._opened(context) as (hook, client, once):
            if self.deferrable:
                url = self.server(hook)
                with self.session(hook, context) as spark:
                    self.give_back(*once.begin(client, self._frame(spark, context), url))

            def write() -> None:
                with self.session(hook, context) as spark:
                    once.writer(self._frame(spark, context)).save()

            return self._finished(context, once, once.run(client, write, self.log))

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Continue after a Spark Connect server has written.

        Raises:
            AirflowFailException: the write is done with other rows, or cannot work.
            AirflowException: the server has failed, or does not know the operation any more, and the write is not done.
            AirflowTaskTimeout: the task's `execution_timeout` is over; the operation is ended.
            PravegaError: the cluster cannot be reached.
        """
        self.end_session(event)
        with self._opened(context) as (_, client, once):
            end, seconds = self.ended(event)
            return self._finished(context, once, once.ended(client, end, event["carried"], seconds, self.log))

    @contextmanager
    def _opened(self, context: Context) -> Iterator[tuple[PravegaHook, PravegaClient, OnceWrite]]:
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            once = OnceWrite.named(
                hook.get_config(),
                self.stream,
                self.write_id or write_name(context),
                rebuild=self.rebuild,
                commit_ledger=self.commit_ledger,
                options=self.options,
            )
            self.link_to_stream(context, once.stream)
            self.lineage = Lineage((FileData(self.source),) if self.source is not None else ())
            with hook.get_client() as client:
                yield hook, client, once

    def _frame(self, spark: "SparkSession", context: Context) -> "DataFrame":
        if self._make_frame is not None:
            return self.transformed(self._make_frame(spark, context))
        return self.transformed(spark.read.format(self.source_format).load(self.source))

    def _finished(self, context: Context, once: OnceWrite, result: dict[str, Any]) -> dict[str, Any]:
        self.lineage = replace(self.lineage, outputs=(written_once(once.config, result, once.columns),))
        tell(context, written(result))
        return result
