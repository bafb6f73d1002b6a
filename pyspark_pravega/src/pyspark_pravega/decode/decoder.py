"""What a read expects of decoding: a plan that is made once on the driver, and a decoder in each task.

The formats stand behind these interfaces; nothing here knows one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from aiopravega.names import SegmentId


@dataclass(frozen=True, slots=True)
class Decoded:
    """The events of one batch as columns.

    `columns` are those of the plan's schema, in its order. `taken` has for each row the position of its event, in
    ascending order; an event may have no row, or several. None says that each event has one. `corrupt` has the bytes of
    the events that could not be decoded, and null in the rows of others; it is needed only where the plan has
    `keeps_corrupt`.
    """

    columns: list[pa.Array]
    taken: npt.NDArray[np.int64] | None = None
    corrupt: pa.BinaryArray | None = None


class Decoder(Protocol):
    """Decodes the events of one task; it may keep what it has learned from batch to batch."""

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The columns of some events of a segment, of which each lies at the offset (in bytes) that is given.

        Raises:
            PravegaError: an event cannot be decoded; the message names segment and offset.
        """

    def finish(self, segment: SegmentId) -> None:
        """Say in the log what the task did with events that could not be decoded."""


class DecodePlan(Protocol):
    """How the events of a read become columns; it travels to the tasks."""

    @property
    def schema(self) -> StructType:
        """The decoded fields, as Spark's types."""

    @property
    def arrow_schema(self) -> pa.Schema:
        """The same as Arrow's types: what Spark expects of the batches."""

    @property
    def keeps_corrupt(self) -> bool:
        """Whether events that cannot be decoded become rows with their bytes in a column of their own."""

    @property
    def pinned(self) -> Mapping[str, str]:
        """Options by which a later read has the same fields, whatever the registry has learned since."""

    def decoder(self) -> Decoder:
        """A decoder for one task."""
