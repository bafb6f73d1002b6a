"""Ranges of an input, found by the run, the asset, the cut ledger, or what the run has written of the upstream asset.

Everything is checked before an engine is started. This module does not use an engine.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from dagster import DagsterEventType, InputContext

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError, SecurityError, SplitProofError
from aiopravega.ledger import Claimant, ClaimantState, CutRecord
from dagster_pravega.io.remote_range import is_handed
from dagster_pravega.metadata.columns import decoded_columns
from dagster_pravega.metadata.cut_partitions import cut_partitions_of
from dagster_pravega.metadata.measures import BYTES_KEY, range_measures, taken_measures, times_of
from dagster_pravega.metadata.ranges import (
    RangeConfig,
    WrittenRange,
    configuration,
    configured_range,
    range_of_metadata,
    repeated_runs,
    written_ranges,
)
from dagster_pravega.metadata.rebuild_and_claim import claim_of
from dagster_pravega.metadata.spec import SINCE_KEY
from dagster_pravega.metadata.steps import input_name, need_step, part_names, step_of, stream_of_input, upstream_key
from dagster_pravega.partitions.claimants import claimant_of_step, deployment_of, state_of_claimant
from dagster_pravega.partitions.event_time_windows import (
    EventTimeWindow,
    read_options,
    run_keys,
    unit_of,
    wanted_windows,
)
from dagster_pravega.partitions.input_range import InputPiece, InputRange, TakenInterval, WantedRange, joined
from dagster_pravega.partitions.keyed_partitions import keyed_partitions
from dagster_pravega.partitions.since_last import range_since_last
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.table_keys import tables_of_input
from pravega_jobs.ranges import FixedRange
from pravega_jobs.spark.options import COLUMNS_OPTION, TIME_OPTION, UNSPLIT

_SEVERAL: Final = 2


def find_input(context: InputContext, pravega: PravegaResource, more_options: Mapping[str, str]) -> InputRange:
    """Find the ranges of an input, with the options of the read.

    Args:
        context: of the input.
        pravega: the cluster.
        more_options: of the IO manager; options of the stream and of the input override them.

    Raises:
        PravegaError: the stream, the range or an option cannot work, or the cluster cannot be reached.
    """
    return _Finder(context, pravega).find(more_options)


class _Finder:
    """Finds the ranges of one input."""

    def __init__(self, context: InputContext, pravega: PravegaResource) -> None:
        self._context = context
        self._pravega = pravega
        self._stream = pravega.stream_name(stream_of_input(context))
        step = step_of(context)
        self._run = None if step is None else step.dagster_run
        self._by = "" if step is None else f"dagster run {step.run_id}{deployment_of(step.instance)}"
        self._fixed: dict[StreamCutRange, FixedRange] = {}

    def find(self, more_options: Mapping[str, str]) -> InputRange:
        context, stream = self._context, self._stream
        given = read_options(context)
        options = {**more_options, **given, **_split_options(context)}
        columns = decoded_columns(context)
        if columns is not None:  # the input may name others than the stream
            options = {name: text for name, text in options.items() if name.lower() != COLUMNS_OPTION}
            options[COLUMNS_OPTION] = columns
        configured = configured_range(context)
        claim = claim_of(configuration(context).claim, self._run)
        by_ledger = cut_partitions_of(context, stream) is not None
        wanted = configured if configured or by_ledger else range_of_metadata(context)
        # Event times in the manager's own options are for the streams that it writes.
        of_times = wanted is None and TIME_OPTION in given
        windows = wanted_windows(context, stream, options) if of_times else []
        records, whole = [window.claim(self._pravega.client, self._by, claim) for window in windows], False
        if not windows and wanted is configured:
            records = self._of_keys(configured, TIME_OPTION in given, claim)
        if records:
            ranges = self._ranges_of(records)
        else:
            self._check_no_claim(claim)
            named = [WrittenRange(wanted)] if wanted is not None else written_ranges(context, self._run)
            whole = named == [WrittenRange(RangeConfig())]
            ranges = [(self._resolved(each).cuts, None) for each in named]
        pieces = tuple(self._piece(each) for each in joined(self._pravega.client, ranges))
        what = "all of the stream" if whole else "as requested"
        for piece in pieces:
            context.log.info(
                "Reading %d bytes of %s, %s: %s to %s", piece.size, stream, what, piece.cuts.start, piece.cuts.end
            )
        taken = self._taken(records)
        return InputRange(
            stream,
            pieces,
            options,
            taken,
            self._marks(pieces, options),
            whole,
            self._from_head(windows),
            claim if records else 1,
        )

    def _of_keys(self, configured: RangeConfig | None, has_times: bool, claim: int) -> list[CutRecord]:
        """The records of partitions that are not event times, or of the run; empty if the input has neither."""
        context, client = self._context, self._pravega.client
        step = step_of(context)
        find_table = None if step is None else tables_of_input(context.definition_metadata, step)
        taken = None if configured else range_since_last(context, self._stream, self._pravega, self._by, find_table)
        if taken is not None:
            self._check_no_claim(claim)
            return [taken]
        partitions = keyed_partitions(context, self._stream, configured, has_times=has_times, claim=claim)
        if configured is None:
            return [partition.recorded(client) for partition in partitions]
        if not partitions:
            return []
        [partition] = partitions
        return [partition.claim(client, configured, self._fix(configured.start, configured.end).cuts, self._by)]

    def _ranges_of(self, records: list[CutRecord]) -> list[WantedRange]:
        in_order = sorted(records, key=lambda record: record.sort_key)
        return [(record.range, times_of(record)) for record in in_order]

    def _resolved(self, named: WrittenRange) -> FixedRange:
        """A range as cuts. The range of a write has no events of others, or is refused."""
        fixed = self._fix(named.range.start, named.range.end)
        if named.size is None:
            return fixed
        key = upstream_key(self._context)
        what = f"the write of {'an asset' if key is None else key.to_user_string()}"
        cuts = self._pravega.client.range_of(fixed.cuts, named.size, what)
        return fixed if cuts == fixed.cuts else self._fix(cuts.start.to_text(), cuts.end.to_text())

    def _piece(self, wanted: WantedRange) -> InputPiece:
        cuts, times = wanted
        fixed = self._fixed.get(cuts) or self._fix(cuts.start.to_text(), cuts.end.to_text())
        return InputPiece(fixed.cuts, fixed.parts, times)

    def _fix(self, start: str | None, end: str | None) -> FixedRange:
        """Both ends of a range as cuts, checked against the stream."""
        fixed = self._pravega.fix_range(str(self._stream), start, end)
        self._fixed[fixed.cuts] = fixed
        return fixed

    def _check_no_claim(self, claim: int) -> None:
        """Refuse a later claim of an input that has no partition in the cut ledger; the run's tag is only logged."""
        if claim == 1:
            return
        if configuration(self._context).claim is not None:
            raise ConfigurationError(
                f"claim {claim} of {input_name(self._context)}: only partitions of event times, and partitions whose "
                "range a run config has named, can be claimed again"
            )
        self._context.log.warning("The tag of a claim does not apply to %s: it is ignored", input_name(self._context))

    def _taken(self, records: list[CutRecord]) -> tuple[TakenInterval, ...]:
        """The intervals, each with the function that records it as done; each of several partitions gets metadata."""
        several = len(records) >= _SEVERAL
        keys: list[str | None] = [*run_keys(self._context)] if several else [None] * len(records)
        for record, key in zip(records, keys, strict=True):
            self._context.log.info("%s is taken", record.identity)
            if key is not None:
                self._describe(record, key)
        if not records:
            return ()
        step, ledger = need_step(self._context, "an interval"), self._pravega.client.cut_ledger(self._stream.scope)
        ours = claimant_of_step(step, of_run=SINCE_KEY not in self._context.definition_metadata)
        for record in records:
            joined_claim: Claimant | None = ours
            others = record.claimant is not None and record.claimant != ours and record.is_waiting
            if others and state_of_claimant(self._context.instance, record) is ClaimantState.RUNNING:
                joined_claim = record.claimant  # its parts stay: what it has begun to write must not be forgotten
            ledger.expect(record.identity, part_names(step), claimant=joined_claim)
        # Of the resource, not of its client now: the resource may have opened another client by then.
        client = partial(getattr, self._pravega, "client")
        return tuple(TakenInterval(record, client, self._by, key) for record, key in zip(records, keys, strict=True))

    def _describe(self, record: CutRecord, key: str) -> None:
        step = need_step(self._context, "a partition")
        size = self._fix(record.start, record.end).size
        metadata = {**range_measures([record.range]), **taken_measures(record), BYTES_KEY: size}
        for asset in step.get_output_asset_keys():
            step.add_asset_metadata(metadata, asset, key)

    def _marks(self, pieces: tuple[InputPiece, ...], options: Mapping[str, str]) -> dict[str, str]:
        """The watermarks at the ends of the ranges, as times; empty if the stream has none."""
        if not pieces:
            return {}
        client, unit = self._pravega.client, unit_of(options)
        try:
            first, last = client.time_bounds(pieces[0].cuts), client.time_bounds(pieces[-1].cuts)
        except SecurityError as error:  # the account may not read the stream that has the watermarks
            self._context.log.debug("The watermarks of %s are not known: %s", self._stream, error)
            return {}
        bounds = {"lower": first.lower, "upper": last.upper}
        return {name: unit.moment(time).isoformat() for name, time in bounds.items() if time is not None}

    def _from_head(self, windows: list[EventTimeWindow]) -> str | None:
        """The reason why the first window's range starts at the head; None if a watermark is older than the window."""
        for window in windows[:1]:
            first = window.first_mark_after_start(self._pravega.client)
            if first is None:
                return None
            reason = (
                f"it begins before the first watermark of {window.stream}, at {first.isoformat()}: read from the head"
            )
            self._context.log.info("Partition %s: %s", window.since.isoformat(), reason)
            return reason
        return None


def _split_options(context: InputContext) -> Mapping[str, str]:
    """Options of the data source that split no segment, if an earlier attempt of this step failed because of a split.

    The asset's own code reads the frame, too late to plan the read again, so the next attempt reads unsplit. The reason
    of a failed attempt whose range another process has read is not known: the next attempt then also reads unsplit.
    """
    name = SplitProofError.__name__
    failures = list(_earlier_failures(context))
    if failures and is_handed(context):
        return UNSPLIT
    if not any(name in failure for failure in failures):
        return {}
    context.log.warning("An earlier attempt has split a segment where no event starts (%s): reading unsplit", name)
    return UNSPLIT


def _earlier_failures(context: InputContext) -> Iterator[str]:
    """The errors of earlier attempts of this step, in this run and in the runs that it repeats."""
    step = step_of(context)
    if step is None:
        return
    kinds = {DagsterEventType.STEP_UP_FOR_RETRY, DagsterEventType.STEP_FAILURE}
    for run_id in repeated_runs(step.instance, step.dagster_run):
        for record in step.instance.all_logs(run_id, of_type=kinds):
            event = record.dagster_event
            error = getattr(event.event_specific_data, "error", None) if event else None
            if error is not None and record.step_key == step.step.key:
                yield error.to_string()
