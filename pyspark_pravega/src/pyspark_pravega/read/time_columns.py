"""The columns `event_time_lower` and `event_time_upper`: what the watermarks of a stream say about a batch.

Pravega leaves the unit of times to the writers; here it is an option. What the bounds promise is said where they are
found, in `aiopravega.event_time.bounds`.
"""

from collections.abc import Sequence
from dataclasses import replace

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.times import TimeUnit
from pravega_jobs.spark.options import TIME_UNIT_OPTION
from pyspark_pravega.read.columns import TIME_COLUMNS, Columns
from pyspark_pravega.read.plan import Piece

# Spark's timestamps are microseconds, and its years have four digits.
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999


def microseconds(unit: TimeUnit, time: int | None) -> int | None:
    """A time of a stream's writers as Spark counts it.

    Raises:
        ConfigurationError: it is beyond what a timestamp can be: the unit differs.
    """
    if time is None:
        return None
    micros = time * unit // TimeUnit.US
    if not _EARLIEST <= micros <= _LATEST:
        raise ConfigurationError(
            f"a watermark of the stream has the time {time}, which is not a date if it counts {unit.name.lower()} "
            f"since 1970: say by option {TIME_UNIT_OPTION!r} what its writers count in, or leave "
            "out the columns event_time_…"
        )
    return micros


def with_times(
    client: PravegaClient,
    columns: Columns,
    unit: TimeUnit,
    ranges: Sequence[StreamCutRange],
    pieces: list[Piece],
) -> list[Piece]:
    """The pieces with the bounds of the times of their ranges, if a column wants them.

    Raises:
        ConfigurationError: the times are not in this unit.
        PravegaError: the watermarks cannot be read.
    """
    if TIME_COLUMNS.isdisjoint(columns.kinds):
        return pieces
    bounds = {wanted.stream: client.time_bounds(wanted) for wanted in ranges}

    def timed(piece: Piece) -> Piece:
        found = bounds[piece.part.segment.stream]
        return replace(piece, times=(microseconds(unit, found.lower), microseconds(unit, found.upper)))

    return [timed(piece) for piece in pieces]
