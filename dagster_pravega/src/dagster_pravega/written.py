"""The identity of a write, and where an earlier try of it has left its events.

Spark's commit ledger, kept in Pravega, knows whether a write is done. Where in the stream it went is what Dagster's
event log knows: the cut at which the first try started is noted there before anything is written.
"""

from typing import Final

from dagster import AssetObservation, AssetRecordsFilter, DagsterInstance, OutputContext

from aiopravega import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CommitRecord
from dagster_pravega.spec import CUTS_KEY, plain

WRITE_ID_KEY: Final = "pravega/write_id"
_START_KEY: Final = "pravega/start"
# Events of an asset, or of a partition of it, among which a try looks for earlier ones of the same write.
_LOOK_BACK: Final = 100


def write_name(context: OutputContext) -> str:
    """The name under which an output is written, once: the same for every try, another for every new write.

    A partition is written once. Without partitions, each run writes; the retry of a step, of a run, and whatever else
    is executed again from a run, counts as that run.

    Raises:
        ConfigurationError: the output is not one asset, or one partition of it.
    """
    if not context.has_asset_key:
        raise ConfigurationError(f"output {context.name!r} is not an asset, and only assets are written to streams")
    asset = context.asset_key.to_user_string()
    if context.has_asset_partitions:
        partitions = context.asset_partition_keys
        if len(partitions) != 1:
            raise ConfigurationError(
                f"{asset}: {len(partitions)} partitions in one run cannot be told apart in a stream, so that a later "
                "run of one of them would double it: give the asset BackfillPolicy.multi_run(1)"
            )
        return f"dagster/{asset}/partition {partitions[0]}"
    run = context.step_context.dagster_run
    return f"dagster/{asset}/run {run.root_run_id or run.run_id}"


def note_start(context: OutputContext, write_id: str, start: StreamCut, incarnation: int) -> None:
    """Keep where a write starts for later tries of it, unless an earlier try has started it on the same stream.

    `incarnation` is that of the stream; see `aiopravega.ledger.CommitRecord`.
    """
    if _noted_start(context, write_id, incarnation) is not None:
        return
    context.log_event(
        AssetObservation(
            context.asset_key,
            description="A write to a Pravega stream starts",
            partition=_partition(context),
            metadata={WRITE_ID_KEY: write_id, _START_KEY: start.to_text()},
        )
    )


def earlier_range(context: OutputContext, written: CommitRecord, tail: StreamCut) -> StreamCutRange | None:
    """The range of a write that an earlier try has done; None: it left no trace in this instance's event log.

    A try that died before it reported has written somewhere between its start and the `tail` as it is now. What was
    noted of a stream of the same name that was deleted is no trace.
    """
    write_id, first = written.write_id, written.incarnation
    for record in _instance(context).fetch_materializations(_records(context), limit=_LOOK_BACK).records:
        found = record.asset_materialization
        if found is not None and plain(found.metadata.get(WRITE_ID_KEY)) == write_id and CUTS_KEY in found.metadata:
            cuts = StreamCutRange.from_json(plain(found.metadata[CUTS_KEY]))
            if _is_of(cuts.start, first) and _is_of(cuts.end, first):
                return cuts
    start = _noted_start(context, write_id, first)
    return None if start is None else StreamCutRange(start, tail)


def _noted_start(context: OutputContext, write_id: str, incarnation: int) -> StreamCut | None:
    records = _instance(context).fetch_observations(_records(context), limit=_LOOK_BACK).records
    for record in reversed(records):  # the latest comes first
        found = record.asset_observation
        if found is not None and plain(found.metadata.get(WRITE_ID_KEY)) == write_id and _START_KEY in found.metadata:
            start = StreamCut.from_text(plain(found.metadata[_START_KEY]))
            if _is_of(start, incarnation):
                return start
    return None


def _is_of(cut: StreamCut, incarnation: int) -> bool:
    """Whether a cut is of this stream, and not of an earlier one of its name, whose segments have lower numbers."""
    return all(segment.number >= incarnation for segment in cut.positions)


def _instance(context: OutputContext) -> DagsterInstance:
    return context.step_context.instance


def _partition(context: OutputContext) -> str | None:
    return context.asset_partition_key if context.has_asset_partitions else None


def _records(context: OutputContext) -> AssetRecordsFilter:
    partition = _partition(context)
    return AssetRecordsFilter(context.asset_key, asset_partitions=None if partition is None else [partition])
