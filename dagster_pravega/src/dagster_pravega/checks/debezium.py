"""Debezium Server in front of Pravega: a check of its settings, and a job that makes its streams."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import dagster as dg

from aiopravega import RetentionPolicy, ScalingPolicy
from aiopravega.errors import ConfigurationError
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import table_of
from dagster_pravega.metadata.spec import AssetLike
from dagster_pravega.ops.maintenance import job_of, op_name
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.stores import dsn_of
from pravega_jobs.debezium.server.connected import check_database
from pravega_jobs.debezium.server.making import make_streams
from pravega_jobs.debezium.server.report import DebeziumReport, check_debezium
from pravega_jobs.debezium.server.settings import harms_named, settings_of_file

_COLUMNS: Final = ("setting", "value", "harm", "fails", "why", "instead")


def build_debezium_check(
    asset: AssetLike,
    *,
    settings: str,
    fail_on: Sequence[str] = ("loses", "spoils", "stops", "breaks"),
    database_key: str | None = None,
    measure_rows: bool = False,
    name: str = "debezium_settings",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> dg.AssetChecksDefinition:
    """A check for settings of Debezium Server that lose or spoil data in front of Pravega, or stop Debezium.

    It reads `application.properties`, and asks the cluster for the streams that follow from the settings: Debezium does
    not create streams, and ends at the first event for a missing one. With `database_key` it also inspects the
    database: `wal_level`, the user, and of each table `REPLICA IDENTITY` and, if wanted, the longest row: a row over
    8 MiB stops Debezium at every start. Its metadata are the findings, each with its reason and a better value, and the
    streams. They contain no values of settings that have no finding.

    Args:
        asset: the asset to check: the stream of changes, or a table that is made of them.
        settings: path of the file `application.properties` on the machine that runs the check.
        fail_on: the harms that fail as errors: `loses`, `spoils`, `stops`, `breaks` (the application), `hides`
            (values) and `doubles`; others are warnings.
        database_key: of the `LandingDatabase` that has the address of the source database, a PostgreSQL.
        measure_rows: measure all rows of its tables, which reads them.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: `fail_on` is not a list of harms, or rows are to be measured without a database.
    """
    harms = harms_named(fail_on)
    if measure_rows and database_key is None:
        raise ConfigurationError("measure_rows needs database_key: the key of the database with the rows")

    @dg.asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description="Do the settings of Debezium Server lose or spoil data, or stop it?",
        required_resource_keys={resource_key, *(() if database_key is None else (database_key,))},
    )
    def debezium_settings(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            given, client = settings_of_file(settings), pravega.client
            dsn = dsn_of(context.resources, database_key)
            database = [] if dsn is None else check_database(dsn, given, measure_rows=measure_rows)
            report = client.run(check_debezium(client.asynchronous, given, harms, database))
        return dg.AssetCheckResult(
            passed=not report.findings,
            severity=dg.AssetCheckSeverity.WARN if report.passed else dg.AssetCheckSeverity.ERROR,
            description=report.table(),
            metadata=_metadata(report),
        )

    return debezium_settings


def build_debezium_streams(
    settings: str,
    *,
    name: str = "pravega_debezium_streams",
    tables: Sequence[str] | None = None,
    scaling: ScalingPolicy | None = None,
    retention: RetentionPolicy | None = None,
    tags: Sequence[str] = (),
    resource_key: str = "pravega",
) -> dg.JobDefinition:
    """A job of one op that makes the streams that Debezium Server will write to, and their scope, if they are missing.

    Streams are made for its tables, and for transactions, DDL and heartbeats, by the settings in
    `application.properties`. If not all streams are known, or Pravega refuses a name, the job makes none and fails.
    Existing streams keep their configuration, so the job may run again. The output is `{"scope", "made", "there"}`.

    Args:
        settings: path of the file `application.properties` on the machine that runs the job.
        name: of the job, and of its op.
        tables: as `schema.table`, instead of the tables in the settings; needed if the settings have patterns or none.
        scaling: of a new stream; by default one segment. Only one segment keeps truncates, and changes of tables
            without a key, in their order.
        retention: of a new stream; by default its data stays forever.
        tags: of new streams.
        resource_key: of the `PravegaResource`.
    """

    @dg.op(name=op_name(name), required_resource_keys={resource_key}, out=dg.Out(dict))
    def make(context: dg.OpExecutionContext) -> dg.Output[dict[str, Any]]:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            given, client = settings_of_file(settings), pravega.client
            making = make_streams(
                client.asynchronous, given, tables=tables, scaling=scaling, retention=retention, tags=tags
            )
            made: Mapping[str, Any] = client.run(making).to_json()
        return dg.Output(dict(made), metadata={"pravega/streams": dg.MetadataValue.json(dict(made))})

    return job_of(make, name, "Makes the streams that Debezium Server will write to.")


def _metadata(report: DebeziumReport) -> dict[str, Any]:
    content = report.to_json()
    rows = [{**each, "fails": "yes" if each["fails"] else "no"} for each in content["findings"]]
    known = {} if report.not_known is None else {"pravega/streams_not_known": report.not_known}
    return {
        "pravega/findings": table_of(_COLUMNS, rows),
        "pravega/streams": dg.MetadataValue.json(content["streams"]),
        **known,
    }
