"""Decoding that leaves out the rows outside of an interval of event times, a batch at a time: for Spark and frames.

The range of an interval also holds other events. Neighbouring intervals share a bound that is exact in the column's
unit, so that each row is in exactly one interval.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.schema.arrow.arrays import booleans, mask_of
from aiopravega.times import TimeUnit
from pravega_jobs.decoding.options import OnError
from pravega_jobs.decoding.plan import Decoded, DecodePlan, Decoder
from pravega_jobs.spark.options import TIME_OPTION

logger = logging.getLogger(__name__)

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_WITHOUT_ZONE: Final = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_string)


@dataclass(frozen=True, slots=True)
class WithinPlan:
    """A plan with the rows that have `start <= time < end`.

    `path` leads to the time, through structs. The bounds are in the unit of the column: its own for a timestamp, that
    of the stream's writers for a number.
    """

    plan: DecodePlan
    name: str
    path: tuple[int, ...]
    start: int
    end: int
    drops: bool

    @property
    def schema(self) -> pa.Schema:
        """The decoded fields."""
        return self.plan.schema

    @property
    def kept(self) -> None:
        """None: the interval of an event that cannot be decoded is not known."""

    @property
    def pinned(self) -> Mapping[str, str]:
        """Options by which a later read has the same fields."""
        return self.plan.pinned

    def decoder(self) -> "WithinDecoder":
        """A decoder for one task."""
        return WithinDecoder(self, self.plan.decoder())


def within(
    plan: DecodePlan | None,
    name: str,
    numbers: Callable[[TimeUnit], tuple[int, int]],
    unit: TimeUnit,
    on_error: OnError,
) -> WithinPlan:
    """Make a plan that decodes the rows of an interval.

    Args:
        plan: of the decoding; None: the events are read raw, which is refused.
        name: the column of the times, in any case; `a.b` is a field of a struct.
        numbers: the bounds as a column of a unit counts them: a time is in the interval if `start <= time < end`.
        unit: of a column of whole numbers: that of the stream's writers.
        on_error: the rule for an event without a time.

    Raises:
        ConfigurationError: the events are not decoded, have no such column, or its type is not a point in time.
    """
    if plan is None:
        raise ConfigurationError(
            f"option {TIME_OPTION!r} names column {name!r}, but the events are read raw: give option 'decode', or give "
            "cuts and no times, and filter the decoded events"
        )
    if on_error.kept is not None:
        raise ConfigurationError(
            f"on_error={on_error} keeps events whose times are not known, so that every interval would have them: give "
            "fail or drop for a read of an interval"
        )
    path, kind = time_column(plan.schema, name)
    start, end = numbers(time_unit(kind, name, unit))
    return WithinPlan(plan, name, path, _clamped(start), _clamped(end), on_error is OnError.DROP)


def time_column(schema: pa.Schema, name: str) -> tuple[tuple[int, ...], pa.DataType]:
    """The path of indexes to a column, by its name in any case, and its type; `a.b` is a field of a struct.

    Raises:
        ConfigurationError: there is no such column.
    """
    path: list[int] = []
    kind: pa.DataType = pa.struct(list(schema))
    for step in name.split("."):
        names = [field.name.lower() for field in kind] if pa.types.is_struct(kind) else []
        if step.lower() not in names:
            raise ConfigurationError(
                f"option {TIME_OPTION!r} names column {name!r}, but the events have the columns "
                f"{', '.join(schema.names)}"
            )
        path.append(names.index(step.lower()))
        kind = kind.field(path[-1]).type
    return tuple(path), kind


def time_unit(kind: pa.DataType, name: str, unit: TimeUnit) -> TimeUnit:
    """The unit of a column of times; `unit` is that of whole numbers.

    Raises:
        ConfigurationError: the type is not a point in time.
    """
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return TimeUnit.parse(kind.unit)
    if pa.types.is_signed_integer(kind):
        return unit
    hint = (
        "it has no zone, so that it is another time on each machine: decode it as timestamp, if events have a zone"
        if any(test(kind) for test in _WITHOUT_ZONE)
        else "it must be a timestamp, or a whole number in the unit of the stream's writers"
    )
    raise ConfigurationError(f"column {name!r} of option {TIME_OPTION!r} is a {kind}: {hint}")


def _clamped(number: int) -> int:
    return min(max(number, _LEAST), _GREATEST)


class WithinDecoder:
    """Decodes the events of one task, and leaves out events of other times."""

    def __init__(self, plan: WithinPlan, inner: Decoder) -> None:
        self._plan = plan
        self._inner = inner
        self._without = 0

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The columns of the events within the interval.

        Raises:
            MalformedEventError: an event has no time, and `on_error` is `fail`.
            PravegaError: an event cannot be decoded.
        """
        decoded = self._inner.decode(events, offsets, segment)
        if not decoded.columns or not len(decoded.columns[0]):
            return decoded
        times = decoded.columns[self._plan.path[0]]
        if len(self._plan.path) > 1:
            times = pc.struct_field(times, list(self._plan.path[1:]))
        times = times.cast(pa.int64())
        # Not by `fill_null`, which would import pandas: see `aiopravega.schema.arrow.arrays`.
        numbers = np.frombuffer(times.buffers()[1], np.int64, len(times), times.offset * np.int64().nbytes)
        wanted = (numbers >= self._plan.start) & (numbers < self._plan.end)
        if times.null_count:
            known = mask_of(times.is_valid())
            self._count_missing(known, decoded, offsets, segment)
            wanted &= known
        if wanted.all():
            return decoded
        rows = booleans(wanted)
        taken = np.flatnonzero(wanted) if decoded.taken is None else decoded.taken[wanted]
        return Decoded([column.filter(rows) for column in decoded.columns], taken)

    def _count_missing(
        self, known: npt.NDArray[np.bool_], decoded: Decoded, offsets: npt.NDArray[np.int64], segment: SegmentId
    ) -> None:
        if decoded.taken is not None:
            offsets = offsets[decoded.taken]
        at = int(offsets[np.flatnonzero(~known)[0]])
        reason = f"has no time in column {self._plan.name!r}, so that it is in no interval"
        if not self._plan.drops:
            raise MalformedEventError(
                f"{segment}: the event at offset {at} {reason}. Option on_error=drop leaves such events out", at=at
            )
        if not self._without:
            logger.warning("%s: dropped the event at offset %d, which %s", segment, at, reason)
        self._without += int((~known).sum())

    def add(self, other: Self) -> None:
        """Count what another decoder of the same plan has counted."""
        self._inner.add(other._inner)
        self._without += other._without

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task the number of events that were left out because they have no time."""
        self._inner.finish(segment)
        if self._without:
            logger.warning("%s: dropped %d events without a time", segment, self._without)
