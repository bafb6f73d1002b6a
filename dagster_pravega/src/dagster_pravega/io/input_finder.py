"""Which ranges an input reads: by the run, by the asset, by the cut ledger, or by what the upstream asset has written.

Everything is checked here, before an engine is started. No engine is known here.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from dagster import InputContext

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, SecurityError
from aiopravega.ledger import CutRecord
from dagster_pravega.io.unsplit import split_options
from dagster_pravega.metadata.cut_partitions import cut_partitions_of
from dagster_pravega.metadata.measures import BYTES_KEY, range_measures, taken_measures, times_of
from dagster_pravega.metadata.ranges import (
    RangeConfig,
    configuration,
    configured_range,
    range_of_metadata,
    written_ranges,
)
from dagster_pravega.metadata.rebuild_and_claim import claim_of
from dagster_pravega.metadata.spec import stream_of
from dagster_pravega.partitions.event_time_windows import (
    EventTimeWindow,
    read_options,
    run_keys,
    unit_of,
    wanted_windows,
)
from dagster_pravega.partitions.input_range import InputRange, Piece, Taken, WantedRange, joined
from dagster_pravega.partitions.keyed_partitions import keyed_partitions
from dagster_pravega.partitions.since_last import range_since_last
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.ranges import FixedRange
from pravega_jobs.spark.options import TIME_OPTION

_SEVERAL: Final = 2


def find_input(context: InputContext, pravega: PravegaResource, more_options: Mapping[str, str]) -> InputRange:
    """What an input reads.

    Args:
        context: of the input.
        pravega: the cluster.
        more_options: of the IO manager; those of the stream and of the input are before them.

    Raises:
        PravegaError: the stream, the range or an option cannot work, or the cluster cannot be reached.
    """
    return _Finder(context, pravega).find(more_options)


class _Finder:
    """Finds the ranges of one input."""

    def __init__(self, context: InputContext, pravega: PravegaResource) -> None:
        self._context = context
        self._pravega = pravega
        self._stream = _upstream(context, pravega)
        self._by = f"dagster run {context.step_context.run_id}"
        self._fixed: dict[StreamCutRange, FixedRange] = {}

    def find(self, more_options: Mapping[str, str]) -> InputRange:
        context, stream = self._context, self._stream
        given = read_options(context)
        options = {**more_options, **given, **split_options(context)}
        configured = configured_range(context)
        claim = claim_of(configuration(context).claim, context.step_context.dagster_run)
        by_ledger = cut_partitions_of(context, stream) is not None
        wanted = configured if configured or by_ledger else range_of_metadata(context)
        # What the manager's own options say about event times is for the streams that it writes.
        of_times = wanted is None and TIME_OPTION in given
        windows = wanted_windows(context, stream, options) if of_times else []
        records, whole = [window.claim(self._pravega.client, self._by, claim) for window in windows], False
        if not windows and wanted is configured:
            records = self._of_keys(configured, TIME_OPTION in given, claim)
        if records:
            ranges = self._ranges_of(records)
        else:
            self._check_no_claim(claim)
            found = [wanted] if wanted is not None else written_ranges(context)
            whole = found == [RangeConfig()]
            ranges = self._resolved(found)
        pieces = tuple(self._piece(each) for each in joined(self._pravega.client, ranges))
        what = "all of the stream" if whole else "as it was asked for"
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
        """The ranges of partitions that are not of event times, or of the run; none: the input has none."""
        context, client = self._context, self._pravega.client
        taken = None if configured else range_since_last(context, self._stream, self._pravega, self._by)
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

    def _resolved(self, found: list[RangeConfig]) -> list[WantedRange]:
        return [(self._fix(each.start, each.end).cuts, None) for each in found]

    def _piece(self, wanted: WantedRange) -> Piece:
        cuts, times = wanted
        found = self._fixed.get(cuts) or self._fix(cuts.start.to_text(), cuts.end.to_text())
        return Piece(found.cuts, found.parts, times)

    def _fix(self, start: str | None, end: str | None) -> FixedRange:
        """Both ends of a range as cuts, checked against the stream."""
        found = self._pravega.fix_range(str(self._stream), start, end)
        self._fixed[found.cuts] = found
        return found

    def _check_no_claim(self, claim: int) -> None:
        """A claim is of a partition that has a range in the cut ledger."""
        if claim == 1:
            return
        if configuration(self._context).claim is not None:
            raise ConfigurationError(
                f"claim {claim} of input {self._context.name!r}: only partitions of event times, and those whose range "
                "a run config has named, can be claimed again"
            )
        self._context.log.warning("The tag of a claim is not for input %r, which reads as always", self._context.name)

    def _taken(self, records: list[CutRecord]) -> tuple[Taken, ...]:
        """What records that the partitions have been processed; of several, each gets its metadata of its own."""
        several = len(records) >= _SEVERAL
        keys: list[str | None] = [*run_keys(self._context)] if several else [None] * len(records)
        for record, key in zip(records, keys, strict=True):
            self._context.log.info("%s is taken", record.identity)
            if key is not None:
                self._describe(record, key)
        # Not by the client of now: it may be another one by then.
        return tuple(
            Taken(record, partial(_finish, self._pravega, record, self._by), key)
            for record, key in zip(records, keys, strict=True)
        )

    def _describe(self, record: CutRecord, key: str) -> None:
        step = self._context.step_context
        size = self._fix(record.start, record.end).size
        found = {**range_measures([record.range]), **taken_measures(record), BYTES_KEY: size}
        for asset in step.get_output_asset_keys():
            step.add_asset_metadata(found, asset, key)

    def _marks(self, pieces: tuple[Piece, ...], options: Mapping[str, str]) -> dict[str, str]:
        """What the watermarks say about the ranges; nothing if the stream has none."""
        if not pieces:
            return {}
        client, unit = self._pravega.client, unit_of(options)
        try:
            first, last = client.time_bounds(pieces[0].cuts), client.time_bounds(pieces[-1].cuts)
        except SecurityError as error:  # they are in a stream of their own, which the account may not read
            self._context.log.debug("The watermarks of %s are not known: %s", self._stream, error)
            return {}
        found = {"lower": first.lower, "upper": last.upper}
        return {name: unit.moment(time).isoformat() for name, time in found.items() if time is not None}

    def _from_head(self, windows: list[EventTimeWindow]) -> str | None:
        """Why the range of a window starts at the head, if it begins before the first watermark."""
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


def _upstream(context: InputContext, pravega: PravegaResource) -> StreamName:
    if not context.has_asset_key:
        raise ConfigurationError(f"input {context.name!r} is not an asset, and only assets stand for streams")
    upstream = context.upstream_output
    return pravega.stream_name(stream_of(context.asset_key, upstream.definition_metadata if upstream else {}))


def _finish(pravega: PravegaResource, taken: CutRecord, by: str) -> None:
    pravega.client.cut_ledger(taken.stream.scope).finish(taken.identity, taken.range, by=by)
