"""Ranges of a stream that another process reads: what an input gets that is of the type `HandedRange`.

Which range it is, the cut ledger has recorded, as for every other input. What the process has read, it reports.
"""

from dataclasses import dataclass

from dagster import InputContext

from aiopravega.errors import ConfigurationError
from dagster_pravega.io.range_read import RangeRead
from dagster_pravega.metadata.columns import COLUMNS_KEY
from dagster_pravega.partitions.input_range import InputRange
from pravega_jobs.remote.orders import HandedInput, HandedPiece


@dataclass(slots=True)
class ReportedCount:
    """The events that the other process has counted; None: it has not read all of them, or has not reported yet."""

    found: int | None = None

    def events(self) -> int | None:
        """What was reported."""
        return self.found


@dataclass(frozen=True)
class HandedRange(RangeRead):
    """What an input gets whose type is this class: ranges that another process reads, by `hand_over`.

    Spark and Arrow are not needed where the step runs.
    """

    count: ReportedCount
    name: str

    def handed(self) -> HandedInput:
        """The ranges as the process gets them."""
        pieces = tuple(HandedPiece(piece.cuts, piece.size, piece.times) for piece in self.ranges.pieces)
        return HandedInput(self.stream, pieces, self.ranges.options)


def is_handed(context: InputContext) -> bool:
    """Whether the input is read by another process."""
    return context.dagster_type.typing_type is HandedRange


def handed_range(context: InputContext, found: InputRange) -> HandedRange:
    """The ranges of an input, for another process.

    Raises:
        ConfigurationError: the metadata of the `AssetIn` name columns, which the process selects itself.
    """
    if COLUMNS_KEY in context.definition_metadata:
        raise ConfigurationError(
            f"the metadata {COLUMNS_KEY!r} of input {context.name!r} are not known to the process that reads it: leave "
            "them out, and select the columns of the DataFrame there"
        )
    return HandedRange(found, ReportedCount(), context.name)
