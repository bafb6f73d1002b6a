"""Ranges of inputs and checks by run config, by metadata of assets, and by what a run has written of an asset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dagster import (
    AssetCheckExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetRecordsFilter,
    Config,
    DagsterEventType,
    DagsterInstance,
    DagsterInvariantViolationError,
    DagsterRun,
    InputContext,
)
from pydantic import Field

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from dagster_pravega.metadata.measures import BYTES_KEY, RANGES_KEY, RUN_EVENTS_KEY
from dagster_pravega.metadata.secured import STRICT
from dagster_pravega.metadata.spec import CUTS_KEY, plain
from dagster_pravega.metadata.steps import upstream_key
from dagster_pravega.metadata.written import WRITE_ID_KEY

_WAY_OUT: Final = "name the range in the run config of the input (start, end)"
_CHECK_WAY: Final = "give the check the range (cuts)"


class RangeConfig(Config):
    """A range of a stream: two StreamCuts, as texts or by name. The start is included, the end is not."""

    model_config = STRICT

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


@dataclass(frozen=True, slots=True)
class WrittenRange:
    """A range that an asset has written; `size` is the bytes of its own events, None if a write did not make it."""

    range: RangeConfig
    size: int | None = None


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


def written_ranges(context: InputContext, run: DagsterRun | None) -> list[WrittenRange]:
    """The ranges that the upstream asset has written, one for each partition: in this run, or the latest ones.

    Without partitions and without a materialization, it is all of the stream.

    Args:
        context: of the input.
        run: the run that reads; None outside of a run, which takes the latest.

    Raises:
        ConfigurationError: a partition has not been materialized, or the latest materialization cannot be asked for.
        InvalidStreamCutError: the range of the materialization is not known.
    """
    key = upstream_key(context)
    if key is None:
        return [WrittenRange(RangeConfig())]
    keys = context.asset_partition_keys if context.has_asset_partitions else [None]
    made = _instance_of(context, key)
    taken = Materializations(made, key, run)
    return [_written_range(key, partition, taken.of(partition)) for partition in keys]


def _instance_of(context: InputContext, key: AssetKey) -> DagsterInstance:
    try:
        return context.instance
    except DagsterInvariantViolationError:
        raise ConfigurationError(
            f"the latest materialization of {key.to_user_string()} is not known without an instance of Dagster: give "
            f"build_input_context(instance=…), or the range in definition_metadata ({CUTS_KEY})"
        ) from None


def _written_range(key: AssetKey, partition: str | None, made: AssetMaterialization | None) -> WrittenRange:
    if made is not None and CUTS_KEY in made.metadata:
        writes = WRITE_ID_KEY in made.metadata
        return WrittenRange(_from_metadata(made.metadata), plain(made.metadata[BYTES_KEY]) if writes else None)
    name = key.to_user_string() + (f", partition {partition!r}" if partition else "")
    if made is not None and WRITE_ID_KEY in made.metadata:
        raise InvalidStreamCutError(
            f"{name}: the cuts of its materialization are not known, because the account that wrote it may not "
            f"read them: {_WAY_OUT}"
        )
    if partition is not None:
        raise ConfigurationError(f"{name}: it has not been materialized: materialize it, or {_WAY_OUT}")
    return WrittenRange(RangeConfig())


class Materializations:
    """The materializations of an asset that a run takes: its own, of the runs that it repeats, or the latest.

    The latest alone may be of another run, which writes between two steps of this one, or between a run and its
    re-execution.
    """

    def __init__(self, instance: DagsterInstance, key: AssetKey, run: DagsterRun | None) -> None:
        self._instance, self._key = instance, key
        self._of_runs: dict[str | None, AssetMaterialization] = {}
        for run_id in [] if run is None else repeated_runs(instance, run):
            for entry in reversed(instance.all_logs(run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)):
                made = entry.asset_materialization
                if made is not None and made.asset_key == key:
                    self._of_runs.setdefault(made.partition, made)

    @property
    def partitions_of_run(self) -> list[str | None]:
        """The partitions that the run, or the runs that it repeats, have materialized; None is the asset as a whole."""
        return list(self._of_runs)

    def of(self, partition: str | None) -> AssetMaterialization | None:
        """The materialization of one partition, or of an asset without partitions; None: there is none."""
        if partition in self._of_runs:
            return self._of_runs[partition]
        if partition is None and self._of_runs:  # the newest, of an asset that had partitions when it was made
            return next(iter(self._of_runs.values()))
        wanted = AssetRecordsFilter(self._key, asset_partitions=None if partition is None else [partition])
        records = self._instance.fetch_materializations(wanted, limit=1).records
        return records[0].asset_materialization if records else None


def repeated_runs(instance: DagsterInstance, run: DagsterRun) -> list[str]:
    """The ids of a run, and of the runs that it repeats: its parent, the parent's parent, and so on to the root."""
    found: dict[str, None] = {}
    following: DagsterRun | None = run
    while following is not None and following.run_id not in found:
        found[following.run_id] = None
        parent = following.parent_run_id
        following = instance.get_run_by_id(parent) if parent else None
    return [*found] + [root for root in (run.root_run_id,) if root and root not in found]


def checked_materialization(context: AssetCheckExecutionContext, key: AssetKey) -> AssetMaterialization | None:
    """The materialization that a check judges: what its run, or the run that it repeats, has made of its partition.

    If the run has not made it, it is the latest of the partition, or, in a run without a partition, the latest of all.

    Raises:
        ConfigurationError: the run has made several partitions, or its partition has never been made, or is none of
            the asset's.
    """
    step = context.get_step_execution_context()
    made = Materializations(context.instance, key, context.run)
    known, name = made.partitions_of_run, key.to_user_string()
    layer = step.job_def.asset_layer
    definition = layer.get(key).partitions_def if layer.has(key) else None
    if definition is None:
        return made.of(None)
    if step.has_partition_key and step.partition_key in known:
        return made.of(step.partition_key)
    if len(known) == 1:
        return made.of(known[0])
    if known:
        raise ConfigurationError(
            f"the run has materialized {len(known)} partitions of {name}, and a check judges one range: {_CHECK_WAY}, "
            "or give the asset BackfillPolicy.multi_run(1)"
        )
    if not step.has_partitions:
        latest = made.of(None)
        if latest is not None:
            context.log.info("The run has no partition: the check judges the latest, %r of %s", latest.partition, name)
        return latest
    partition = step.partition_key if step.has_partition_key else None
    latest = None if partition is None else made.of(partition)
    if latest is None:
        raise ConfigurationError(
            f"the check has no range to judge: neither this run nor an earlier one has materialized partition "
            f"{partition!r} of {name}: materialize it, or {_CHECK_WAY}"
        )
    return latest


def checked_range(context: AssetCheckExecutionContext, key: AssetKey, given: StreamCutRange | None) -> StreamCutRange:
    """The range to check: `given`, or the cuts of the materialization that the check judges.

    Without a materialization of an asset that has no partitions, it is all of the stream.

    Raises:
        ConfigurationError: there is no such materialization, or it read or wrote events, but does not have exactly one
            range.
    """
    if given is not None:
        return given
    made = checked_materialization(context, key)
    if made is None:
        return StreamCutRange(UNBOUNDED, UNBOUNDED)
    if CUTS_KEY in made.metadata:
        return StreamCutRange.from_json(plain(made.metadata[CUTS_KEY]))
    if {RANGES_KEY, RUN_EVENTS_KEY, WRITE_ID_KEY} & made.metadata.keys():
        raise ConfigurationError(
            f"the materialization of {key.to_user_string()} that is checked does not have one range ({CUTS_KEY}): "
            f"{_CHECK_WAY}"
        )
    return StreamCutRange(UNBOUNDED, UNBOUNDED)


def _from_metadata(metadata: Mapping[str, Any]) -> RangeConfig:
    cuts = plain(metadata[CUTS_KEY])
    if not isinstance(cuts, Mapping) or not {"start", "end"} >= cuts.keys():
        raise ConfigurationError(f'the metadata {CUTS_KEY!r} is {cuts!r}, but must be {{"start": text, "end": text}}')
    return RangeConfig(**cuts)
