"""Tables as assets: each follows a table of a database, by Debezium's changes, merged once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from aiopravega.errors import ConfigurationError
from dagster_pravega.assets.landed import declare_table, interval_reads, kinds_of, landed_interval
from dagster_pravega.io.range_read import StreamRead
from dagster_pravega.metadata.columns import arrow_schema, columns_from
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import ROWS_KEY, updated_at
from dagster_pravega.metadata.rebuild_and_claim import REBUILD_TAG, generation_of
from dagster_pravega.metadata.spec import OPTIONS_KEY, TABLE_NAME_KEY, AssetLike, asset_key_of, plain
from dagster_pravega.resources.table_keys import TABLE_KEY, TableKeys
from pravega_jobs.landing import folder_of
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.landing.targets import check_partitions
from pravega_jobs.merging import Merged, MergeRules, merge_changes
from pravega_jobs.merging.reading import change_options
from pravega_jobs.merging.state import check_history, state_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MERGE_KEY: Final = "pravega/merge"
KEY_COLUMNS_KEY: Final = "pravega/key"
_CHANGES_KEY: Final = "pravega/changes"


def build_cdc_asset(
    stream: AssetLike,
    *,
    key: "dg.AssetKey | str | list[str]",
    table: str,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    key_of_rows: Sequence[str] | str,
    columns: str | None = None,
    deletes: str = "hard",
    new_columns: str = "fail",
    unsent: str = "fail",
    ghosts: str = "keep",
    history: str = "none",
    partition_by: Sequence[str] = (),
    transform: "Callable[[DataFrame], DataFrame] | None" = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    since: str | None = None,
    consumer: str | None = None,
    options: Mapping[str, str] | None = None,
    input_metadata: Mapping[str, Any] | None = None,
    io_manager_key: str = "pravega_spark",
    **attributes: Any,
) -> dg.AssetsDefinition:
    """An asset: a table that follows a table of a database, by Debezium's changes.

    A run merges one interval of the cut ledger, and then records it as done. The interval is the run's partition, or,
    with `since`, the range since the last run. A run that is killed, retried or executed again changes nothing twice; a
    partition that is materialized again changes nothing. With `deletes="hard"` ranges must be merged in their order: a
    sensor for the next range keeps the order, and runs of a backfill need a limit of one at a time.

    Merged changes cannot be removed from a table, so the run's tag `pravega/rebuild` is refused.

    The materialization has the metadata of `StreamRead.metadata` (range, interval, changes as events, bytes), the
    table's columns (without a `transform`, with the column of the stream that each is) and, if its format counts them,
    its rows. `pravega/merge` is `merge` or `nothing`, `pravega/changes` the number of the source's rows that have
    changed, and `pravega/inserted`, `updated`, `deleted`, `older`, `absent`, `same` and `ghosts` count the effects on
    the table.

    Args:
        stream: the asset of the stream, or its key.
        key: of the new asset.
        table: `delta:/folder` or `iceberg:catalog/namespace.table`; with `database_key`, the table's name, with or
            without its schema.
        database_key: of the `LandingDatabase` that has the table.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` that has the table's files.
        key_of_rows: the columns that identify a row of the source.
        columns: of the source's table, as SQL writes them, for example `id int, price decimal(10,2)`; the columns about
            the change are added unless it names `_change_type`. By default the columns come from the options
            `schema_file` or `schema_text`, or from the schemas that events carry.
        deletes: `hard` removes rows, `soft` keeps them with `_deleted`.
        new_columns: what to do with columns that the table does not have: `fail`, `ignore` or `add`.
        unsent: what to do with an update that lacks values (TOAST), of a row that the table does not have: `fail`, or
            `null`.
        ghosts: what to do with rows that a snapshot whose end is in the range does not have: `keep`, or `remove`, which
            is right if snapshots have all rows of the table.
        history: `none`, or `scd2` to keep every version of a row.
        partition_by: the partitions of a new table, such as `["country"]`, and in Iceberg also `["day(created)",
            "bucket(16, id)"]`; a table that exists must have them, if any are given.
        transform: a function that gets the DataFrame of changes and returns the DataFrame to merge.
        partitions_def: partitions of the asset, as an input of the stream reads them.
        since: `last` or `latest`, for an asset without partitions: the start of its first run, as for other inputs.
        consumer: name of the chain of ranges in the cut ledger; by default `dagster/` and the key.
        options: further options of the data source, for example `table` or `truncates`.
        input_metadata: more metadata of the input, such as `pravega/on_truncated`.
        io_manager_key: of the `PravegaSparkIOManager`.
        **attributes: other arguments of `dagster.asset`, such as `retry_policy` and `automation_condition`.

    Raises:
        ConfigurationError: the text does not name such a table, there is no key, an argument is not one of its choices
            or does not go with `history`, the table cannot have the partitions, or the asset has both partitions and
            `since`, or neither.
    """
    made = dg.AssetKey.from_coercible(key)
    keys = TableKeys(database=database_key, catalog=catalog_key, store=store_key)
    checked = keys.merged(table)
    check_partitions(checked, partition_by)
    rules = MergeRules.of(
        key_of_rows, deletes=deletes, new_columns=new_columns, unsent=unsent, ghosts=ghosts, history=history
    )
    check_history(checked, rules)
    owner, reads = interval_reads(made, consumer, partitions_def, since, input_metadata)
    known = stream_options(stream) | {str(name): str(text) for name, text in (options or {}).items()}
    reads |= {OPTIONS_KEY: {**known, **change_options(columns, known, rules)}, **keys.of_input(table)}

    def merged(context: dg.AssetExecutionContext, changes: StreamRead) -> dg.MaterializeResult[None]:
        with failing_for_good(), accessing(keys.access(context.resources)):
            target = keys.table(table, context.resources)
            _check_not_rebuilt(context.run)
            interval = landed_interval(changes.ranges, owner)
            frame = changes.frame if transform is None else transform(changes.frame)
            declare_table(context, changes.ranges, "merge", keys.sink(table), interval)
            landing = landing_of(interval.cuts, interval.consumer, interval.name, partition_by=partition_by)
            done = merge_changes(frame, target, landing, rules)
            context.log.info("Merged %s into %s: %s, %s", interval.name, table, done.action, asdict(done.counts))
            state = state_of(target)
            metadata = {**arrow_schema(None if state is None else state.columns), **_described(table, done)}
            metadata |= {} if state is None or state.rows is None else {ROWS_KEY: state.rows}
            if state is not None and transform is None:
                metadata |= columns_from(asset_key_of(stream), state.columns.names)
            metadata |= changes.metadata()
            changes.ranges.finish()
        return dg.MaterializeResult(metadata=metadata, data_version=changes.data_version)

    asset: dg.AssetsDefinition = dg.asset(
        key=made,
        ins={"changes": dg.AssetIn(asset_key_of(stream), input_manager_key=io_manager_key, metadata=reads)},
        partitions_def=partitions_def,
        required_resource_keys=keys.required,
        kinds={*kinds_of(checked), *attributes.pop("kinds", ())},
        metadata={TABLE_KEY: table, KEY_COLUMNS_KEY: list(rules.key), **attributes.pop("metadata", {})},
        **attributes,
    )(merged)
    return asset


def stream_options(stream: AssetLike) -> dict[str, str]:
    """The options of the stream's spec; options of the input override them."""
    given = plain(stream.metadata.get(OPTIONS_KEY, {})) if isinstance(stream, dg.AssetSpec) else {}
    return {str(name): str(text) for name, text in given.items()}


def _check_not_rebuilt(run: dg.DagsterRun) -> None:
    if generation_of(None, run) != 1:
        raise ConfigurationError(
            f"the run has the tag {REBUILD_TAG!r}, but merged changes cannot be removed from a table: merge all ranges "
            "into a new table, by a new consumer"
        )


def _described(table: str, done: Merged) -> dict[str, Any]:
    counts, folder = asdict(done.counts), folder_of(table)
    added = counts.pop("new_columns")
    return {
        TABLE_KEY: table if folder is None else dg.MetadataValue.path(folder),
        TABLE_NAME_KEY: table.partition(":")[2],
        MERGE_KEY: done.action.value,
        _CHANGES_KEY: done.holding.rows,
        **updated_at(done.holding.landed_at),
        **{f"pravega/{name}": number for name, number in counts.items()},
        **({"pravega/new_columns": added} if added else {}),
    }
