"""Decoding in a read: a plan from the driver, and decoders that turn batches of events into columns.

`aiopravega.schema` decodes each format; `failures` handles events that cannot be decoded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.names import SegmentId, StreamName
from aiopravega.schema.arrow.block import DecodedBlock
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import Target
from pravega_jobs.decoding.failures import Failures
from pravega_jobs.decoding.options import OnError
from pravega_jobs.decoding.plan import Decoded
from pravega_jobs.decoding.registries import Registered


@dataclass(frozen=True, slots=True)
class TypedPlan:
    """The plan by which the events of a read become columns; `registered` is None if events have no headers."""

    target: Target
    on_error: OnError
    registered: Registered | None = None

    @property
    def schema(self) -> pa.Schema:
        """The decoded fields."""
        return self.target.schema

    @property
    def kept(self) -> str | None:
        """The column of events that cannot be decoded; None: they have no rows."""
        return self.on_error.kept

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same fields, although the registry has newer schemas."""
        return self.registered.pinned if self.registered else {}

    def decoder(self) -> "TypedDecoder":
        """A decoder for one task."""
        return TypedDecoder(self)


class TypedDecoder:
    """Decodes the events of one task."""

    def __init__(self, plan: TypedPlan) -> None:
        self._plan = plan
        self._deserializers: dict[StreamName, BlockDeserializer] = {}
        self._failures = Failures(plan.on_error, plan.target.format, has_headers=plan.registered is not None)

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The columns of some events of a segment; `offsets` has the offset of each event, in bytes.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
            PravegaError: the registry does not answer.
        """
        block = self._block(events, segment.stream)
        return self._failures.apply(block.columns, None, block.bad, events, offsets, segment)

    def bad(self, events: pa.BinaryArray, segment: SegmentId) -> Mapping[int, str]:
        """The events that cannot be decoded, by their numbers, with the reasons; the rule `on_error` is not asked.

        Raises:
            PravegaError: the registry does not answer.
        """
        return self._block(events, segment.stream).bad

    def add(self, other: Self) -> None:
        """Count what another decoder of the same plan has counted."""
        self._failures.add(other._failures)

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task the number of dropped events."""
        self._failures.finish(segment)

    def _block(self, events: pa.BinaryArray, stream: StreamName) -> DecodedBlock:
        if stream not in self._deserializers:
            self._deserializers[stream] = self._make(stream)
        return self._deserializers[stream].decode(events)

    def _make(self, stream: StreamName) -> BlockDeserializer:
        target, registered = self._plan.target, self._plan.registered
        if registered is None:
            return BlockDeserializer(target)
        return registered.deserializer(stream, target, registered.type)
