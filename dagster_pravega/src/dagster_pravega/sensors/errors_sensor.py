"""The sensor of dead letters: it requests a run when events of a table or a stream could not be decoded.

The cursor is a digest of the errors that counted at the last run. A run that mends some of them, and new ones, change
it; errors that no run can mend do not, so that they are not tried again.
"""

import asyncio
from typing import Any, Final, TypeAlias

import dagster as dg

from aiopravega import PravegaClient, blocking
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.loop import LoopThread
from dagster_pravega.metadata.measures import (
    ERRORS_KEY,
    ERRORS_SAMPLE_KEY,
    FIRST_ERROR_KEY,
    SAMPLE_COLUMNS,
    table_of,
)
from dagster_pravega.metadata.spec import AssetLike, asset_key_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.table_keys import TABLE_KEY, CountedTable, TableKeys
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.landing import ErrorsCount

_Found: TypeAlias = tuple[ErrorsCount, list[dict[str, Any]]] | dg.SkipReason
# Dagster ends a tick after 60 s.
_TICK_SECONDS: Final = 45.0
_SAMPLE: Final = 5
_HOUR: Final = 3600


def build_errors_sensor(
    name: str,
    *,
    table: str,
    target: Any,
    errors: str | None = None,
    at_least: int = 1,
    consumer: str | None = None,
    interval: str | None = None,
    asset: AssetLike | None = None,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    resource_key: str = "pravega",
    minimum_interval_seconds: int = _HOUR,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that requests a run when dead letters of a table or a stream wait: a run that replays them, or tells.

    A run is requested if so many errors count, and others than at the last request: a run that fails is not requested
    again, so give the job retries; to have it requested once more, reset the sensor's cursor. It has the tags
    `pravega/table`, `pravega/errors` (their number) and `pravega/first_error`. Errors that a replay has mended do not
    count, nor do errors of older generations.

    A tick reads the notes of the table, or the commit ledgers of the streams; of an errors stream only a few events.

    Args:
        name: of the sensor.
        table: the table, as `build_landed_asset` has it; or a stream of rows, as `stream:scope/name`.
        target: the job, or the assets, as `dagster.sensor` takes them.
        errors: its errors table or errors stream. A stream of rows needs none: its ledger knows them.
        at_least: the number of errors to wait for.
        consumer: only errors of this consumer; None: of all.
        interval: only errors of this interval; None: of all.
        asset: gets an observation with each request: the number of errors, and a sample of 5 with the reasons.
        database_key: of the `LandingDatabase` that has both tables.
        catalog_key: of the `IcebergCatalog` that has both.
        store_key: of the `ObjectStore` that has the files of both.
        resource_key: of the `PravegaResource`, for streams.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.

    Raises:
        ConfigurationError: a text does not name a table or a stream, a table has no errors table, or the extra `arrow`
            is not installed.
    """
    need_arrow()
    if at_least < 1:
        raise ConfigurationError(f"at_least is {at_least}, but must be at least 1: a sensor of no errors always runs")
    counted = CountedTable.of(table, errors, TableKeys(database_key, catalog_key, store_key))
    key = None if asset is None else asset_key_of(asset)

    @cluster_sensor(
        name,
        target,
        counted.required(resource_key),
        minimum_interval_seconds,
        default_status,
        f"Requests a run when at least {at_least:,} events of {table} are errors.",
    )
    def errors_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        def look(client: blocking.PravegaClient | None) -> _Found:
            try:
                with counted.counted(context.resources, client, consumer, interval) as found:
                    is_due = found.errors >= at_least and found.state != context.cursor
                    return found, found.sample(_SAMPLE) if is_due else []
            except LandingError as error:
                if not error.retryable:
                    raise
                # Not an outage of Pravega, for which other sensors of the cluster would be brief.
                return dg.SkipReason(f"{table} cannot be asked now: {error}")

        async def ask(client: PravegaClient) -> _Found:
            return await asyncio.to_thread(look, blocking.PravegaClient.of(LoopThread.shared(), client))

        if counted.in_stream:
            pravega: PravegaResource = getattr(context.resources, resource_key)
            answer = ask_in_tick(pravega, ask, _TICK_SECONDS)
        else:
            answer = look(None)
        if isinstance(answer, dg.SkipReason):
            return answer
        found, sample = answer
        said = f"{found.errors:,} events of {table} are errors"
        if found.missing:
            context.log.warning("%s; %d intervals miss some", said, len(found.missing))
        if found.errors < at_least:
            return dg.SkipReason(f"{said}, and at_least is {at_least:,}")
        if found.state == context.cursor:
            return dg.SkipReason(f"{said}: the same as at the last run")
        first = f"{sample[0]['pointer']}: {sample[0]['reason']}" if sample else ""
        about: dict[str, Any] = {TABLE_KEY: table, FIRST_ERROR_KEY: first}
        # Without a key, so that a person who resets the cursor gets a run: Dagster itself repeats no request of a tick.
        request = dg.RunRequest(tags=about | {ERRORS_KEY: str(found.errors)})
        seen: dict[str, Any] = {ERRORS_KEY: found.errors, ERRORS_SAMPLE_KEY: table_of(SAMPLE_COLUMNS, sample)}
        observed = [] if key is None else [dg.AssetObservation(key, metadata=about | seen)]
        return dg.SensorResult([request], cursor=found.state, asset_events=observed)

    return errors_sensor
