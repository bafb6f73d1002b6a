"""Decoding as a read sees it: a plan from the driver, and decoders that turn batches of events into columns.

The formats' package decodes; `failures` handles events that cannot be decoded.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from aiopravega.names import SegmentId, StreamName
from aiopravega.schema.arrow.block import DecodedBlock
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import Target
from aiopravega.sizes import LARGEST_PAYLOAD
from pyspark_pravega.decode.decode_options import OnError
from pyspark_pravega.decode.decoder import Decoded
from pyspark_pravega.decode.failures import Failures

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiopravega.schema import GroupId, RegistryConfig
    from aiopravega.schema.registry.model import Encoding


@dataclass(frozen=True, slots=True)
class Registered:
    """Where the schemas of headers are: the groups of the streams, and the schema with which events are read.

    `largest_payload` is the limit, in bytes, of what compressed payloads unpack to.
    """

    config: "RegistryConfig"
    groups: dict[StreamName, "GroupId"]
    type: str
    version: int
    largest_payload: int = LARGEST_PAYLOAD

    def encoding_of(self, stream: StreamName) -> "Callable[[int], Encoding]":
        """What says for what an encoding id of a stream's events stands, in this process."""
        from pyspark_pravega.decode.registries import registry_of

        registry, group = registry_of(self.config), self.groups[stream]
        return lambda encoding_id: registry.encodings.get(group, encoding_id)

    def deserializer(self, stream: StreamName, target: Target, type_name: str | None) -> BlockDeserializer:
        """What makes columns of a stream's events that are of this type; None: of any type."""
        return BlockDeserializer(target, self.encoding_of(stream), type_name, self.largest_payload)

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same schema, whatever the registry has learned since."""
        return {"schema_type": self.type, "schema_version": str(self.version)}


@dataclass(frozen=True, slots=True)
class TypedPlan:
    """How the events of a read become columns; `schema` has them as Spark's types.

    `registered` is None if events have no headers.
    """

    target: Target
    schema: StructType
    on_error: OnError
    registered: Registered | None = None

    @property
    def arrow_schema(self) -> pa.Schema:
        """The decoded fields as Arrow's types."""
        return self.target.schema

    @property
    def keeps_corrupt(self) -> bool:
        """Whether events that cannot be decoded become rows of nulls, with their bytes."""
        return self.on_error is OnError.NULL

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same fields, whatever the registry has learned since."""
        return self.registered.pinned if self.registered else {}

    def decoder(self) -> "TypedDecoder":
        """A decoder for one task."""
        return TypedDecoder(self)


class TypedDecoder:
    """Decodes the events of one task."""

    def __init__(self, plan: TypedPlan) -> None:
        self._plan = plan
        self._deserializers: dict[StreamName, BlockDeserializer] = {}
        self._failures = Failures(plan.on_error, plan.target.format)

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The columns of some events of a segment, of which each lies at the offset (in bytes) that is given.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
            PravegaError: the registry cannot be asked.
        """
        block = self._block(events, segment.stream)
        return self._failures.apply(block.columns, None, block.bad, events, offsets, segment)

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task how many events were dropped."""
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
