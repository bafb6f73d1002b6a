"""Tables as assets, in which ranges of a stream are landed: each interval once, also after kills and repeats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import dagster as dg

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.next_range import SINCE
from aiopravega.ledger import Sink
from dagster_pravega.io.range_read import StreamRead
from dagster_pravega.metadata.columns import DECODED_KEY, columns_from, spark_schema
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import (
    CONSUMER_KEY,
    ERRORS_KEY,
    ERRORS_TABLE_KEY,
    EVENTS_KEY,
    HELD_ROWS_KEY,
    ROWS_KEY,
    ROWS_OF_PARTITION_KEY,
    updated_at,
)
from dagster_pravega.metadata.rebuild_and_claim import generation_of
from dagster_pravega.metadata.spec import SINCE_KEY, AssetLike, asset_key_of
from dagster_pravega.metadata.steps import part_names
from dagster_pravega.metadata.written import GENERATION_KEY, WriteConfig
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.table_keys import TABLE_KEY, TableKeys
from pravega_jobs.identity.names import consumer_of_assets
from pravega_jobs.landing import Landed, LandingTable, folder_of, kind_of_table, land
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.errors import check_errors, errors_sink_of
from pravega_jobs.landing.rules import Evolution, choice
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.landing.targets import check_partitions
from pravega_jobs.merging.state import state_of
from pravega_jobs.spark.options import ERROR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ACTION_KEY: Final = "pravega/landing"
_WAYS: Final = (
    "Give the asset partitions_def: StreamCutPartitions, partitions of time of a stream whose spec has the option "
    "'event_time', or other partitions whose range the run config names. Or, without partitions, give it "
    "since='last': each run lands the events since the last run"
)


def build_landed_asset(
    stream: AssetLike,
    *,
    key: "dg.AssetKey | str | list[str]",
    table: str,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    transform: "Callable[[DataFrame], DataFrame] | None" = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    since: str | None = None,
    consumer: str | None = None,
    columns: str | None = None,
    new_columns: str = "fail",
    partition_by: Sequence[str] = (),
    errors: str | None = None,
    most_errors: int | str | None = None,
    input_metadata: Mapping[str, Any] | None = None,
    io_manager_key: str = "pravega_spark",
    **attributes: Any,
) -> dg.AssetsDefinition:
    """An asset: a table in which ranges of a stream are landed exactly once, of Parquet, Delta, Iceberg or PostgreSQL.

    A run lands one interval of the cut ledger, and then records it as done. The interval is the run's partition, or,
    with `since`, the range since the last run. A run that is killed, retried or executed again, or a partition that is
    materialized again, adds no row twice. Every row gets the columns `_consumer` and `_interval`.

    To replace the rows of a partition, name the next generation: `rebuild: 2` in the run config of the op, or the run's
    tag `pravega/rebuild`. A partition that is claimed again (`pravega/claim`) also needs the next generation.

    The materialization has the metadata of `StreamRead.metadata` (range, interval, events, bytes), the number of the
    interval's rows in the table (`pravega/rows`), the rows of the whole table if its format counts them, their columns,
    the time of the landing, the generation, and `pravega/landing`: `append`, `replace` or `nothing`. With a `transform`
    it has no lineage of columns, and no number of events of a run that did nothing.

    Args:
        stream: the asset of the stream, or its key.
        key: of the new asset.
        table: `parquet:/folder`, `delta:/folder`, `iceberg:catalog/namespace.table`; with `database_key`, the table's
            name with or without its schema. The address of a database is refused: it may have a password.
        database_key: of the `LandingDatabase` that has the table.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` that has the table's files.
        transform: a function that gets the DataFrame of the range and returns the DataFrame to land.
        partitions_def: partitions of the asset, as an input of the stream reads them.
        since: `last` or `latest`, for an asset without partitions: the start of its first run, as for other inputs.
        consumer: name of the chain of ranges in the cut ledger; by default `dagster/` and the key.
        columns: the columns of events that the stream's options decode as JSON, as SQL writes them, for example
            `id long, price double`.
        new_columns: what to do with columns that the table does not have: `fail`, `ignore` or `add`.
        partition_by: the partitions of a new table of Delta or Iceberg, such as `["departed"]`, and in Iceberg also
            `["day(departed)", "bucket(16, id)"]`; a table that exists must have them, if any are given.
        errors: an errors table for events that cannot be decoded, named as `table` and in the same database; or an
            errors stream, `stream:scope/name`, which the cluster must have. The stream's options must have `on_error`
            as `dead`, and `transform` keep the column `_error`. The materialization has their number
            (`pravega/errors`).
        most_errors: the most errors that a landing may have, such as `100` or `1%` of all rows; with more it fails, and
            changes nothing.
        input_metadata: more metadata of the input, such as `pravega/options` and `pravega/on_truncated`.
        io_manager_key: of the `PravegaSparkIOManager`.
        **attributes: other arguments of `dagster.asset`, such as `retry_policy` and `automation_condition`.

    Raises:
        ConfigurationError: the text does not name a table, the table cannot have the partitions, `new_columns` is none
            of its choices, the asset has both partitions and `since`, or neither, or `most_errors` is not a limit, or
            has no errors table or stream.
    """
    made = dg.AssetKey.from_coercible(key)
    keys = TableKeys(database_key, catalog_key, store_key)
    checked = keys.check(table)
    check_partitions(checked, partition_by)
    rule = choice(new_columns, Evolution, "new_columns")
    check_errors(errors, most_errors)
    if errors is not None:
        keys.check_errors(errors)
    owner, reads = interval_reads(made, consumer, partitions_def, since, input_metadata)
    reads |= keys.of_input(table) | ({} if columns is None else {DECODED_KEY: columns})

    def landed(
        context: dg.AssetExecutionContext, config: WriteConfig, events: StreamRead
    ) -> dg.MaterializeResult[None]:
        with failing_for_good(), accessing(keys.access(context.resources)):
            interval = landed_interval(events.ranges, owner)
            generation = generation_of(config.rebuild, context.run)
            target = keys.table(table, context.resources)
            frame = events.frame if transform is None else transform(events.frame)
            declare_table(context, events.ranges, "landing", keys.sink(table), interval, generation)
            done = land(
                frame,
                target,
                interval.cuts,
                consumer=interval.consumer,
                interval=interval.name,
                generation=generation,
                event_times=interval.of_times,
                new_columns=rule,
                partition_by=partition_by,
                errors=None if errors is None else errors_of(errors, keys, context.resources, events.ranges),
                most_errors=most_errors,
            )
            context.log.info("Landed %s in %s: %s, %d rows", interval.name, table, done.action, done.holding.rows)
            of_table = frame if errors is None else frame.drop(ERROR)
            metadata = {**spark_schema(of_table), **_described(table, done), **rows_of(target)}
            found = done.holding.errors
            if found is not None:
                metadata |= {ERRORS_KEY: found.rows, ERRORS_TABLE_KEY: errors}
            if context.has_partition_key:
                metadata[ROWS_OF_PARTITION_KEY] = done.holding.rows
            metadata |= events.metadata()
            if transform is None:  # rows are events, also if the frame was not read, or Spark has not counted it
                metadata[EVENTS_KEY] = done.holding.rows + (found.rows if found is not None else 0)
                metadata |= columns_from(asset_key_of(stream), of_table.columns)
            events.ranges.finish()
        return dg.MaterializeResult(metadata=metadata, data_version=version_of_rows(events.data_version, generation))

    asset: dg.AssetsDefinition = dg.asset(
        key=made,
        ins={"events": dg.AssetIn(asset_key_of(stream), input_manager_key=io_manager_key, metadata=reads)},
        partitions_def=partitions_def,
        required_resource_keys=keys.required,
        kinds={*kinds_of(checked), *attributes.pop("kinds", ())},
        metadata={TABLE_KEY: table, **attributes.pop("metadata", {})},
        **attributes,
    )(landed)
    return asset


@dataclass(frozen=True, slots=True)
class LandedInterval:
    """An interval of the cut ledger as a table holds it: the consumer, the name and the range.

    `of_times`: it is one of event times, whose range overlaps others.
    """

    consumer: str
    name: str
    cuts: StreamCutRange
    of_times: bool


def landed_interval(ranges: InputRange, consumer: str) -> LandedInterval:
    """The interval of the rows that an input reads.

    A later claim of a partition has all events of the partition. In a table it is the same interval with another range:
    its rows replace the rows of the claim before, as a greater generation.

    Args:
        ranges: of the input.
        consumer: of the asset. The ledger has a later claim under a longer name.

    Raises:
        ConfigurationError: the input reads no interval, or several.
    """
    if not ranges.taken:
        raise ConfigurationError(
            f"the range of {ranges.stream} is not an interval of the cut ledger, so no table can hold it once. {_WAYS}"
        )
    record = ranges.record
    if record is None:
        raise ConfigurationError(
            f"{len(ranges.taken)} partitions of {ranges.stream} in one run cannot be separated in a table: give the "
            "asset BackfillPolicy.multi_run(1)"
        )
    owner = record.consumer if ranges.claim == 1 else consumer
    return LandedInterval(owner, record.interval, record.range, record.since is not None)


def errors_of(text: str, keys: TableKeys, resources: Any, ranges: InputRange) -> ErrorsSink:
    """The errors table or stream of an asset.

    Args:
        text: the table or stream, as the argument of the asset names it.
        keys: of the resources that the tables of the asset need.
        resources: of the run.
        ranges: of the input, whose client reaches a stream.
    """
    return errors_sink_of(keys.errors(text, resources)).with_client(ranges.client)


def declare_table(
    context: dg.AssetExecutionContext,
    ranges: InputRange,
    kind: Literal["landing", "merge"],
    target: str,
    interval: LandedInterval,
    generation: int = 1,
) -> None:
    """Record the table into which the rows of an input go, before they do.

    Raises:
        LedgerError: another run has taken the range over.
    """
    step = context.get_step_execution_context()
    sink = Sink(kind=kind, target=target, id=f"{interval.consumer} {interval.name}", generation=generation)
    for part in part_names(step):
        ranges.declare(part, sink)


def kinds_of(table: LandingTable) -> set[str]:
    """The labels of an asset that Spark writes into a table; Dagster's pages have pictures for them."""
    kind = kind_of_table(table)
    return {"spark"} if kind is None else {"spark", kind.icon}


def interval_reads(
    key: dg.AssetKey,
    consumer: str | None,
    partitions_def: dg.PartitionsDefinition[Any] | None,
    since: str | None,
    more: Mapping[str, Any] | None,
) -> tuple[str, dict[str, Any]]:
    """The consumer of an asset in the cut ledger, and the metadata of the input that claims its intervals.

    Raises:
        ConfigurationError: the asset has both partitions and `since`, or neither.
    """
    owner = consumer_of_assets([key.to_user_string()]) if consumer is None else consumer
    if (partitions_def is None) == (since is None):
        given = "neither partitions_def nor since" if since is None else "both partitions_def and since"
        raise ConfigurationError(
            f"asset {key.to_user_string()} has {given}, but must have one of them: a table holds intervals of the cut "
            "ledger, which are its partitions or its runs"
        )
    if since is not None and since not in SINCE:
        raise ConfigurationError(f"since is {since!r}, but must be one of {', '.join(SINCE)}")
    return owner, {**(more or {}), CONSUMER_KEY: owner, **({} if since is None else {SINCE_KEY: since})}


def _described(table: str, done: Landed) -> dict[str, Any]:
    folder = folder_of(table)
    return {
        TABLE_KEY: table if folder is None else dg.MetadataValue.path(folder),
        ACTION_KEY: done.action.value,
        GENERATION_KEY: done.holding.generation,
        HELD_ROWS_KEY: done.holding.rows,
        **updated_at(done.holding.landed_at),
    }


def rows_of(table: LandingTable) -> dict[str, Any]:
    """Metadata of the rows of a whole table; none if its format does not count them."""
    state = state_of(table)
    return {} if state is None or state.rows is None else {ROWS_KEY: state.rows}


def version_of_rows(of_range: dg.DataVersion, generation: int) -> dg.DataVersion:
    """The data version of a range's rows; a later generation has another version, even of the same range."""
    return of_range if generation == 1 else dg.DataVersion(f"generation {generation} of {of_range.value}")
