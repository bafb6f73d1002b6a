"""Columns about the position of an event: of a raw read, and what the option `metadata_columns` names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from aiopravega.schema.arrow.arrays import borders_of, numbers, pick, repeated, text_scalar
from aiopravega.wire import EVENT_HEADER
from pravega_jobs.decoding.plan import DecodePlan, check_clashes

_EVENT: Final = "event"
_RAW: Final = (_EVENT, "scope", "stream", "segment_id", "offset")
_TYPES: Final = {
    _EVENT: pa.binary(),
    "event_pointer": pa.string(),
    "scope": pa.string(),
    "stream": pa.string(),
    "segment": pa.string(),
    "segment_id": pa.int64(),
    "offset": pa.int64(),
}
_NAMES: Final = tuple(name for name in _TYPES if name != _EVENT)


@dataclass(frozen=True, slots=True)
class PositionColumns:
    """The columns of a read beside the fields of its events: a kind for each, and its name with the prefix."""

    kinds: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, asked: Sequence[str], prefix: str, plan: DecodePlan | None) -> Self:
        """The columns that option `metadata_columns` names; a raw read has five others already.

        Raises:
            ConfigurationError: a name is unknown, or a decoded field has it.
        """
        unknown = [name for name in asked if name not in _NAMES]
        if unknown:
            raise ConfigurationError(
                f"option 'metadata_columns' has {', '.join(unknown)}, but must be some of {', '.join(_NAMES)}, or of "
                "the columns about changes if change events are decoded; Spark has the columns of event times"
            )
        more = tuple(name for name in asked if plan is not None or name not in _RAW)
        names = tuple(prefix + name for name in more)
        if plan is None:
            return cls((*_RAW, *more), (*_RAW, *names))
        check_clashes(names if plan.kept is None else (*names, plan.kept), plan.schema.names)
        return cls(more, names)

    @property
    def fields(self) -> list[pa.Field]:
        """The names and types of the columns."""
        return [pa.field(name, _TYPES[kind]) for name, kind in zip(self.names, self.kinds, strict=True)]

    def columns(
        self,
        events: pa.BinaryArray,
        offsets: npt.NDArray[np.int64],
        segment: SegmentId,
        taken: npt.NDArray[np.int64] | None,
    ) -> list[pa.Array]:
        """The columns of some events of a segment; `taken` has the event of each row, None stands for all events."""
        if not self.kinds:
            return []
        if taken is not None:
            events, offsets = pick(events, taken), offsets[taken]
        return [_column(kind, events, offsets, segment) for kind in self.kinds]


def _column(kind: str, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> pa.Array:
    match kind:
        case "event":
            return events
        case "offset":
            return numbers(offsets, pa.int64())
        case "segment_id":
            return numbers(np.full(len(events), segment.to_int(), np.int64), pa.int64())
        case "event_pointer":
            sizes = np.diff(borders_of(events)).astype(np.int64) + EVENT_HEADER
            starts, lengths = (numbers(values, pa.int64()).cast(pa.string()) for values in (offsets, sizes))
            joined = text_scalar(f"{segment}:"), starts, text_scalar("-"), lengths, text_scalar("")
            return pc.binary_join_element_wise(*joined)
    texts = {"scope": segment.stream.scope, "stream": segment.stream.stream, "segment": str(segment)}
    return repeated(texts[kind], len(events))
