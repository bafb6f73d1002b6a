"""A check that runs recorded intervals through code again, and compares the rows with what was written then."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, TableNotFoundError
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import table_of
from dagster_pravega.metadata.spec import STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from dagster_pravega.resources.table_keys import TableKeys
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.landing.store_access import accessing

if TYPE_CHECKING:
    from pravega_jobs.sandbox import ReplayResult

_INTERVALS: Final = ("interval", "before", "now", "added", "removed", "changed")
_COLUMNS: Final = ("column", "changed")


def build_replay_check(
    asset: AssetLike,
    *,
    stream: str,
    consumer: str,
    code: Callable[..., Any] | str,
    intervals: Sequence[str] = (),
    last: int = 1,
    key: Sequence[str] | str = (),
    compare_with: str | None = None,
    write_id: str | None = None,
    commit_ledger: str | None = None,
    options: Mapping[str, str] | None = None,
    output_options: Mapping[str, str] | None = None,
    samples: int = 5,
    database_key: str | None = None,
    catalog_key: str | None = None,
    store_key: str | None = None,
    registry_key: str | None = None,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    name: str = "replay",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> dg.AssetChecksDefinition:
    """A check that fails if code gives other rows for recorded intervals than were written then.

    Run it where new code is loaded, before it is deployed. Nothing is recorded or written. The check fails as a warning
    if no interval is done yet. Its metadata are the text of the result, the intervals, and the columns that differ.

    Args:
        asset: the asset to check, such as the one that the intervals are written into.
        stream: `scope/stream` of the intervals.
        consumer: the consumer that took them, as `pravega cuts list` shows it.
        code: the function, or its text `module:function`. Its first parameter has the annotation of a frame.
        intervals: the names of intervals, which must be done; empty: the last ones of the consumer that are done.
        last: the number of last intervals.
        key: the columns that identify a row; empty: whole rows are compared.
        compare_with: the stream that the intervals were written into, or the table that they were landed in; by default
            the stream that the ledger names.
        write_id: the name of the writes, in which `{interval}` stands for the interval; by default the ledger names
            them.
        commit_ledger: `scope/table` of the commit ledger, if it is not the one that the ledger names.
        options: options of the read, as `pravega_jobs.frames.read_arrow` has them.
        output_options: options of the output, as `pravega_jobs.sandbox.replay` has them.
        samples: the number of rows that the result has of each difference.
        database_key: of the `LandingDatabase` that has the table, which is named as `schema.table` then.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` that has the table's files.
        registry_key: of the `SchemaRegistryResource`, by which events become columns without options.
        severity: of a failure.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: a text names no stream or table, or both intervals and their number are given.
    """
    of, keys = StreamName.parse(stream), TableKeys(database_key, catalog_key, store_key)
    names_table = compare_with is not None and (bool(keys.required) or ":" in compare_with)
    if compare_with is not None and names_table:
        keys.check(compare_with)
    elif keys.required:
        raise ConfigurationError("a key of a table's resource is given, but no table: name it by compare_with")
    if last < 1:
        raise ConfigurationError(f"last is {last}, but must be 1 or more")
    if intervals and last != 1:
        raise ConfigurationError("intervals names intervals, and last their number: leave one of them out")
    registry_keys = set() if registry_key is None else {registry_key}

    @dg.asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description=f"Does the code give the rows for intervals of {of} that were written then?",
        required_resource_keys={resource_key, *keys.required, *registry_keys},
    )
    def replayed(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        need_arrow()
        from pravega_jobs.sandbox import replay

        pravega: PravegaResource = getattr(context.resources, resource_key)
        registry: SchemaRegistryResource | None = (
            None if registry_key is None else getattr(context.resources, registry_key)
        )
        with failing_for_good(), accessing(keys.access(context.resources)):
            wanted = list(intervals) or _last_done(pravega.client, of, consumer, last)
            if not wanted:
                said = f"{consumer} of {of} has no interval that is done, so that nothing is replayed"
                return dg.AssetCheckResult(
                    passed=False,
                    severity=dg.AssetCheckSeverity.WARN,
                    description=said,
                    metadata={STREAM_KEY: str(of)},
                )
            with_table = compare_with is not None and names_table
            result = replay(
                pravega.client,
                of,
                consumer=consumer,
                intervals=wanted,
                code=code,
                compare_with=keys.table(str(compare_with), context.resources) if with_table else compare_with,
                key=key,
                write_id=write_id,
                commit_ledger=commit_ledger,
                options=options,
                output_options=output_options,
                registry=None if registry is None else registry.registry,
                samples=samples,
            )
        return _shown(result, severity)

    return replayed


def _last_done(client: PravegaClient, stream: StreamName, consumer: str, last: int) -> list[str]:
    """The names of the last intervals of a consumer that are done."""
    try:
        records = client.cut_ledger(stream.scope).records(consumer, stream)
    except TableNotFoundError:
        return []
    return [each.interval for each in records if each.is_done][-last:]


def _shown(result: "ReplayResult", severity: dg.AssetCheckSeverity) -> dg.AssetCheckResult:
    about = result.to_json()
    return dg.AssetCheckResult(
        passed=result.is_same,
        severity=severity,
        description=result.text.partition("\n")[0],
        metadata={
            STREAM_KEY: result.stream,
            "pravega/replay": dg.MetadataValue.md(f"```\n{result.text}\n```"),
            "pravega/replayed": table_of(_INTERVALS, list(about["intervals"])),
            "pravega/changed_columns": table_of(_COLUMNS, list(about["columns"])),
        },
    )
