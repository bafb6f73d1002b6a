"""Ranges of inputs and checks by run config, by metadata of assets, and by the latest write of an asset."""

from collections.abc import Mapping
from typing import Any, Final

from dagster import (
    AssetCheckExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetRecordsFilter,
    Config,
    DagsterInstance,
    InputContext,
)
from pydantic import Field

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from dagster_pravega.metadata.measures import RANGES_KEY, RUN_EVENTS_KEY
from dagster_pravega.metadata.spec import CUTS_KEY, plain
from dagster_pravega.metadata.written import WRITE_ID_KEY

_WAY_OUT: Final = "name the range in the run config of the input (start, end)"


class RangeConfig(Config):
    """A range of a stream: two StreamCuts, as texts or by name. The start is included, the end is not."""

    start: str | None = Field(
        default=None, description="text of the first StreamCut, or earliest or latest; default the stream's head"
    )
    end: str | None = Field(
        default=None, description="text of the second StreamCut, or earliest or latest; default the stream's tail"
    )
    claim: int | None = Field(
        default=None,
        description="2 claims the partition a second time, with late events; default the run's tag pravega/claim, or "
        "1: the partition's first range",
    )


def configured_range(context: InputContext) -> RangeConfig | None:
    """The range in the run config of an input; None if it names neither end."""
    configured = configuration(context)
    return None if configured.start is None and configured.end is None else configured


def configuration(context: InputContext) -> RangeConfig:
    """The run config of an input."""
    return RangeConfig(**(context.config or {}))


def range_of_metadata(context: InputContext) -> RangeConfig | None:
    """The range in the metadata `pravega/cuts` of the `AssetIn`, or of the upstream asset; None if neither has it.

    Raises:
        ConfigurationError: a range is not `{"start": text, "end": text}`.
    """
    upstream = context.upstream_output
    for metadata in (context.definition_metadata, upstream.definition_metadata if upstream else {}):
        if CUTS_KEY in metadata:
            return _from_metadata(metadata)
    return None


def written_ranges(context: InputContext) -> list[RangeConfig]:
    """The ranges that the upstream asset's latest materializations have written, one for each partition.

    Without partitions and without a materialization, it is all of the stream.

    Raises:
        ConfigurationError: a partition has not been materialized.
        InvalidStreamCutError: the range of the latest materialization is not known.
    """
    if not context.has_asset_partitions:
        return [_written_range(context, None)]
    return [_written_range(context, partition) for partition in context.asset_partition_keys]


def _written_range(context: InputContext, partition: str | None) -> RangeConfig:
    latest = latest_materialization(context.instance, context.asset_key, partition)
    if latest is not None and CUTS_KEY in latest.metadata:
        return _from_metadata(latest.metadata)
    name = context.asset_key.to_user_string() + (f", partition {partition!r}" if partition else "")
    if latest is not None and WRITE_ID_KEY in latest.metadata:
        raise InvalidStreamCutError(
            f"{name}: the cuts of its latest materialization are not known, because the account that wrote it may not "
            f"read them: {_WAY_OUT}"
        )
    if partition is not None:
        raise ConfigurationError(f"{name}: it has not been materialized: materialize it, or {_WAY_OUT}")
    return RangeConfig()


def latest_materialization(
    instance: DagsterInstance, key: AssetKey, partition: str | None
) -> AssetMaterialization | None:
    """The latest materialization of an asset, or of one of its partitions."""
    wanted = AssetRecordsFilter(key, asset_partitions=None if partition is None else [partition])
    records = instance.fetch_materializations(wanted, limit=1).records
    return records[0].asset_materialization if records else None


def checked_range(context: AssetCheckExecutionContext, key: AssetKey, given: StreamCutRange | None) -> StreamCutRange:
    """The range to check: `given`, or the cuts of the asset's latest materialization; without one, all of the stream.

    Raises:
        ConfigurationError: the latest materialization read or wrote events, but does not have exactly one range.
    """
    if given is not None:
        return given
    latest = latest_materialization(context.instance, key, None)
    if latest is None:
        return StreamCutRange(UNBOUNDED, UNBOUNDED)
    if CUTS_KEY in latest.metadata:
        return StreamCutRange.from_json(plain(latest.metadata[CUTS_KEY]))
    if {RANGES_KEY, RUN_EVENTS_KEY, WRITE_ID_KEY} & latest.metadata.keys():
        raise ConfigurationError(
            f"the latest materialization of {key.to_user_string()} does not have one range ({CUTS_KEY}): give the "
            "check the range (cuts)"
        )
    return StreamCutRange(UNBOUNDED, UNBOUNDED)


def _from_metadata(metadata: Mapping[str, Any]) -> RangeConfig:
    cuts = plain(metadata[CUTS_KEY])
    if not isinstance(cuts, Mapping) or not {"start", "end"} >= cuts.keys():
        raise ConfigurationError(f'the metadata {CUTS_KEY!r} is {cuts!r}, but must be {{"start": text, "end": text}}')
    return RangeConfig(**cuts)
