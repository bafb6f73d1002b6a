"""A check of the errors of a table or a stream: events that could not be decoded, in an errors table or stream."""

from typing import Final

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega.errors import ConfigurationError
from dagster_pravega.checks.decode_errors import judge
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import ERRORS_KEY, ERRORS_SAMPLE_KEY, ERRORS_TABLE_KEY, SAMPLE_COLUMNS, table_of
from dagster_pravega.metadata.spec import AssetLike
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.table_keys import TABLE_KEY, CountedTable, TableKeys

_SHOWN: Final = 20
_COLUMNS: Final = ("consumer", "interval", "generation", "state", "landed", "found")


def build_landed_errors_check(
    asset: AssetLike,
    *,
    table: str,
    errors: str,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    warn_errors: int | None = None,
    error_errors: int | None = None,
    name: str = "landed_errors",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> AssetChecksDefinition:
    """A check of the errors of all landings that a table holds, or of all writes to a stream.

    Intervals that are written again, and errors that a replay has mended, leave none behind.

    It is an error if errors are missing in the errors table or stream. Its metadata are the number of errors that count
    (`pravega/errors`), the 20 landings with the most of them, and 20 of the newest errors if the check does not pass.

    Args:
        asset: the asset of the table, such as `build_landed_asset` makes it.
        table: the table, as `build_landed_asset` has it; or a stream of rows, as `stream:scope/name`.
        errors: its errors table or stream, as `build_landed_asset` has it.
        database_key: of the `LandingDatabase` that has both.
        catalog_key: of the `IcebergCatalog` that has both.
        store_key: of the `ObjectStore` that has the files of both.
        warn_errors: the most errors without a warning.
        error_errors: the most errors without an error.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`, for streams.

    Raises:
        ConfigurationError: a text does not name a table or a stream, or there is no limit.
    """
    key = checked_key(asset)
    limits = [
        (severity, limit)
        for severity, limit in ((AssetCheckSeverity.ERROR, error_errors), (AssetCheckSeverity.WARN, warn_errors))
        if limit is not None
    ]
    if not limits:
        raise ConfigurationError(
            f"the check {name!r} of the errors of {table} has no limit, so that it would pass with any number: give "
            "warn_errors or error_errors"
        )
    counted = CountedTable.of(table, errors, TableKeys(database_key, catalog_key, store_key))

    @asset_check(
        asset=key,
        name=name,
        blocking=blocking,
        description=f"How many events of {table} are in {errors}?",
        required_resource_keys=counted.required(resource_key),
    )
    def landed_errors(context: AssetCheckExecutionContext) -> AssetCheckResult:
        with failing_for_good():
            pravega: PravegaResource | None = getattr(context.resources, resource_key) if counted.in_stream else None
            with counted.counted(context.resources, None if pravega is None else pravega.client) as found:
                severity, passed = (AssetCheckSeverity.ERROR, False) if found.missing else judge(found.errors, limits)
                sample = [] if passed else found.sample(_SHOWN)
        said = f"{found.errors:,} events are errors"
        if found.missing:
            said += (
                f"; errors of {len(found.missing)} landings are missing there, such as of {found.missing[0].interval!r}"
            )
        return AssetCheckResult(
            passed=passed,
            severity=severity,
            description=said,
            metadata={
                TABLE_KEY: table,
                ERRORS_TABLE_KEY: errors,
                ERRORS_KEY: found.errors,
                "pravega/landings": table_of(_COLUMNS, found.most(_SHOWN)),
                ERRORS_SAMPLE_KEY: table_of(SAMPLE_COLUMNS, sample),
            },
        )

    return landed_errors
