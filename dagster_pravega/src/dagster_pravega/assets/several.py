"""Assets that a range of a stream is divided into: streams and tables that one write decides for together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import dagster as dg

from dagster_pravega.assets.cdc import stream_options
from dagster_pravega.assets.landed import interval_reads
from dagster_pravega.assets.sinks import Sinks
from dagster_pravega.assets.sinks_write import INPUT, SinksWrite
from dagster_pravega.metadata.columns import DECODED_KEY
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.spec import OPTIONS_KEY, AssetLike, asset_key_of
from dagster_pravega.metadata.written import WriteConfig
from dagster_pravega.resources.table_keys import TableKeys
from pravega_jobs.identity.names import consumer_of_assets
from pravega_jobs.landing.store_access import accessing

_LAST: Final = "last"


def build_several_sinks(
    stream: AssetLike,
    divide: Callable[[Any], Mapping[str, Any]] | str,
    *,
    name: str,
    into: Mapping[str, str],
    key_prefix: Sequence[str] | str = (),
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    columns: str | None = None,
    options: Mapping[str, Any] | None = None,
    output_options: Mapping[str, Any] | None = None,
    errors: str | None = None,
    most_errors: int | str | None = None,
    event_pointer: str | None = None,
    errors_of: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    since: str | None = None,
    consumer: str | None = None,
    input_metadata: Mapping[str, Any] | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    io_manager_key: str = "pravega_arrow",
    **attributes: Any,
) -> dg.AssetsDefinition:
    """Assets that the events of a stream are divided into: all of them get their rows by one write, or none does.

    A run takes one interval of the cut ledger: its partition, or the range since the last run. The rows of `divide` are
    one write under one write id, `CONSUMER INTERVAL`, which one entry of the commit ledger decides; then the interval
    is recorded as done. A run that is killed, retried or executed again adds nothing twice, to any of them.
    The assets are materialized together: none can be selected alone.

    To replace the rows of an interval in tables, and to write others to streams, name the next generation: `rebuild: 2`
    in the run config of the op, or the run's tag `pravega/rebuild`.

    The materialization of a stream has the metadata of any written stream (cuts, events, bytes, write id, generation,
    errors), so that other assets read it as a range; that of a table the number of the interval's rows
    (`pravega/rows`), the rows of the whole table if its format counts them, and its columns. Both have
    `pravega/sinks`, the events or rows of each asset. Columns that a column has divided have their lineage.

    Args:
        stream: the asset of the stream that is read, or its key.
        divide: a function that gets the range in the type of its parameter, as an input of `PravegaArrowIOManager`
            does (by default a `pyarrow.Table`), and returns a mapping with rows for each name of `into`: tables of
            Arrow, pandas or Polars, LazyFrames, relations of DuckDB, record batches, or `RowsByKey` for a table. It
            must make the same rows of the same events. Or the name of a column of texts: a row goes to the stream
            whose name is its value there, without that column.
        name: of the op, and of the consumer in the cut ledger: `dagster/sinks NAME`. It stays the same when a sink is
            added.
        into: the keys of the assets, and of each the stream, as `scope/stream`, or the table, as `parquet:/folder`,
            `delta:/folder`, `iceberg:catalog/namespace.table`; with `database_key` or `catalog_key`, the table's name
            there. At least one is a stream. Streams must exist.
        key_prefix: put in front of the keys.
        database_key: of the `LandingDatabase` that has the tables.
        catalog_key: of the `IcebergCatalog` that has the tables.
        store_key: of the `ObjectStore` that has the files of the tables.
        columns: the columns of events that are decoded as JSON, as SQL writes them, for example `id long, price
            double`.
        options: of the read, as `StreamOptions`; they override the options of the stream.
        output_options: of the events that are written, as `OutputOptions`, for all streams. The IO manager has
            the schema registry and the commit ledger.
        errors: an errors stream, `stream:scope/name`, for rows with an error in the column `_error`, as reads with
            `on_error` as `dead` give it, by the same decision.
        most_errors: the most errors that each stream may have, such as `100` or `1%` of its rows.
        event_pointer: the column of pointers, as reads with `metadata_columns` as `event_pointer` give it: the events
            of rows that cannot be events of their stream also become errors.
        errors_of: of a column that divides rows: the name in `into` of the stream that rows with an error belong to,
            which have no value there. None: such a row fails the run.
        partitions_def: partitions of all assets, as an input of the stream reads them. By default each run takes what
            came since the last one.
        since: the start of the first run, without `partitions_def`: `last` (the head, by default) or `latest`.
        consumer: another name of the chain of ranges in the cut ledger. Partitions have their own.
        input_metadata: more metadata of the input, such as `pravega/on_truncated`.
        automation_condition: of all assets.
        io_manager_key: of the `PravegaArrowIOManager`.
        **attributes: other arguments of `dagster.multi_asset`, such as `retry_policy`, `group_name` and `pool`.

    Raises:
        ConfigurationError: there is no stream in `into`, one sink is there twice, or a text names none; a table is
            divided by a column; or arguments cannot work or do not go together.
    """
    keys = TableKeys(database_key, catalog_key, store_key)
    prefix = [key_prefix] if isinstance(key_prefix, str) else list(key_prefix)
    upstream = asset_key_of(stream)
    sinks = Sinks.of(
        divide=divide,
        into=into,
        prefix=prefix,
        keys=keys,
        upstream=upstream,
        errors=errors,
        most_errors=most_errors,
        event_pointer=event_pointer,
        errors_of=errors_of,
        options=output_options,
    )
    if partitions_def is None:
        since = since or _LAST
    consumer = consumer_of_assets([f"sinks {name}"]) if consumer is None else consumer
    owner, reads = interval_reads(sinks.keys[0], consumer, partitions_def, since, input_metadata)
    known = stream_options(stream) | {str(each): str(text) for each, text in (options or {}).items()}
    reads |= {OPTIONS_KEY: known} if known else {}
    reads |= {} if columns is None else {DECODED_KEY: columns}

    def written(
        context: dg.AssetExecutionContext, config: WriteConfig, events: Any
    ) -> Iterator[dg.MaterializeResult[None]]:
        with failing_for_good(), accessing(keys.access(context.resources)):
            results = list(SinksWrite(context, sinks, owner, config.rebuild).results(events))
        yield from results

    reading = dg.AssetIn(
        upstream,
        input_manager_key=io_manager_key,
        metadata=reads,
        **({} if sinks.kind is None else {"dagster_type": sinks.kind}),
    )
    assets: dg.AssetsDefinition = dg.multi_asset(
        name=name,
        # Not `specs`: an input with metadata of its own could not stand beside them.
        outs={
            spec.key.to_python_identifier(): dg.AssetOut.from_spec(
                spec.replace_attributes(automation_condition=automation_condition), dagster_type=dg.Nothing
            )
            for spec in sinks.specs
        },
        ins={INPUT: reading},
        partitions_def=partitions_def,
        required_resource_keys=keys.required,
        **attributes,
    )(written)
    return assets
