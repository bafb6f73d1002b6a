"""A check for differences between the columns of a database's table and of the table that follows it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import table_of
from dagster_pravega.metadata.spec import STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.table_keys import TableKeys
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.merging.state import state_of

if TYPE_CHECKING:
    from pravega_jobs.merging.drift import ColumnDrift

_COLUMNS: Final = ("name", "drift", "changes", "table")


def build_cdc_drift_check(
    asset: AssetLike,
    *,
    stream: str,
    table: str,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    of_table: str | None = None,
    ignore: Sequence[str] = (),
    name: str = "cdc_drift",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> dg.AssetChecksDefinition:
    """A check that compares the newest change of a database's table with the columns of the table that follows it.

    It reads at most the last 4 MiB of each segment, in this process. It fails as a warning if there are new columns, if
    there is no table yet, and if no change with a row is found. It fails as an error if a column is gone, or has
    another type. Types are compared if the change carries its schema (`debezium.format.schemas.enable=true`). Its
    metadata are the columns that differ.

    Args:
        asset: the asset to check: the table, or the stream of changes.
        stream: `scope/stream`.
        table: `delta:/folder` or `iceberg:catalog/namespace.table`.
        database_key: of the `LandingDatabase` that has the table, which is named as `schema.table` then.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` that has the table's files.
        of_table: the database's table, as option `table` of reads names it, if the stream has changes of several.
        ignore: columns that may differ, such as columns that a transformation adds, or whose type the asset chooses.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, or the text does not name such a table.
    """
    of, keys = StreamName.parse(stream), TableKeys(database=database_key, catalog=catalog_key, store=store_key)
    keys.merged(table)

    @dg.asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description=f"Has the newest change in {of} the columns of the table?",
        required_resource_keys={resource_key, *keys.required},
    )
    def cdc_drift(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        from pravega_jobs.merging.drift import Drift, drift_of
        from pravega_jobs.merging.newest_change import newest_change

        pravega: PravegaResource = getattr(context.resources, resource_key)
        drift: Sequence[ColumnDrift] = ()
        with failing_for_good(), accessing(keys.access(context.resources)):
            client, state = pravega.client, state_of(keys.table(table, context.resources))
            whole = client.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), of)
            change = newest_change(client, [whole], of_table, lambda event: event.has_row)
            if state is not None and change is not None:
                drift = drift_of(state.columns, change, ignore)
        if state is None or change is None:
            lacking = "there is no table yet" if state is None else "no change with a row is near the stream's tail"
            return _result(f"{lacking}, so that nothing is compared", of, drift, severity=dg.AssetCheckSeverity.WARN)
        new_only = all(each.drift is Drift.NEW for each in drift)
        return _result(
            "; ".join(f"{each.name}: {each.drift}" for each in drift),
            of,
            drift,
            severity=dg.AssetCheckSeverity.WARN if new_only else dg.AssetCheckSeverity.ERROR,
        )

    return cdc_drift


def _result(
    wrong: str, of: StreamName, drift: "Sequence[ColumnDrift]", *, severity: dg.AssetCheckSeverity
) -> dg.AssetCheckResult:
    rows: list[dict[str, Any]] = [
        {"name": each.name, "drift": each.drift.value, "changes": each.changes, "table": each.table} for each in drift
    ]
    return dg.AssetCheckResult(
        passed=not wrong,
        severity=severity,
        description=wrong or "the columns are the same",
        metadata={STREAM_KEY: str(of), "pravega/drift": table_of(_COLUMNS, rows)},
    )
