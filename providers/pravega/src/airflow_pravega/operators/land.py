"""The operator that lands a range in a table: each row once, although tasks are killed, retried or cleared."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import Context, XComArg

from aiopravega.blocking import PravegaClient
from airflow_pravega.asset_events import Kind, tell, took
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.fields import ConnectionLike
from airflow_pravega.connections.tables import (
    ICEBERG,
    POSTGRES,
    check_errors_sink,
    check_store,
    check_table,
    errors_in,
    table_in,
)
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Columns, columns_of
from airflow_pravega.lineage.tables import rows_taken, table_data
from airflow_pravega.spark.range import PravegaSparkRangeOperator
from airflow_pravega.tasks.arguments import check_known, known_texts
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.intervals import shown, table_sink
from pravega_jobs.landing import Landed, LandingTable, land
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.errors import check_errors, errors_sink_of
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Evolution, choice
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.spark.options import ERROR
from pravega_jobs.writes import parse_generation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PravegaLandOperator(PravegaSparkRangeOperator):
    """Lands the rows of a range in a table exactly once: Parquet files, Delta, Iceberg or PostgreSQL.

    The range names a consumer and an interval, as the ranges of sensors and of a planned backfill do. The table holds
    each interval once: a task that was killed during its work and is tried again, or one that was cleared, adds nothing
    to rows that are there. Every row gets the columns `_consumer` and `_interval`. At the end the interval is recorded
    as done.

    Returns `{"table", "action", "rows", "errors", "generation", "bytes", "seconds", "cuts"}`: the text of the table,
    the action (`append`, `replace` or `nothing`), the number of rows that the table holds of the interval, the number
    of its errors (null without an errors table) and their generation, the bytes of the range in the stream (event
    headers included), and the range (`{"start": text, "end": text}`).

    It also takes the arguments of all Spark operators: `master`, `spark_conn_id`, `spark_conf`, `options` and
    `pravega_conn_id`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text, "consumer": name, "interval": name}`, such as a sensor's
            output. If it has the event times `since` and `until`, only the events with `since <= time < until` are
            landed: `options` must name the column with the times, `event_time`, and how events are decoded, `decode`.
            (templated)
        columns: the columns of events that are decoded as JSON (`options={"decode": "json"}`), as SQL writes them, for
            example `id long, price double`. (templated)
        table: `parquet:/folder`, `delta:/folder`, `iceberg:catalog/namespace.table`; with `postgres_conn_id`, the
            table's name with or without its schema; with `iceberg_conn_id`, `namespace.table`. The address of a
            database is refused: it may have a password. (templated)
        postgres_conn_id: id of a connection of the type `postgres` to the database that has the table. Its password
            goes to the driver and the executors, and into no log, XCom, rendered template or plan of Spark. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the table. Its secrets go to
            the catalog, and into no log, XCom, rendered template or plan of Spark. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the table. Its secrets go to the store,
            the catalog and the executors, and into no log, XCom, rendered template or plan of Spark. (templated)
        rebuild: the generation of the rows: 2 replaces the rows of 1, and so on; a number or its text. (templated)
        new_columns: the rule for columns that the table does not have: `fail`, `ignore` or `add`. (templated)
        partition_by: the partitions of a new table of Delta or Iceberg, such as `["departed"]`, and in Iceberg also
            `["day(departed)", "bucket(16, id)"]`; a table that exists must have them, if any are given. (templated)
        errors: an errors table for events that cannot be decoded, named as `table` and in the same database or catalog;
            or an errors stream, `stream:scope/name`, which the connection's cluster must have; `options` must have
            `on_error` as `dead`, and `transform` keep the column `_error`. (templated)
        most_errors: the most errors that the landing may have, such as `100` or `1%` of all rows; with more it fails,
            and changes nothing. (templated)
        transform: a function, or its dotted name, that gets the DataFrame of the range and returns the one to be
            landed. It gets the columns `event`, `scope`, `stream`, `segment_id` and `offset`, or the columns of decoded
            events.
    """

    template_fields: Sequence[str] = (
        "stream_cuts",
        "table",
        "postgres_conn_id",
        "iceberg_conn_id",
        "aws_conn_id",
        "rebuild",
        "new_columns",
        "partition_by",
        "errors",
        "most_errors",
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
        rebuild: int | str = 1,
        new_columns: str = "fail",
        partition_by: Sequence[str] = (),
        errors: str | None = None,
        most_errors: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        parts = known_texts(partition_by)
        check_known(table, lambda text: check_table(text, postgres_conn_id, iceberg_conn_id, parts))
        check_known(table, lambda text: check_store(text, iceberg_conn_id, aws_conn_id))
        check_known(new_columns, lambda text: choice(text, Evolution, "new_columns"))
        if errors is not None:
            check_known(errors, lambda text: check_errors_sink(text, postgres_conn_id, iceberg_conn_id, aws_conn_id))
        if most_errors is not None:
            check_known(str(most_errors), lambda text: check_errors(errors, text))
        self.stream_cuts = stream_cuts
        self.table = table
        self.postgres_conn_id = postgres_conn_id
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.rebuild = rebuild
        self.new_columns = new_columns
        self.partition_by = partition_by
        self.errors = errors
        self.most_errors = most_errors

    def execute(self, context: Context) -> dict[str, Any]:
        """Check the range and the table, then land the range.

        Raises:
            AirflowFailException: the stream, the range, the table or an option cannot work, the range names no
                consumer and interval, or the table holds a newer generation or another range of the interval.
            PravegaError: the cluster or the table's server cannot be reached.
        """
        given = cast("Mapping[str, str]", self.stream_cuts)
        hook = PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            generation = parse_generation(self.rebuild)
            landing_of(given, generation=generation, new_columns=self.new_columns, partition_by=self.partition_by)
            check_errors(self.errors, self.most_errors)
            conn_id = self.postgres_conn_id or self.iceberg_conn_id
            connection = hook.get_connection(conn_id) if conn_id else None
            beside = POSTGRES if self.postgres_conn_id else ICEBERG
            target = table_in(self.table, connection, beside)
            errors = None if self.errors is None else errors_sink_of(errors_in(self.errors, connection, beside))
            access = store_access(self.aws_conn_id)
            sink = table_sink("landing", self.table, conn_id, given, generation, store=self.aws_conn_id)

        def work(client: PravegaClient, frame: "DataFrame") -> Landed:
            reached = None if errors is None else errors.with_client(client)
            with accessing(access):
                return self._land(self.transformed(frame), target, reached, given, generation, connection)

        done = self.process_range(context, given, work, sink=sink)
        action, holding = done.result.action, done.result.holding
        found = None if holding.errors is None else holding.errors.rows
        known = {"rows": holding.rows, "generation": holding.generation, "bytes": done.size, "table": self.table}
        known |= {"errors": found}
        tell(context, took(done.stream, done.cuts, given, Kind.LAND, **known))
        self.log.info(
            "Landed %s %s in %s: %s, %d rows of generation %d, %s errors",
            done.stream,
            shown(done.cuts),
            self.table,
            action.value,
            holding.rows,
            holding.generation,
            "no table for" if found is None else found,
        )
        return {
            "table": self.table,
            "action": action.value,
            "rows": holding.rows,
            "errors": found,
            "generation": holding.generation,
            "bytes": done.size,
            "seconds": done.seconds,
            "cuts": done.cuts.to_json(),
        }

    def _land(
        self,
        frame: "DataFrame",
        target: LandingTable,
        errors: ErrorsSink | None,
        given: Mapping[str, str],
        generation: int,
        connection: ConnectionLike | None,
    ) -> Landed:
        columns = columns_of(frame if errors is None else frame.drop(ERROR))
        self._taken(connection, columns)
        landed = land(
            frame,
            target,
            given,
            generation=generation,
            new_columns=self.new_columns,
            partition_by=self.partition_by,
            errors=errors,
            most_errors=self.most_errors,
        )
        self._taken(connection, columns, landed.holding.rows)
        return landed

    def _taken(self, connection: ConnectionLike | None, columns: Columns, rows: int | None = None) -> None:
        table = table_data(self.table, connection, rows)
        self.lineage = rows_taken(self.lineage, table, columns, changed=self.transform is not None)
