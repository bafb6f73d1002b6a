"""One range of a stream as a frame in a task, without Spark: read, processed, written once, and recorded as done."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import Context

from aiopravega.blocking.intervals import TakenRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Sink
from airflow_pravega.asset_events import Facts, Kind, tell, took, written
from airflow_pravega.connections.aws import store_access
from airflow_pravega.connections.tables import (
    ICEBERG,
    POSTGRES,
    check_store,
    check_table,
    errors_in,
    named_table,
    table_in,
)
from airflow_pravega.frames.table import FrameTable, check_result_errors, plain_rules
from airflow_pravega.frames.writes import FrameWrite, sinks_of
from airflow_pravega.hooks.pravega import PravegaHook, registry_of
from airflow_pravega.lineage import FileData, Lineage, range_read, written_once
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.tasks.arguments import check_known, check_stream, is_known, known_texts, whole_number
from airflow_pravega.tasks.failures import ProcessesInterval, failing_for_good
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.tasks.intervals import declare, shown, table_sink
from airflow_pravega.tasks.ranges import task_range
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.landing import folder_of
from pravega_jobs.landing.errors import check_errors, errors_sink_of
from pravega_jobs.landing.rules import Evolution, choice
from pravega_jobs.merging.state import merges_of
from pravega_jobs.spark.options import with_columns
from pravega_jobs.writes import parse_generation

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

_LARGEST: Final = 1_000_000_000


class PravegaFrameRangeOperator(ReportsLineage, LinkedToConsumer, ProcessesInterval):
    """An operator that reads one range as a frame of Arrow, Polars, pandas or DuckDB in its own process.

    Args:
        columns: the columns of events that are decoded as JSON (`options={"decode": "json"}`), as SQL writes them, for
            example `id long, price double`. (templated)
        options: options of the read, as `pravega_jobs.frames.read_arrow` has them: `decode`, `schema_text`,
            `schema_type`, `on_error`, `event_time` and others. (templated)
        into: a stream into which the result is written once; it must exist. Or a list of streams, and of tables as
            `parquet:/folder`: a function returns a mapping with a frame for each, written together. (templated)
        write_id: the name of the write; by default one of this task and run. (templated)
        rebuild: the generation of the write or the landing: 2 writes other rows after 1. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default the one of the scope of `into`. (templated)
        into_options: options of the write, as `pravega_jobs.frames.write_arrow` has them. (templated)
        errors: where events go that cannot be decoded: `stream:scope/name`, or with `table` also an errors table, named
            as that. They are the rows of the result with an error in the column `_error`, as `on_error=dead` among
            `options` gives it, and are decided with the other rows. (templated)
        most_errors: the most errors that a range may have, such as `100` or `1%` of all rows; with more the task fails,
            and nothing is written. (templated)
        table: a table in which the result is landed once: `parquet:/folder`, `delta:/folder`,
            `iceberg:catalog/namespace.table`; with `postgres_conn_id`, the table's name; with `iceberg_conn_id`,
            `namespace.table`. With `key` it is merged, in all of them but Parquet. (templated)
        postgres_conn_id: id of a connection of the type `postgres` to the database that has the table. (templated)
        iceberg_conn_id: id of a connection of the type `iceberg` to the catalog that has the table. (templated)
        aws_conn_id: id of a connection of the type `aws` to the object store of the table. (templated)
        new_columns: the rule for columns of the result that the table does not have: `fail`, `ignore` or `add`.
            (templated)
        partition_by: the partitions of a new table of Delta or Iceberg, such as `["departed"]`, and in Iceberg also
            `["day(departed)", "bucket(16, id)"]`; a table that exists must have them, if any are given. (templated)
        key: the columns that identify a row of `table`: each row of the result replaces the row of its key, instead of
            being added.
        order_by: the columns of the result by which the last row of a key is found, such as `["segment_id", "offset"]`;
            `()` if the result has each key once. With `key`.
        delete_column: a boolean column of the result, which is true in rows that delete the row of their key. With
            `key`.
        deletes: the rule of a merge for deleted rows: `hard` (by default) or `soft`. With `key`.
        largest: the most bytes of a range that is in memory as a whole, as a Table or a DataFrame is. (templated)
        pravega_conn_id: id of the connection; if it names a Schema Registry, events become the columns of their group
            without options. (templated)
    """

    template_fields: Sequence[str] = (
        "columns",
        "options",
        "into",
        "write_id",
        "rebuild",
        "new_columns",
        "partition_by",
        "commit_ledger",
        "into_options",
        "errors",
        "most_errors",
        "table",
        "postgres_conn_id",
        "iceberg_conn_id",
        "aws_conn_id",
        "largest",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        columns: str | None = None,
        options: Mapping[str, str] | None = None,
        into: str | Sequence[str] | None = None,
        write_id: str | None = None,
        rebuild: int | str = 1,
        commit_ledger: str | None = None,
        into_options: Mapping[str, str] | None = None,
        errors: str | None = None,
        most_errors: int | str | None = None,
        table: str | None = None,
        postgres_conn_id: str | None = None,
        iceberg_conn_id: str | None = None,
        aws_conn_id: str | None = None,
        new_columns: str = "fail",
        partition_by: Sequence[str] = (),
        key: Sequence[str] = (),
        order_by: Sequence[str] | None = None,
        delete_column: str | None = None,
        deletes: str | None = None,
        largest: int | str = _LARGEST,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if into is not None and table is not None:
            raise ConfigurationError("into and table both say where the result goes: give one of them")
        if isinstance(into, str):
            check_stream(into)
        elif into is not None:
            check_known(" ".join(into), lambda _: sinks_of(into, "scope"))
        if table is not None:
            parts = known_texts(partition_by)
            check_known(table, lambda text: check_table(text, postgres_conn_id, iceberg_conn_id, parts))
            check_known(table, lambda text: check_store(text, iceberg_conn_id, aws_conn_id))
        if errors is not None:
            check_result_errors(errors, into, table, key, (postgres_conn_id, iceberg_conn_id, aws_conn_id))
        if most_errors is not None:
            check_known(str(most_errors), lambda text: check_errors(errors, text))
        check_known(new_columns, lambda text: choice(text, Evolution, "new_columns"))
        with failing_for_good():  # the key and its rules are known now
            rules = plain_rules(key, order_by, delete_column, deletes, new_columns if is_known(new_columns) else "fail")
        if rules is not None:
            if table is None:
                raise ConfigurationError(
                    f"key={key!r} merges the result, but nothing says into which table: give table"
                )
            check_known(table, lambda text: merges_of(named_table(text, postgres_conn_id, iceberg_conn_id)))
        self.columns = columns
        self.options = dict(options or {})
        self.into = into
        self.write_id = write_id
        self.rebuild = rebuild
        self.commit_ledger = commit_ledger
        self.into_options = dict(into_options or {})
        self.errors = errors
        self.most_errors = most_errors
        self.table = table
        self.postgres_conn_id = postgres_conn_id
        self.iceberg_conn_id = iceberg_conn_id
        self.aws_conn_id = aws_conn_id
        self.new_columns = new_columns
        self.partition_by = partition_by
        self.key = key
        self.order_by = order_by
        self.delete_column = delete_column
        self.deletes = deletes
        self.largest = largest
        self.pravega_conn_id = pravega_conn_id

    def process_range(
        self,
        context: Context,
        given: Any,
        work: "Callable[[TakenRange, SchemaRegistry | None, Mapping[str, str], int], AbstractContextManager[Any]]",
    ) -> Any:
        """Have a function process a range, put its result where it goes, and record how the interval ended.

        Args:
            context: the task's context.
            given: the range, as a sensor gives it.
            work: gets the range, the registry, the options of the read, and the most bytes that may be in memory. What
                it gives is written before its block ends.

        Returns:
            The result of `work`, or the facts of the write or the landing.

        Raises:
            AirflowFailException: the range, a name or an option cannot work, or the result cannot be written.
            PravegaError: the cluster cannot be reached.
        """

        def watch(killed: Callable[[], None] | None) -> None:
            self._when_killed = killed

        hook = PravegaHook(self.pravega_conn_id)
        with task_range(hook, given, context, watch=watch) as taken:
            self.link_to_consumer(context, taken.stream, given)
            self.lineage = Lineage((range_read(taken.client.config, taken.stream, taken.range, given),))
            put, sink = self._target(hook, context, given)
            declare(taken.client, taken.stream, given, sink, context)
            with registry_of(hook) as registry:
                options = with_columns(self.options, self.columns)
                with work(taken, registry, options, whole_number("largest", self.largest)) as made:
                    result = made if put is None else put(taken, registry, made)
            tell(context, *self._facts(taken, given, result))
        return result

    def _target(
        self, hook: PravegaHook, context: Context, given: Mapping[str, str]
    ) -> "tuple[Callable[[TakenRange, SchemaRegistry | None, Any], Any] | None, Sink | None]":
        """A function that writes the result, and the sink that a take-over of the range can ask."""
        if self.into is not None:
            need_arrow()
            from pravega_jobs.frames.options import FrameOptions

            FrameOptions.parse(self.into_options)
            write = FrameWrite.named(
                hook.get_config(),
                self.into,
                self.write_id or write_name(context),
                rebuild=self.rebuild,
                commit_ledger=self.commit_ledger,
                options=self.into_options,
                errors=self.errors,
                most_errors=self.most_errors,
            )
            return lambda taken, registry, made: self._written(
                write, write.put(taken, given, registry, made, self.log)
            ), write.sink
        if self.table is None:
            return None, None
        conn_id = self.postgres_conn_id or self.iceberg_conn_id
        connection = hook.get_connection(conn_id) if conn_id else None
        beside = POSTGRES if self.postgres_conn_id else ICEBERG
        errors = None if self.errors is None else errors_sink_of(errors_in(self.errors, connection, beside))
        target = FrameTable.of(
            self.table,
            table_in(self.table, connection, beside),
            store_access(self.aws_conn_id),
            given,
            generation=parse_generation(self.rebuild),
            new_columns=self.new_columns,
            partition_by=self.partition_by,
            rules=plain_rules(self.key, self.order_by, self.delete_column, self.deletes, self.new_columns),
            errors=errors,
            most_errors=self.most_errors,
        )
        sink = table_sink(target.kind, self.table, conn_id, given, target.generation, store=self.aws_conn_id)

        def put(taken: TakenRange, _: "SchemaRegistry | None", made: Any) -> dict[str, Any]:
            facts = target.put(made, taken.client)
            self.log.info("Put %s %s into %s: %s", taken.stream, shown(taken.range), self.table, facts)
            folder = folder_of(target.name)
            outputs = () if folder is None else (FileData(folder, rows=facts.get("rows")),)
            self.lineage = replace(self.lineage, outputs=outputs)
            return {**facts, "cuts": taken.range.to_json()}

        return put, sink

    def _facts(self, taken: TakenRange, given: Any, result: Any) -> tuple[Facts, ...]:
        if self.table is not None:
            kind, rows = (Kind.LAND, "rows") if "rows" in result else (Kind.MERGE, "changes")
            known = {"rows": result[rows], "table": result["table"]}
            known |= {name: result.get(name) for name in ("generation", "errors")}
            return (took(taken.stream, taken.range, given, kind, **known),)
        source = took(taken.stream, taken.range, given)
        if self.into is None:
            return (source,)
        return (*(written(each, given) for each in result.get("streams", [result])), source)

    def _written(self, write: FrameWrite, facts: list[dict[str, Any]]) -> dict[str, Any]:
        outputs = tuple(written_once(write.once.config, each) for each in facts)
        self.lineage = replace(self.lineage, outputs=outputs)
        return {"streams": facts} if write.sinks else facts[0]
