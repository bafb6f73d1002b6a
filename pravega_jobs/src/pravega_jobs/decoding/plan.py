"""Interfaces of decoding for a read: a plan that is made once on the driver, and a decoder in each task.

The formats implement these interfaces; this module knows no format.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId


@dataclass(frozen=True, slots=True)
class Decoded:
    """The events of one batch as columns.

    `columns` are the columns of the plan's schema, in its order. `taken` has for each row the position of its event, in
    ascending order; an event may have no row, or several. None says that each event has one. `kept` is the column of
    events that could not be decoded, null in other rows; it is needed only where the plan has one.
    """

    columns: list[pa.Array]
    taken: npt.NDArray[np.int64] | None = None
    kept: pa.Array | None = None


class Decoder(Protocol):
    """Decodes the events of one task; it may keep data from batch to batch, such as schemas."""

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The columns of some events of a segment; `offsets` has the offset of each event, in bytes.

        Raises:
            PravegaError: an event cannot be decoded; the message names segment and offset.
        """

    def add(self, other: Self) -> None:
        """Count what another decoder of the same plan has counted, in another thread."""

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task what it did with events that could not be decoded."""


class CountingDecoder(Protocol):
    """Finds the events that cannot be decoded, for those who count them."""

    def bad(self, events: pa.BinaryArray, segment: SegmentId) -> Mapping[int, str]:
        """The events that cannot be decoded, by their numbers, with the reasons; the rule `on_error` is not asked.

        Raises:
            PravegaError: the registry does not answer.
        """


class DecodePlan(Protocol):
    """The plan by which the events of a read become columns; it is sent to the tasks."""

    @property
    def schema(self) -> pa.Schema:
        """The decoded fields."""

    @property
    def kept(self) -> str | None:
        """The column of events that cannot be decoded, which is one of `KEPT`; None: they have no rows."""

    @property
    def pinned(self) -> Mapping[str, str]:
        """Options by which a later read has the same fields, although the registry has newer schemas."""

    def decoder(self) -> Decoder:
        """A decoder for one task."""


def check_clashes(names: Sequence[str], fields: Collection[str]) -> None:
    """Refuse columns that have the names of fields, in any case.

    Raises:
        ConfigurationError: a field is named as a column.
    """
    taken = {name.lower() for name in fields}
    clashing = [name for name in names if name.lower() in taken]
    if clashing:
        raise ConfigurationError(
            f"the events have fields that are named as columns of the read: {', '.join(clashing)}. Give option "
            "'metadata_prefix', which is put in front of the names of metadata columns, ask for fewer of them, or read "
            "the events raw and decode them in Spark"
        )
