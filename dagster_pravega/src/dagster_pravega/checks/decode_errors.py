"""A check of how many events do not become the columns that readers want."""

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
from dagster_pravega.checks.checked_range import checked_range
from dagster_pravega.checks.gates import AnAsset, checked_key, table_of
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import EVENTS_KEY
from dagster_pravega.metadata.spec import CUTS_KEY, OPTIONS_KEY, STREAM_KEY
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource


def build_decode_errors_check(
    asset: AnAsset,
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
    """A check of how many events do not become the columns that readers of the stream want.

    Readers with `on_error` `drop` or `null` continue without such events; this check counts them. What the headers of
    events claim is the question of `build_data_gate`. It needs the extra `arrow`. Its metadata are the events that
    were read, those that failed, and the first 20 of them with their position and the reason.

    Args:
        asset: whose check it is; of a spec of `pravega_stream_spec`, the options are those of the stream.
        stream: `scope/stream`.
        options: how events are decoded, as in `pravega/options` for `PravegaArrowIOManager`; by default the spec's.
        warn_errors: the most errors without a warning.
        error_errors: the most errors without an error.
        cuts: the range; by default what the latest materialization of the asset wrote or read (`pravega/cuts`), or, if
            there is none, all of the stream.
        sample: how many events at most, taken at several offsets of the range; None: all of them.
        name: of the check.
        blocking: whether an error holds back what follows.
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
            f"the check {name!r} of the decode errors of {of} has no limit, so that it would pass always: give "
            "warn_errors or error_errors"
        )
    hold_sample(sample)
    given = _options(asset) if options is None else options
    if find_spec("pyarrow") is None:
        raise ConfigurationError("checks of decode errors need Arrow: pip install 'dagster-pravega[arrow]'")
    from dagster_pravega.tables.options import ArrowOptions

    parsed = ArrowOptions.parse({str(option): str(value) for option, value in given.items()})

    @asset_check(
        asset=key,
        name=name,
        blocking=blocking,
        description=f"How many events of {of} do not become columns?",
        required_resource_keys={resource_key} | ({schema_registry_key} if schema_registry_key else set()),
    )
    def decode_errors(context: AssetCheckExecutionContext) -> AssetCheckResult:
        from dagster_pravega.tables.decoding import decoding_of
        from dagster_pravega.tables.errors import count_errors

        pravega: PravegaResource = getattr(context.resources, resource_key)
        registry: SchemaRegistryResource | None = (
            getattr(context.resources, schema_registry_key) if schema_registry_key else None
        )
        with failing_for_good():
            client = pravega.client
            decoding = decoding_of(parsed, of, registry.registry if registry else None)
            if decoding.decode is None:
                raise ConfigurationError(
                    f"the events of {of} are not decoded, so that none can fail: give the option decode, or a registry "
                    "(schema_registry_key) that has a group for the stream"
                )
            wanted = client.resolve(checked_range(context, key, cuts), of)
            found = count_errors(client, wanted, decoding.decode, sample)
        severity, passed = _judge(found.failed, limits)
        what = f"{found.failed:,} of {found.events:,} events{' of a sample' if sample else ''}"
        return AssetCheckResult(
            passed=passed,
            severity=severity,
            description=f"{what} cannot be decoded by {decoding.described}",
            metadata={
                STREAM_KEY: str(of),
                CUTS_KEY: wanted.to_json(),
                EVENTS_KEY: found.events,
                "pravega/failed": found.failed,
                "pravega/sampled": sample is not None,
                "pravega/failures": table_of(
                    ("pointer", "reason"), [{"pointer": at, "reason": why} for at, why in found.failures]
                ),
            },
        )

    return decode_errors


def _options(asset: AnAsset) -> Mapping[str, Any]:
    return asset.metadata.get(OPTIONS_KEY, {}) if isinstance(asset, AssetSpec) else {}


def _judge(failed: int, limits: Sequence[tuple[AssetCheckSeverity, int]]) -> tuple[AssetCheckSeverity, bool]:
    for severity, limit in limits:
        if failed > limit:
            return severity, False
    return AssetCheckSeverity.WARN, True
