"""A check that counts the events that cannot be decoded into columns."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetSpec,
    asset_check,
)

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.gates.sampling import hold_sample
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import EVENTS_KEY, table_of
from dagster_pravega.metadata.ranges import checked_range
from dagster_pravega.metadata.spec import CUTS_KEY, OPTIONS_KEY, STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from pravega_jobs.spark.options import READ_BEFORE


def build_decode_errors_check(
    asset: AssetLike,
    *,
    stream: str,
    options: Mapping[str, Any] | None = None,
    warn_errors: int | None = None,
    error_errors: int | None = None,
    cuts: StreamCutRange | None = None,
    sample: int | None = 10_000,
    name: str = "decode_errors",
    blocking: bool = False,
    resource_key: str = "pravega",
    schema_registry_key: str | None = None,
) -> AssetChecksDefinition:
    """A check that counts the events that cannot be decoded into the columns that readers of the stream select.

    Readers with `on_error` `drop` or `null` continue without such events; this check counts them. To check events
    against the schema in their headers, use `build_data_gate`. This check needs the extra `arrow`. Its metadata are the
    numbers of events that were read and that failed, and the first 20 failures with their position and the reason.

    Args:
        asset: the asset to check; with a spec of `pravega_stream_spec`, the spec's options decode events.
        stream: `scope/stream`.
        options: of decoding, as in `pravega/options` for `PravegaArrowIOManager`; by default the spec's.
        warn_errors: the most errors without a warning.
        error_errors: the most errors without an error.
        cuts: the range; by default the range that this run, or the run that it repeats, wrote or read of the asset
            (`pravega/cuts`), of its partition; if it did neither, the range of the latest materialization of the
            partition; for an asset without partitions that has none, all of the stream.
        sample: the most events that are read, at several offsets of the range; None: all of them.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.
        schema_registry_key: of the `SchemaRegistryResource`; None: the schema is in the options.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, there is no limit, an option cannot work, or the extra
            `arrow` is not installed.
    """
    of, key = StreamName.parse(stream), checked_key(asset)
    limits = [
        (severity, limit)
        for severity, limit in ((AssetCheckSeverity.ERROR, error_errors), (AssetCheckSeverity.WARN, warn_errors))
        if limit is not None
    ]
    if not limits:
        raise ConfigurationError(
            f"the check {name!r} of the decode errors of {of} has no limit, so that it would always pass: give "
            "warn_errors or error_errors"
        )
    hold_sample(sample)
    given = _options(asset) if options is None else options
    if find_spec("pyarrow") is None:
        raise ConfigurationError("checks of decode errors need Arrow: pip install 'dagster-pravega[arrow]'")
    from pravega_jobs.frames.options import FrameOptions

    parsed = FrameOptions.parse({str(option): str(value) for option, value in given.items()}, READ_BEFORE)

    @asset_check(
        asset=key,
        name=name,
        blocking=blocking,
        description=f"How many events of {of} do not become columns?",
        required_resource_keys={resource_key} | ({schema_registry_key} if schema_registry_key else set()),
    )
    def decode_errors(context: AssetCheckExecutionContext) -> AssetCheckResult:
        from dagster_pravega.tables.errors import count_errors
        from pravega_jobs.frames.decoding import decoding_of

        pravega: PravegaResource = getattr(context.resources, resource_key)
        registry: SchemaRegistryResource | None = (
            getattr(context.resources, schema_registry_key) if schema_registry_key else None
        )
        with failing_for_good():
            client = pravega.client
            wanted = client.resolve(checked_range(context, key, cuts), of)
            decoding = decoding_of(parsed, of, registry.registry if registry else None, client, [wanted])
            if decoding.plan is None:
                raise ConfigurationError(
                    f"the events of {of} are not decoded, so that none can fail: give the option decode, or a registry "
                    "(schema_registry_key) that has a group for the stream"
                )
            errors = count_errors(client, wanted, decoding.plan.decoder(), sample)
        severity, passed = judge(errors.failed, limits)
        what = f"{errors.failed:,} of {errors.events:,} events{' of a sample' if sample else ''}"
        return AssetCheckResult(
            passed=passed,
            severity=severity,
            description=f"{what} cannot be decoded by {decoding.described}",
            metadata={
                STREAM_KEY: str(of),
                CUTS_KEY: wanted.to_json(),
                EVENTS_KEY: errors.events,
                "pravega/failed": errors.failed,
                "pravega/sampled": sample is not None,
                "pravega/failures": table_of(
                    ("pointer", "reason"), [{"pointer": at, "reason": why} for at, why in errors.failures]
                ),
            },
        )

    return decode_errors


def _options(asset: AssetLike) -> Mapping[str, Any]:
    return asset.metadata.get(OPTIONS_KEY, {}) if isinstance(asset, AssetSpec) else {}


def judge(failed: int, limits: Sequence[tuple[AssetCheckSeverity, int]]) -> tuple[AssetCheckSeverity, bool]:
    """The severity of a number of failures, and True if it is within all limits; the strictest limit is the first."""
    for severity, limit in limits:
        if failed > limit:
            return severity, False
    return AssetCheckSeverity.WARN, True
