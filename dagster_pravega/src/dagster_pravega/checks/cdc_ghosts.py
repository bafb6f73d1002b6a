"""A check for ghosts: rows of a table that the database does not have any more, although no delete was seen."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import dagster as dg

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import table_of
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.sessions import spark_session
from dagster_pravega.resources.table_keys import TableKeys
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.merging import Ghosts, MergeRules
from pravega_jobs.merging.reading import change_options
from pravega_jobs.spark.frames import load_range

_GHOSTS_KEY: Final = "pravega/ghosts"
_MOST: Final = 1000
_SHOWN: Final = 20


def build_cdc_ghost_check(
    asset: AssetLike,
    *,
    stream: str,
    key_of_rows: Sequence[str] | str,
    columns: str | None = None,
    table: str | None = None,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    cuts: StreamCutRange | None = None,
    options: Mapping[str, str] | None = None,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    name: str = "cdc_ghosts",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> dg.AssetChecksDefinition:
    """A check for ghosts in a table: rows that Debezium's newest snapshot does not have, without a delete.

    A snapshot that was restarted leaves ghosts, unless merges have `ghosts="remove"`. The check is right only if
    snapshots have all rows of the database's table. The Spark of `spark_session()` reads the changes, and the key and
    `_sequence` of all rows of the table. The check fails as a warning if ghosts cannot be found: the changes have no
    snapshot that has ended, or no positions. Its metadata are the range, the number of ghosts (`pravega/ghosts`, or
    `more than 1,000`), and the keys of the first 20.

    Args:
        asset: the asset to check: the table, or the stream of changes.
        stream: `scope/stream`, with the changes of one table of the database, or see the option `table`.
        key_of_rows: the columns that identify a row.
        columns: of the source's table, as SQL writes them; the columns of the key are enough. By default they are
            found as for `build_cdc_asset`.
        table: the table to check, `delta:/folder` or `iceberg:catalog/namespace.table`; it may have merged only a part
            of the changes. None: the table that the changes alone give.
        database_key: of the `LandingDatabase` that has the table, which is named as `schema.table` then.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` that has the table's files.
        cuts: the range of changes, which must have the newest snapshot and all changes after it; by default all.
        options: further options of the data source, for example `table`.
        severity: of a failure.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, the text does not name such a table, or there is no key.
    """
    of, rules = StreamName.parse(stream), MergeRules.of(key_of_rows, ghosts=Ghosts.REMOVE)
    keys = TableKeys(database=database_key, catalog=catalog_key, store=store_key)
    if table is not None:
        keys.merged(table)
    given = {str(option): str(text) for option, text in (options or {}).items()}
    asked = {**given, **change_options(columns, given, rules)}

    @dg.asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description=f"Has the table rows that the newest snapshot in {of} does not have?",
        required_resource_keys={resource_key, *keys.required},
    )
    def cdc_ghosts(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        from pravega_jobs.merging.table_ghosts import ghost_keys

        pravega: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good(), accessing(keys.access(context.resources)):
            target = None if table is None else keys.table(table, context.resources)
            wanted = pravega.client.resolve(cuts or StreamCutRange(UNBOUNDED, UNBOUNDED), of)
            changes = load_range(spark_session(), pravega.get_config(), of, wanted, asked)
            known: dict[str, Any] = {STREAM_KEY: str(of), CUTS_KEY: wanted.to_json()}
            try:
                ghosts = ghost_keys(changes, rules.key, target).limit(_MOST + 1).collect()
            except ConfigurationError as error:
                return dg.AssetCheckResult(
                    passed=False, severity=dg.AssetCheckSeverity.WARN, description=str(error), metadata=known
                )
        count: Any = len(ghosts) if len(ghosts) <= _MOST else f"more than {_MOST:,}"
        first = [{each: str(row[each]) for each in rules.key} for row in ghosts[:_SHOWN]]
        return dg.AssetCheckResult(
            passed=not ghosts,
            severity=severity,
            description=f"{count} rows are not in the newest snapshot, and have not changed since"
            if ghosts
            else "there are no ghosts",
            metadata={**known, _GHOSTS_KEY: count, "pravega/ghost_keys": table_of(rules.key, first)},
        )

    return cdc_ghosts
