"""The read of a search for late events: the times of the events of a range, counted by the intervals they belong to."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId
from pravega_jobs.decoding.event_times import time_column, time_unit
from pravega_jobs.decoding.options import OnError
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.frames.read import StreamRange, plan_read
from pravega_jobs.late.counting import LateCounter, Numbers
from pravega_jobs.late.searches import LateCount, Search
from pravega_jobs.spark.options import METADATA_COLUMNS_OPTION, METADATA_PREFIX_OPTION, TIME_OPTION

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

logger = logging.getLogger(__name__)

_PREFIX: Final = "_late_"
_POSITIONS: Final = ("segment_id", "offset", "event_pointer")


def check_options(options: Mapping[str, Any]) -> None:
    """Check the options of the decoding.

    Raises:
        ConfigurationError: they give events no times of their own, or are not known.
    """
    parsed = FrameOptions.parse(options)
    if parsed.time is None:
        raise ConfigurationError(
            f"the search for late events needs the times of events: name their column by the option {TIME_OPTION!r}"
        )
    if parsed.named and parsed.decode.format.is_changes:
        raise ConfigurationError(
            f"decode={parsed.decode.format} gives changes of rows, and an event may have several or none: late events "
            "are counted in streams whose events are rows"
        )
    if parsed.decode.on_error.kept is not None:
        raise ConfigurationError(
            f"on_error={parsed.decode.on_error} keeps events whose times are not known: give fail or drop for the "
            "search for late events"
        )


def count_late(
    client: PravegaClient,
    stream: StreamName,
    search: Search,
    wanted: StreamCutRange,
    registry: "SchemaRegistry | None",
    options: Mapping[str, Any],
) -> dict[int, LateCount]:
    """Read a range, and count the late events of each interval of a search, by its number.

    Raises:
        ConfigurationError: the events are read raw, or have no such column of times.
        MalformedEventError: an event cannot be decoded, or has no time, and `on_error` is `fail`.
        PravegaError: the range cannot be read.
    """
    positions = {METADATA_COLUMNS_OPTION: ",".join(_POSITIONS), METADATA_PREFIX_OPTION: _PREFIX}
    planned = plan_read(StreamRange(client, stream, wanted), None, registry, {**options, **positions})
    plan, name = planned.decoding.plan, planned.options.time
    if plan is None or name is None:
        raise ConfigurationError(
            f"the events of {stream} are read raw, so that their times are not known: give option 'decode'"
        )
    path, kind = time_column(plan.schema, name)
    unit = time_unit(kind, name, planned.options.unit)
    all_times = [interval.times for interval in search.intervals]
    bounds = [(unit.first_number(since), unit.first_number(until)) for since, until in all_times]
    passed = {cut: search.history.passed(cut) for cut in set(search.begins)}
    counter = LateCounter(bounds, lambda segment: [passed[cut][segment] for cut in search.begins])
    columns = [plan.schema.names[path[0]], *(_PREFIX + position for position in _POSITIONS)]
    fails, without = planned.decoding.on_error is OnError.FAIL, 0
    for batch in planned.scan.batches(columns):
        if not batch.num_rows:
            continue
        times, segments, offsets, pointers = batch.columns
        if len(path) > 1:
            times = pc.struct_field(times, list(path[1:]))
        if times.null_count:
            known = times.is_valid()
            if fails:
                raise _missing(name, pointers.filter(pc.invert(known))[0].as_py())
            without += times.null_count
            times, offsets, pointers = (column.filter(known) for column in (times, offsets, pointers))
        segment = SegmentId.from_int(stream, segments[0].as_py())
        counter.add(segment, _numbers(times.cast(pa.int64())), _numbers(offsets), pointers)
    if without:
        logger.warning(
            "%s: %d events have no time in column %r, so that they are in no interval", stream, without, name
        )
    return counter.counts


def _missing(name: str, pointer: str) -> MalformedEventError:
    return MalformedEventError(
        f"{pointer}: the event has no time in column {name!r}, so that it is in no interval. Option on_error=drop "
        "leaves such events out"
    )


def _numbers(column: pa.Int64Array) -> Numbers:
    """The numbers of a column without nulls."""
    # Not by `to_numpy`, which may import pandas: see `aiopravega.schema.arrow.arrays`.
    return np.frombuffer(column.buffers()[1], np.int64, len(column), column.offset * np.int64().nbytes)
