"""Which range of a stream an input takes: what the run says, the asset says, or the upstream asset has written."""

from collections.abc import Mapping
from typing import Any, Final

from dagster import AssetKey, AssetMaterialization, AssetRecordsFilter, Config, DagsterInstance, InputContext
from pydantic import Field

from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from dagster_pravega.metadata.spec import CUTS_KEY, plain
from dagster_pravega.metadata.written import WRITE_ID_KEY

_WAY_OUT: Final = "name the range in the run config of the input (start, end)"


class RangeConfig(Config):
    """A range of a stream: two StreamCuts, as texts, or by name. The start is included, the end is not."""

    start: str | None = Field(
        default=None, description="text of the first StreamCut, or earliest or latest; default the stream's head"
    )
    end: str | None = Field(
        default=None, description="text of the second StreamCut, or earliest or latest; default the stream's tail"
    )
    claim: int | None = Field(
        default=None,
        description="2 claims the partition a second time, with what came late; default the run's tag pravega/claim, "
        "or 1: what the partition had from the first",
    )


def configured_range(context: InputContext) -> RangeConfig | None:
    """The range that the run config of an input names."""
    configured = configuration(context)
    return None if configured.start is None and configured.end is None else configured


def configuration(context: InputContext) -> RangeConfig:
    """What the run config of an input says."""
    return RangeConfig(**(context.config or {}))


def range_of_metadata(context: InputContext) -> RangeConfig | None:
    """The range that the metadata `pravega/cuts` name, those of the `AssetIn` first.

    Raises:
        ConfigurationError: a range is not `{"start": text, "end": text}`.
    """
    upstream = context.upstream_output
    for metadata in (context.definition_metadata, upstream.definition_metadata if upstream else {}):
        if CUTS_KEY in metadata:
            return _from_metadata(metadata)
    return None


def written_ranges(context: InputContext) -> list[RangeConfig]:
    """The ranges that the upstream asset's latest materializations have written; all of the stream if there is none.

    Of several partitions, each has its own.

    Raises:
        ConfigurationError: the partitions do not say which range.
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
            f"{name}: the ledger did not say where in the stream its latest materialization is, because the account "
            f"that wrote it may not ask: {_WAY_OUT}"
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


def _from_metadata(metadata: Mapping[str, Any]) -> RangeConfig:
    cuts = plain(metadata[CUTS_KEY])
    if not isinstance(cuts, Mapping) or not {"start", "end"} >= cuts.keys():
        raise ConfigurationError(f'the metadata {CUTS_KEY!r} is {cuts!r}, but must be {{"start": text, "end": text}}')
    return RangeConfig(**cuts)
