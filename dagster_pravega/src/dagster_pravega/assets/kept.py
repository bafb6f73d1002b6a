"""Tables as assets that follow a stream, from the next range to the upkeep, without Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from dagster_pravega.assets.cdc import MERGE_KEY, stream_options
from dagster_pravega.assets.landed import ACTION_KEY, declare_table, errors_of, interval_reads, landed_interval
from dagster_pravega.io.arrow_io import StreamBatches
from dagster_pravega.metadata.columns import arrow_schema, columns_from
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import (
    ERRORS_KEY,
    ERRORS_TABLE_KEY,
    EVENTS_KEY,
    HELD_ROWS_KEY,
    ROWS_KEY,
    updated_at,
)
from dagster_pravega.metadata.rebuild_and_claim import REBUILD_TAG, generation_of
from dagster_pravega.metadata.spec import OPTIONS_KEY, AssetLike, asset_key_of
from dagster_pravega.resources.table_keys import TABLE_KEY, TableKeys
from pravega_jobs.keeping import KeepRules, Kept, put_rows, with_upkeep
from pravega_jobs.landing import LandingTable, folder_of, kind_of_table
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.merging.state import state_of

if TYPE_CHECKING:
    import pyarrow as pa

_UPKEEP_KEY: Final = "pravega/upkeep"
_LAST: Final = "last"


def build_kept_table(
    stream: AssetLike,
    *,
    key: "dg.AssetKey | str | list[str]",
    table: str,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    columns: str | None = None,
    options: Mapping[str, str] | None = None,
    new_columns: str = "fail",
    partition_by: Sequence[str] = (),
    errors: str | None = None,
    most_errors: int | str | None = None,
    key_of_rows: Sequence[str] | str = (),
    deletes: str | None = None,
    unsent: str | None = None,
    ghosts: str | None = None,
    history: str | None = None,
    order_by: Sequence[str] | str | None = None,
    delete_column: str | None = None,
    upkeep_after: int | None = None,
    transform: "Callable[[pa.RecordBatchReader], Any] | None" = None,
    partitions_def: StreamCutPartitions | None = None,
    since: str | None = None,
    consumer: str | None = None,
    input_metadata: Mapping[str, Any] | None = None,
    io_manager_key: str = "pravega_arrow",
    **attributes: Any,
) -> dg.AssetsDefinition:
    """An asset: a table that follows a stream, without Spark.

    A run takes the next range of its consumer, lands the events in the table or, with `key_of_rows`, merges them, as
    Debezium's changes or as plain rows, records the range as done, and puts small files together if there are many. A
    run that is killed, retried or executed again adds nothing that the table has. A range without events leaves the
    table alone.

    The materialization has the metadata of `RangeRead.metadata` (range, interval, events, bytes), the number of the
    range's rows in the table (`pravega/rows`; of a merge, the rows of the source that have changed), its errors, the
    rows of the whole table and its columns if its format has them, `pravega/landing` or `pravega/merge` with the
    action, the counts of a merge, and `pravega/upkeep`: what was put together, or why it was not.

    Args:
        stream: the asset of the stream, or its key.
        key: of the new asset.
        table: `parquet:/folder`, `delta:/folder`, `delta:s3://bucket/path`, `iceberg:catalog/namespace.table`; with
            `database_key`, the table's name with or without its schema.
        database_key: of the `LandingDatabase` that has the table.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` with the files of the table.
        columns: the columns of events that are decoded as JSON, or of the source's table if changes are merged, as SQL
            writes them, for example `id long, price double`.
        options: of the read, as `pravega_jobs.frames.read_arrow` has them; they override the options of the stream.
        new_columns: what to do with columns that the table does not have: `fail`, `ignore` or `add`.
        partition_by: the partitions of a new table of Delta or Iceberg, such as `["departed"]`.
        errors: an errors table for events that cannot be decoded, named as `table` and in the same database or catalog;
            or an errors stream, `stream:scope/name`, which the cluster must have.
        most_errors: the most errors that a range may have, such as `100` or `1%` of all rows.
        key_of_rows: the columns that identify a row: the events are changes as Debezium writes them, or with `order_by`
            plain rows, and are merged into a table of Delta, Iceberg or PostgreSQL. Empty: all events are landed.
        deletes: of merges: `hard` (by default) removes rows, `soft` keeps them with `_deleted`.
        unsent: of merges: an update that lacks values, of a row that the table does not have: `fail` (by default) or
            `null`.
        ghosts: of merges: rows that a later snapshot does not have: `keep` (by default) or `remove`.
        history: `none` (by default), or `scd2` to keep every version of a row.
        order_by: of merges of plain rows: the columns by which the last row of a key is found, such as `["segment_id",
            "offset"]`; `[]` if a range has each key once.
        delete_column: of merges of plain rows: a boolean column that is true in rows that delete the row of their key.
        upkeep_after: the number of small files, and of versions of the table, after which it is kept up, as is the
            errors table; 0: never. By default 100, of tables of Delta and Iceberg.
        transform: a function that gets the rows of a range, and returns the rows for the table: a table of Arrow,
            pandas or Polars, a LazyFrame, a relation of DuckDB or record batches. It must make the same rows of the
            same events and, with `errors`, keep the column `_error`.
        partitions_def: partitions that a sensor of `build_stream_cut_sensor` adds: a run for each range. By default
            each run takes what came since the last one.
        since: the start of the first run, without `partitions_def`: `last` (the head, by default) or `latest`.
        consumer: name of the chain of ranges in the cut ledger; by default `dagster/` and the key. Partitions have
            their own.
        input_metadata: more metadata of the input, such as `pravega/on_truncated`.
        io_manager_key: of the `PravegaArrowIOManager`.
        **attributes: other arguments of `dagster.asset`, such as `retry_policy` and `automation_condition`.

    Raises:
        ConfigurationError: the text does not name a table, or arguments cannot work or do not go together.
    """
    made = dg.AssetKey.from_coercible(key)
    keys = TableKeys(database_key, catalog_key, store_key)
    known = stream_options(stream) | {str(name): str(text) for name, text in (options or {}).items()}
    rules = KeepRules.of(
        columns=columns,
        options=known,
        new_columns=new_columns,
        partition_by=partition_by,
        errors=errors,
        most_errors=most_errors,
        key=key_of_rows,
        deletes=deletes,
        unsent=unsent,
        ghosts=ghosts,
        history=history,
        order_by=order_by,
        delete_column=delete_column,
        upkeep_after=upkeep_after,
        rows_are_events=transform is None,
    )
    checked = keys.check(table)
    rules.check(checked)
    if errors is not None:
        keys.check_errors(errors)
    if partitions_def is None:
        since = since or _LAST
    elif not isinstance(partitions_def, StreamCutPartitions):
        raise ConfigurationError(
            f"asset {made.to_user_string()} has other partitions than StreamCutPartitions: a table follows the ranges "
            "of a consumer. For other partitions use build_landed_asset"
        )
    owner, reads = interval_reads(made, consumer, partitions_def, since, input_metadata)
    reads |= {OPTIONS_KEY: dict(rules.options), **keys.of_input(table)}

    def kept(context: dg.AssetExecutionContext, events: StreamBatches) -> dg.MaterializeResult[None]:
        def rows() -> Any:
            return events.reader if transform is None else transform(events.reader)

        with failing_for_good(), accessing(keys.access(context.resources)):
            _check_not_rebuilt(context.run)
            taken, target = landed_interval(events.ranges, owner), keys.table(table, context.resources)
            beside = None if errors is None else errors_of(errors, keys, context.resources, events.ranges)
            declare_table(context, events.ranges, rules.kind, keys.sink(table), taken)
            interval = Interval(taken.consumer, events.stream, taken.name)
            done = put_rows(rows, events.size, interval, taken.cuts, target, rules, beside, events.ranges.client)
            metadata = events.metadata()
            events.ranges.finish()
            done = with_upkeep(done, target, rules, beside)
            context.log.info("%s", done)
            metadata |= {**_described(table, done, rules), **_errors(done, errors)}
            metadata |= table_state(target, None if transform is not None else asset_key_of(stream))
            if done.is_empty:
                metadata[EVENTS_KEY] = 0
            elif rules.merge is None and transform is None:  # rows are events, also if they were not read
                metadata[EVENTS_KEY] = done.rows + (done.errors or 0)
        return dg.MaterializeResult(metadata=metadata, data_version=events.data_version)

    kind = kind_of_table(checked)
    asset: dg.AssetsDefinition = dg.asset(
        key=made,
        ins={"events": dg.AssetIn(asset_key_of(stream), input_manager_key=io_manager_key, metadata=reads)},
        partitions_def=partitions_def,
        required_resource_keys=keys.required,
        kinds={*(() if kind is None else (kind.icon,)), *attributes.pop("kinds", ())},
        metadata={TABLE_KEY: table, **attributes.pop("metadata", {})},
        **attributes,
    )(kept)
    return asset


def _check_not_rebuilt(run: dg.DagsterRun) -> None:
    if generation_of(None, run) != 1:
        raise ConfigurationError(
            f"the run has the tag {REBUILD_TAG!r}, but this asset takes each range once: to replace rows of landed "
            "ranges, use build_landed_asset"
        )


def _described(table: str, done: Kept, rules: KeepRules) -> dict[str, Any]:
    folder, found = folder_of(table), {} if done.counts is None else asdict(done.counts)
    added = found.pop("new_columns", None)
    described = {
        TABLE_KEY: table if folder is None else dg.MetadataValue.path(folder),
        ACTION_KEY if rules.merge is None else MERGE_KEY: done.action.value,
        HELD_ROWS_KEY: done.rows,
        **{f"pravega/{name}": number for name, number in found.items()},
        **({"pravega/new_columns": added} if added else {}),
        **({} if done.holding is None else updated_at(done.holding.landed_at)),
    }
    upkeep = [str(each) for each in (done.upkeep, done.errors_upkeep, done.upkeep_error) if each is not None]
    if upkeep:
        described[_UPKEEP_KEY] = ". ".join(upkeep)
    return described


def _errors(done: Kept, errors: str | None) -> dict[str, Any]:
    return {} if done.errors is None else {ERRORS_KEY: done.errors, ERRORS_TABLE_KEY: errors}


def table_state(target: LandingTable, stream: dg.AssetKey | None) -> dict[str, Any]:
    """Metadata of the columns and the rows of a whole table, if its format has them.

    `stream` is the asset of the rows; None: a function has changed them.
    """
    state = state_of(target)
    if state is None:
        return {}
    known = {} if stream is None else columns_from(stream, state.columns.names)
    return {**arrow_schema(state.columns), **known, **({} if state.rows is None else {ROWS_KEY: state.rows})}
