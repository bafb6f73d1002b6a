"""The operator by which a table follows a stream: it waits for the next range, and takes it into the table once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.next_range import SINCE
from airflow_pravega.asset_events import Kind, tell, took
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import (
    ICEBERG,
    POSTGRES,
    check_errors_sink,
    check_store,
    errors_in,
    named_table,
    table_in,
)
from airflow_pravega.hooks.pravega import PravegaHook, registry_of
from airflow_pravega.lineage import Lineage, range_read
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.lineage.tables import columns_in, rows_taken, table_data
from airflow_pravega.sensors.run_range import LAST
from airflow_pravega.sensors.stream_cut import IfEmpty, PravegaStreamCutSensor
from airflow_pravega.tasks.arguments import check_known
from airflow_pravega.tasks.failures import ProcessesInterval, failing_for_good, failures_recorded
from airflow_pravega.tasks.intervals import TO_RECORD, declare, interval_in, table_sink
from airflow_pravega.tasks.ranges import task_range
from pravega_jobs.keeping import KeepRules, Kept, keep_range, with_upkeep
from pravega_jobs.landing import ErrorsStream, LandingTable
from pravega_jobs.landing.store_access import accessing


class PravegaKeepTableOperator(ReportsLineage, ProcessesInterval, PravegaStreamCutSensor):
    """Keeps a table after a stream: takes the next range of a consumer into it, once, and keeps the table up.

    A task waits for the next range as `PravegaStreamCutSensor` does, in the same chain of the cut ledger. It lands the
    events of the range in the table or, with `key`, merges them, as Debezium's changes or as plain rows. It records the
    range as done, and puts small files together if there are many. A task that is killed anywhere and tried again, or
    cleared, takes the range of its run again, and adds nothing that the table has. Spark is not needed: the rows go
    through the worker, a few megabytes at a time.

    A stream without new events skips the task. A DAG that a `PravegaStreamCutEventTrigger` starts follows within
    seconds; a scheduled DAG takes what came since its last run. Give the DAG `max_active_runs=1`: each run takes all
    that is there.

    Returns `{"table", "consumer", "interval", "cuts", "action", "rows", "errors", "bytes", "changes", "upkeep",
    "errors_upkeep", "upkeep_error"}`: the action (`append`, `merge` or `nothing`), the number of rows that the table
    holds of the range (of a merge, the rows of the source that have changed), the number of its errors (null without an
    errors table), the bytes of the range in the stream (event headers included), the counts of a merge, the report of
    an upkeep if one was due, that of the errors table, and the reason why one was not done.

    It also takes the arguments of `PravegaStreamCutSensor`, such as `consumer`, `max_bytes`, `min_bytes`, `deferrable`
    and `on_truncated`, but not `record`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        table: `parquet:/folder`, `delta:/folder`, `delta:s3://bucket/path`, `iceberg:catalog/namespace.table`; with
            `postgres_conn_id`, the table's name with or without its schema; with `iceberg_conn_id`, `namespace.table`.
            (templated)
        postgres_conn_id: id of a connection of the type `postgres` to the database that has the table. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the table. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the table. Its secrets go to the store
            and the catalog, and into no log, XCom or rendered template. (templated)
        columns: the columns of events that are decoded as JSON (`options={"decode": "json"}`), or of the source's table
            if changes are merged, as SQL writes them, for example `id long, price double`. (templated)
        options: options of the read, as `pravega_jobs.frames.read_arrow` has them. If the connection names a Schema
            Registry, events become the columns of their group without options. (templated)
        new_columns: the rule for columns that the table does not have: `fail`, `ignore` or `add`.
        partition_by: the partitions of a new table of Delta or Iceberg, such as `["departed"]`.
        errors: an errors table for events that cannot be decoded, named as `table` and in the same database or catalog;
            or an errors stream, `stream:scope/name`, which the connection's cluster must have. (templated)
        most_errors: the most errors that a range may have, such as `100` or `1%` of all rows; with more the task fails,
            and changes nothing.
        key: the columns that identify a row: the events are changes as Debezium writes them, or with `order_by` plain
            rows, and are merged into a table of Delta, Iceberg or PostgreSQL. Empty: all events are landed.
        deletes: the rule of a merge for deleted rows: `hard` (by default) or `soft`.
        unsent: the rule of a merge for an update that lacks values: `fail` (by default) or `null`.
        ghosts: the rule of a merge for rows that a snapshot does not have: `keep` (by default) or `remove`.
        history: `none` (by default), or `scd2` to keep every version of a row.
        order_by: for a merge of plain rows, the columns by which the last row of a key is found, such as
            `["segment_id", "offset"]`; `[]` if a range has each key once.
        delete_column: for a merge of plain rows, a boolean column that is true in rows that delete the row of their
            key.
        upkeep_after: the number of small files, and of versions of the table, after which it is kept up, as is the
            errors table; 0: never. By default 100, of tables of Delta and Iceberg.
        since: the start of a first run: `"last"` (the head of the stream) or `"latest"` (the tail at that time).
            (templated)
        if_empty: the rule for a stream that has not moved far enough: `"skip"` the task and the tasks after it, or
            `"wait"`. (templated)
    """

    template_fields: Sequence[str] = (
        "table",
        "postgres_conn_id",
        "iceberg_conn_id",
        "aws_conn_id",
        "columns",
        "options",
        "errors",
        *PravegaStreamCutSensor.template_fields,
    )

    def __init__(
        self,
        *,
        stream: str,
        table: str,
        postgres_conn_id: str | None = None,
        iceberg_conn_id: str | None = None,
        aws_conn_id: str | None = None,
        columns: str | None = None,
        options: Mapping[str, str] | None = None,
        new_columns: str = "fail",
        partition_by: Sequence[str] = (),
        errors: str | None = None,
        most_errors: int | str | None = None,
        key: Sequence[str] = (),
        deletes: str | None = None,
        unsent: str | None = None,
        ghosts: str | None = None,
        history: str | None = None,
        order_by: Sequence[str] | None = None,
        delete_column: str | None = None,
        upkeep_after: int | None = None,
        since: str = LAST,
        if_empty: str = IfEmpty.SKIP.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=stream, since=since, if_empty=if_empty, **kwargs)
        self.table = table
        self.postgres_conn_id = postgres_conn_id
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.columns = columns
        self.options = dict(options or {})
        self.new_columns = new_columns
        self.partition_by = partition_by
        self.errors = errors
        self.most_errors = most_errors
        self.key = key
        self.deletes = deletes
        self.unsent = unsent
        self.ghosts = ghosts
        self.history = history
        self.order_by = order_by
        self.delete_column = delete_column
        self.upkeep_after = upkeep_after
        with failing_for_good():  # of what is known now; the rest is checked when the task runs
            if not self.record:
                raise ConfigurationError("record=False: a table knows its ranges by their records. Leave it out")
            rules = self._rules(None, {})
        check_known(since, _check_since)
        check_known(table, lambda text: rules.check(named_table(text, postgres_conn_id, iceberg_conn_id)))
        check_known(table, lambda text: check_store(text, iceberg_conn_id, aws_conn_id))
        check_known(errors, lambda text: check_errors_sink(text, postgres_conn_id, iceberg_conn_id, aws_conn_id))

    def execute(self, context: Context) -> dict[str, Any]:
        """Wait for the next range, then take it into the table.

        Raises:
            AirflowSkipException: the stream has no new events, or a test records nothing.
            AirflowFailException: the stream, the table or an option cannot work, or the table must not take the range.
            PravegaError: the cluster or the table's server cannot be reached.
        """
        with failing_for_good():
            _check_since(str(self.since))
        given: Mapping[str, str] = super().execute(context)
        if "interval" not in given:
            raise AirflowSkipException(f"The range is not recorded, so the table does not take it. {TO_RECORD}")
        hook = PravegaHook(self.pravega_conn_id)
        with failures_recorded(hook, None, given, context), failing_for_good():
            rules = self._rules(self.columns, self.options)
            table, errors = self._tables(hook)
            rules.check(table)
            access = store_access(self.aws_conn_id)
        with accessing(access):
            kept = with_upkeep(self._keep(context, hook, given, rules, table, errors), table, rules, errors)
        self.log.info("%s", kept)
        return {"table": self.table, **kept.to_json()}

    def _keep(
        self,
        context: Context,
        hook: PravegaHook,
        given: Mapping[str, str],
        rules: KeepRules,
        table: LandingTable,
        errors: LandingTable | ErrorsStream | None,
    ) -> Kept:
        def watch(killed: Callable[[], None] | None) -> None:
            self._when_killed = killed

        with task_range(hook, given, context, watch=watch) as taken:
            self.lineage = Lineage((range_read(taken.client.config, taken.stream, taken.range, given),))
            conn_id = self.postgres_conn_id or self.iceberg_conn_id
            sink = table_sink(rules.kind, self.table, conn_id, given, store=self.aws_conn_id)
            declare(taken.client, taken.stream, given, sink, context)
            interval = interval_in(given, taken.stream)
            with registry_of(hook) as registry:
                kept = keep_range(taken, interval, table, rules, errors=errors, registry=registry)
            kind = Kind.LAND if rules.kind == "landing" else Kind.MERGE
            known = {"rows": kept.rows, "bytes": kept.bytes, "table": self.table}
            tell(context, took(taken.stream, kept.cuts, given, kind, **known))
        named = table_data(self.table, hook.get_connection(conn_id) if conn_id else None, kept.rows)
        self.lineage = rows_taken(self.lineage, named, columns_in(table), changed=False)
        return kept

    def _rules(self, columns: str | None, options: Mapping[str, str]) -> KeepRules:
        return KeepRules.of(
            columns=columns,
            options=options,
            new_columns=self.new_columns,
            partition_by=self.partition_by,
            errors=self.errors,
            most_errors=self.most_errors,
            key=self.key,
            deletes=self.deletes,
            unsent=self.unsent,
            ghosts=self.ghosts,
            history=self.history,
            order_by=self.order_by,
            delete_column=self.delete_column,
            upkeep_after=self.upkeep_after,
        )

    def _tables(self, hook: PravegaHook) -> tuple[LandingTable, LandingTable | ErrorsStream | None]:
        """The table and the errors table or stream, with the secrets of their connection."""
        conn_id = self.postgres_conn_id or self.iceberg_conn_id
        connection = hook.get_connection(conn_id) if conn_id else None
        beside = POSTGRES if self.postgres_conn_id else ICEBERG
        errors = None if self.errors is None else errors_in(self.errors, connection, beside)
        return table_in(self.table, connection, beside), errors


def _check_since(since: str) -> None:
    if since not in SINCE:
        raise ConfigurationError(
            f"since is {since!r}, but must be one of {', '.join(SINCE)}: a table follows a chain of ranges, each of "
            "which starts where the one before it ended. To land one range again, use PravegaLandOperator"
        )
