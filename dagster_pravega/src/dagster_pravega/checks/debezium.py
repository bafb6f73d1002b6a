"""Debezium Server in front of Pravega: a check of its settings, and a job that makes the streams that it needs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import dagster as dg

from aiopravega import RetentionPolicy, ScalingPolicy
from aiopravega.errors import ConfigurationError
from dagster_pravega.checks.gates import AnAsset, checked_key, table_of
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.ops.one_op import job_of, op_name
from dagster_pravega.resources.landing_database import dsn_of
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.debezium.server.connected import check_database
from pravega_jobs.debezium.server.file import harms_named, settings_of_file
from pravega_jobs.debezium.server.making import make_streams
from pravega_jobs.debezium.server.report import DebeziumReport, check_debezium

_COLUMNS: Final = ("setting", "value", "harm", "fails", "why", "instead")


def build_debezium_check(
    asset: AnAsset,
    *,
    settings: str,
    fail_on: Sequence[str] = ("loses", "spoils", "stops", "breaks"),
    database_key: str | None = None,
    measure_rows: bool = False,
    name: str = "debezium_settings",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> dg.AssetChecksDefinition:
    """A check of whether settings of Debezium Server lose or spoil data in front of Pravega, or stop it.

    It reads `application.properties`, and asks the cluster for the streams that the settings lead to: Debezium makes
    none, and ends at the first event for one that is missing. With `database_key` it inspects the database, too:
    `wal_level`, the user, and of each table `REPLICA IDENTITY` and, if wanted, the longest row: one over 8 MiB stops
    Debezium at every start. Its metadata are the findings, each with its reason and what to set instead, and the
    streams; no value but those of the settings that the findings name is in them.

    Args:
        asset: whose check it is: the stream of changes, or a table that is made of them.
        settings: path of the file `application.properties`, where the check runs.
        fail_on: the harms that fail as errors: `loses`, `spoils`, `stops`, `breaks` (the application), `hides`
            (values) and `doubles`; others are warnings.
        database_key: of the `LandingDatabase` that is the database whose changes Debezium reads, a PostgreSQL.
        measure_rows: whether to measure all rows of its tables, which reads them.
        name: of the check.
        blocking: whether an error holds back what follows.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: `fail_on` is no list of harms, or rows of no database are to be measured.
    """
    harms = harms_named(fail_on)
    if measure_rows and database_key is None:
        raise ConfigurationError("measure_rows needs database_key, the database that has the rows")

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

    They are those of its tables, and of transactions, DDL and heartbeats, by the settings in `application.properties`.
    If not all of them are known, or Pravega refuses a name, it makes none and fails. Streams that are there keep their
    configuration, so it may run again. The output is `{"scope", "made", "there"}`.

    Args:
        settings: path of the file `application.properties`, where the job runs.
        name: of the job, and of its op.
        tables: as `schema.table`, instead of those that the settings name; needed if these are patterns, or missing.
        scaling: how many segments a new stream has; by default one. Only one segment keeps truncates, and changes of
            tables without a key, in their order.
        retention: how long the data of a new stream stays; by default forever.
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
            found: Mapping[str, Any] = client.run(making).to_json()
        return dg.Output(dict(found), metadata={"pravega/streams": dg.MetadataValue.json(dict(found))})

    return job_of(make, name, "Makes the streams that Debezium Server will write to.")


def _metadata(report: DebeziumReport) -> dict[str, Any]:
    found = report.to_json()
    rows = [{**each, "fails": "yes" if each["fails"] else "no"} for each in found["findings"]]
    known = {} if report.not_known is None else {"pravega/streams_not_known": report.not_known}
    return {
        "pravega/findings": table_of(_COLUMNS, rows),
        "pravega/streams": dg.MetadataValue.json(found["streams"]),
        **known,
    }
