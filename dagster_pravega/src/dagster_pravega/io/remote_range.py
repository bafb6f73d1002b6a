"""Ranges of a stream that another process reads: the value of an input of the type `HandedRange`.

The range is found and recorded as for every other input. The process reports the events that it has read.
"""

from dataclasses import dataclass

from dagster import InputContext

from aiopravega.errors import ConfigurationError
from dagster_pravega.io.range_read import RangeRead
from dagster_pravega.metadata.columns import COLUMNS_KEY
from dagster_pravega.metadata.steps import input_name, input_type
from dagster_pravega.partitions.input_range import InputRange
from pravega_jobs.remote.orders import InputOrder, RangeOrder


@dataclass(slots=True)
class ReportedCount:
    """The events that the other process has counted; None: it has not read all of them, or has not reported yet."""

    reported: int | None = None

    def events(self) -> int | None:
        """The reported number."""
        return self.reported


@dataclass(frozen=True)
class HandedRange(RangeRead):
    """The value of an input with this type: ranges that another process reads, by `hand_over`.

    The process of the step needs neither Spark nor Arrow.
    """

    count: ReportedCount
    name: str

    def order(self) -> InputOrder:
        """The ranges in the form that is sent to the process."""
        pieces = tuple(RangeOrder(piece.cuts, piece.size, piece.times) for piece in self.ranges.pieces)
        return InputOrder(self.stream, pieces, self.ranges.options)


def is_handed(context: InputContext) -> bool:
    """Return True if another process reads the input."""
    return input_type(context) is HandedRange


def handed_range(context: InputContext, ranges: InputRange) -> HandedRange:
    """The ranges of an input, for another process.

    Raises:
        ConfigurationError: the metadata of the `AssetIn` name columns; the process must select them.
    """
    if COLUMNS_KEY in context.definition_metadata:
        raise ConfigurationError(
            f"the metadata {COLUMNS_KEY!r} of {input_name(context)} are not known to the process that reads it: leave "
            "them out, and select the columns of the DataFrame in that process"
        )
    return HandedRange(ranges, ReportedCount(), context.name)
