"""Rows of an interval of event times: its range also has events of other times."""

from datetime import datetime
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import TimeUnit
from aiopravega.errors import ConfigurationError, MalformedEventError
from pravega_jobs.decoding.options import OnError

Times: TypeAlias = tuple[datetime, datetime]


def within(batch: pa.RecordBatch, times: Times, name: str | None, unit: TimeUnit, on_error: OnError) -> pa.RecordBatch:
    """The rows with `times[0] <= time < times[1]`.

    Args:
        batch: the rows.
        times: the interval.
        name: the column of the times.
        unit: of times that are whole numbers.
        on_error: the rule for an event without a time.

    Raises:
        ConfigurationError: there is no column of times, it has another type, or `on_error` is `null`.
        MalformedEventError: an event has no time, and `on_error` is `fail`.
    """
    if on_error is OnError.NULL:
        raise ConfigurationError(
            "on_error=null keeps events whose times are not known, so that every interval would have them: give fail "
            "or drop for a read of an interval"
        )
    column, unit = _times_in(batch, name, unit)
    if column.null_count and on_error is not OnError.DROP:
        raise MalformedEventError(
            f"{column.null_count} events have no time in column {name!r}, so that they are in no interval. The option "
            "on_error=drop leaves such events out",
            at=0,
        )
    start, end = (unit.first_number(time) for time in times)
    return batch.filter(pc.and_(pc.greater_equal(column, start), pc.less(column, end)))  # null is not true


def _times_in(batch: pa.RecordBatch, name: str | None, unit: TimeUnit) -> tuple[pa.Array, TimeUnit]:
    """The times of rows as numbers: microseconds of timestamps, whole numbers in the unit of the stream's writers."""
    if name is None:
        raise ConfigurationError(
            "the range was taken for event times and has events of other times, too: name the column of the times by "
            "the option event_time"
        )
    if name not in batch.schema.names:
        raise ConfigurationError(
            f"option event_time names column {name!r}, but the events have the columns {', '.join(batch.schema.names)}"
        )
    column = batch.column(name)
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()), TimeUnit.US
    if pa.types.is_signed_integer(column.type):
        return column.cast(pa.int64()), unit
    raise ConfigurationError(
        f"column {name!r} of option event_time is {column.type}: it must be a timestamp with a zone, or a whole number "
        "in the unit of the stream's writers"
    )
