"""The operator that merges a range of database changes into a table: once, and an older change never wins."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.sdk import Context, XComArg

from aiopravega.blocking import PravegaClient
from airflow_pravega.asset_events import Kind, tell, took
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import ICEBERG, POSTGRES, check_store, check_table, named_table, table_in
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage.tables import columns_in, rows_taken, table_data
from airflow_pravega.spark.range import PravegaSparkRangeOperator
from airflow_pravega.tasks.arguments import check_known, is_known, known_texts
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.intervals import shown, table_sink
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.landing.targets import check_partitions
from pravega_jobs.merging import Merged, MergeRules, merge_changes
from pravega_jobs.merging.reading import change_options, merged_table
from pravega_jobs.merging.state import check_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Stands for the key, which may be known only when the task runs.
_SOME_KEY: Final = ("id",)


class PravegaCdcMergeOperator(PravegaSparkRangeOperator):
    """Merges the changes of a range, as Debezium writes them, into a table exactly once.

    The range names a consumer and an interval, as the range of a sensor does. The table holds each interval once: a
    task that was killed and is tried again, or one that was cleared, changes nothing. With `deletes="hard"` ranges must
    come in their order: give the DAG `max_active_runs=1`. At the end the interval is recorded as done.

    Returns `{"table", "action", "changes", "inserted", "updated", "deleted", "older", "absent", "same", "ghosts",
    "new_columns", "bytes", "seconds", "cuts"}`: the text of the table, `merge` or `nothing`, the number of rows of the
    source that have changed, how many of them were inserted and so on (zeros if nothing was done), the bytes of the
    range in the stream (event headers included), and the range (`{"start": text, "end": text}`).

    It also takes the arguments of all Spark operators: `master`, `spark_conn_id`, `spark_conf`, `options` and
    `pravega_conn_id`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text, "consumer": name, "interval": name}`, such as a sensor's
            output. (templated)
        table: `delta:/folder` or `iceberg:catalog/namespace.table`; with `postgres_conn_id`, the table's name with or
            without its schema; with `iceberg_conn_id`, `namespace.table`. (templated)
        postgres_conn_id: id of a connection of the type `postgres` to the database that has the table. Its password
            goes to the executors, and into no log, XCom, rendered template or plan of Spark. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the table. Its secrets go to
            the catalog, and into no log, XCom, rendered template or plan of Spark. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the table. Its secrets go to the store,
            the catalog and the executors, and into no log, XCom, rendered template or plan of Spark. (templated)
        key: the columns that identify a row of the source. (templated)
        columns: the columns of the source's table, as SQL writes them, for example `id int, price decimal(10,2)`; the
            columns about the change are added unless `_change_type` is among them. By default they come from the
            options `schema_file` or `schema_text`, or from the schemas that events carry. (templated)
        deletes: `hard` removes rows, `soft` keeps them with `_deleted`. (templated)
        new_columns: the rule for columns that the table does not have: `fail`, `ignore` or `add`. (templated)
        unsent: the rule for an update that lacks values (TOAST), of a row that the table does not have: `fail`, or
            `null`. (templated)
        ghosts: the rule for rows of the table that are not in a snapshot which ends in the range: `keep`, or `remove`,
            which is right if snapshots have all rows of the source's table. (templated)
        history: `none`, or `scd2` to keep every version of a row. (templated)
        partition_by: the partitions of a new table, such as `["country"]`, and in Iceberg also `["day(created)",
            "bucket(16, id)"]`; a table that exists must have them, if any are given. (templated)
        transform: a function, or its dotted name, that gets the DataFrame of changes and returns the one to be merged.
        options: further options of the data source, for example `table` or `truncates`. (templated)
    """

    template_fields: Sequence[str] = (
        "stream_cuts",
        "table",
        "postgres_conn_id",
        "iceberg_conn_id",
        "aws_conn_id",
        "key",
        "deletes",
        "new_columns",
        "unsent",
        "ghosts",
        "history",
        "partition_by",
        *PravegaSparkRangeOperator.template_fields,
    )

    def __init__(
        self,
        *,
        stream_cuts: Mapping[str, str] | XComArg,
        table: str,
        postgres_conn_id: str | None = None,
        iceberg_conn_id: str | None = None,
        aws_conn_id: str | None = None,
        key: Sequence[str],
        deletes: str = "hard",
        new_columns: str = "fail",
        unsent: str = "fail",
        ghosts: str = "keep",
        history: str = "none",
        partition_by: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        parts = known_texts(partition_by)
        check_known(
            table,
            lambda text: (
                check_partitions(merged_table(text), parts)
                if postgres_conn_id is None and iceberg_conn_id is None
                else check_table(text, postgres_conn_id, iceberg_conn_id, parts)
            ),
        )
        check_known(table, lambda text: check_store(text, iceberg_conn_id, aws_conn_id))
        texts = {"deletes": deletes, "new_columns": new_columns, "unsent": unsent, "ghosts": ghosts, "history": history}
        with failing_for_good():  # of those that are known now; the others are checked when the task runs
            rules = MergeRules.of(_SOME_KEY, **{name: text for name, text in texts.items() if is_known(text)})
        check_known(table, lambda text: check_history(named_table(text, postgres_conn_id, iceberg_conn_id), rules))
        self.stream_cuts = stream_cuts
        self.table = table
        self.postgres_conn_id = postgres_conn_id
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.key = key
        self.deletes = deletes
        self.new_columns = new_columns
        self.unsent = unsent
        self.ghosts = ghosts
        self.history = history
        self.partition_by = partition_by

    def execute(self, context: Context) -> dict[str, Any]:
        """Check the range and the table, then merge the range.

        Raises:
            AirflowFailException: the stream, the range, the table or an option cannot work, the range names no
                consumer and interval, or the table must not take the range; the message says why.
            PravegaError: the cluster or the table's server cannot be reached.
        """
        given = cast("Mapping[str, str]", self.stream_cuts)
        hook = PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            landing = landing_of(given, partition_by=self.partition_by)
            conn_id = self.postgres_conn_id or self.iceberg_conn_id
            beside = POSTGRES if self.postgres_conn_id else ICEBERG
            connection = hook.get_connection(conn_id) if conn_id else None
            target = merged_table(self.table) if connection is None else table_in(self.table, connection, beside)
            check_partitions(target, self.partition_by)
            access = store_access(self.aws_conn_id)
            rules = MergeRules.of(
                self.key,
                deletes=self.deletes,
                new_columns=self.new_columns,
                unsent=self.unsent,
                ghosts=self.ghosts,
                history=self.history,
            )

        def work(client: PravegaClient, frame: "DataFrame") -> Merged:
            del client
            with accessing(access):
                merged = merge_changes(self.transformed(frame), target, landing, rules)
                columns = columns_in(target)
            table = table_data(self.table, connection)
            self.lineage = rows_taken(self.lineage, table, columns, changed=self.transform is not None)
            return merged

        done = self.process_range(
            context,
            given,
            work,
            options={**self.options, **change_options(self.columns, self.options, rules)},
            sink=table_sink("merge", self.table, conn_id, given, store=self.aws_conn_id),
        )
        action, counts = done.result.action, asdict(done.result.counts)
        known = {"rows": done.result.holding.rows, "bytes": done.size, "table": self.table}
        tell(context, took(done.stream, done.cuts, given, Kind.MERGE, **known))
        self.log.info("Merged %s %s into %s: %s, %s", done.stream, shown(done.cuts), self.table, action.value, counts)
        return {
            "table": self.table,
            "action": action.value,
            "changes": done.result.holding.rows,
            **counts,
            "bytes": done.size,
            "seconds": done.seconds,
            "cuts": done.cuts.to_json(),
        }
