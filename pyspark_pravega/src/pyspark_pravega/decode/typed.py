"""Decoding as a read sees it: a plan from the driver, and decoders that turn batches of events into columns.

Events of several versions stand side by side in a segment. A decoder sorts a batch by encoding id, decodes each kind
at once by its writer's schema into the same columns, and puts the rows back in order.
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from aiopravega.errors import CodecNotRegisteredError, MalformedEventError, SchemaNotFoundError
from aiopravega.names import SegmentId, StreamName
from pyspark_pravega.decode.arrays import Numbers, booleans, pick, spread
from pyspark_pravega.decode.block import Block, PayloadDecoder, Undecodable, good_rows
from pyspark_pravega.decode.decoder import Decoded
from pyspark_pravega.decode.options import OnError
from pyspark_pravega.decode.targets import Target, arrow_schema, types_of

if TYPE_CHECKING:
    from aiopravega.schema import GroupId, RegistryConfig

logger = logging.getLogger(__name__)
# Of a reason that is shown; a schema's or a library's can be as long as its input.
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Registered:
    """Where the schemas of headers are: the groups of the streams, and the schema with which events are read."""

    config: "RegistryConfig"
    groups: dict[StreamName, "GroupId"]
    type: str
    version: int


@dataclass(frozen=True, slots=True)
class TypedPlan:
    """How the events of a read become columns. `registered` is None if events have no headers."""

    target: Target
    on_error: OnError
    registered: Registered | None = None

    @property
    def schema(self) -> StructType:
        """The decoded fields."""
        return self.target.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The decoded fields as Arrow's types."""
        return arrow_schema(self.target.schema)

    @property
    def keeps_corrupt(self) -> bool:
        """Whether events that cannot be decoded become rows of nulls, with their bytes."""
        return self.on_error is OnError.NULL

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same fields, whatever the registry has learned since."""
        found = self.registered
        return {"schema_type": found.type, "schema_version": str(found.version)} if found else {}

    def decoder(self) -> "TypedDecoder":
        """A decoder for one task."""
        return TypedDecoder(self)


class TypedDecoder:
    """Decodes the events of one task; remembers the decoder of each encoding id."""

    def __init__(self, plan: TypedPlan) -> None:
        self._plan = plan
        self._types = types_of(plan.target.schema)
        self._decoders: dict[tuple[StreamName, int] | None, PayloadDecoder] = {}
        self._dropped = 0

    def decode(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> Decoded:
        """The columns of some events of a segment, of which each lies at the offset (in bytes) that is given.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
            PravegaError: the registry cannot be asked.
        """
        block = self._by_encoding(events, segment.stream) if self._plan.registered else self._plain(events)
        if not block.bad:
            corrupt = pa.nulls(len(events), pa.binary()) if self._plan.keeps_corrupt else None
            return Decoded(block.columns, None, corrupt)
        first = min(block.bad)
        reason = f"cannot be decoded as {self._plan.target.format}: {block.bad[first][:_SHOWN]}"
        if self._plan.on_error is OnError.FAIL:
            at = int(offsets[first])
            raise MalformedEventError(
                f"{segment}: the event at offset {at} {reason}. Option on_error=null keeps such events in a column "
                "_corrupt_event, on_error=drop leaves them out",
                at=at,
            )
        good = good_rows(len(events), block.bad)
        if self._plan.on_error is OnError.DROP:
            if not self._dropped:
                logger.warning("%s: dropped the event at offset %d, which %s", segment, offsets[first], reason)
            self._dropped += len(block.bad)
            kept = np.zeros(len(events), np.bool_)
            kept[good] = True
            return Decoded(block.columns, booleans(kept))
        bad = np.array(sorted(block.bad), np.int64)
        corrupt = spread(pick(events, bad), bad, len(events))
        return Decoded([spread(column, good, len(events)) for column in block.columns], None, corrupt)

    def finish(self, segment: SegmentId) -> None:
        """Tell at the end of a task how many events were dropped."""
        if self._dropped:
            logger.warning(
                "%s: dropped %d events that cannot be decoded as %s", segment, self._dropped, self._plan.target.format
            )

    def _plain(self, events: pa.BinaryArray) -> Block:
        """Events that are payloads only, written with the schema that they are read with."""
        if None not in self._decoders:
            self._decoders[None] = self._plan.target.decoder(None)
        return self._decoders[None].decode(events)

    def _by_encoding(self, events: pa.BinaryArray, stream: StreamName) -> Block:
        from pyspark_pravega.decode.envelope import NO_HEADER, encoding_ids, select, without_header

        ids = encoding_ids(events)
        columns: list[list[pa.Array]] = []
        places: list[Numbers] = []
        bad: dict[int, str] = {}
        for encoding_id in np.unique(ids).tolist() or [NO_HEADER]:
            rows = np.flatnonzero(ids == encoding_id)
            payloads = select(events, rows)
            if encoding_id != NO_HEADER:
                payloads = without_header(payloads)
            block = self._of_encoding(stream, encoding_id).decode(payloads)
            columns.append(block.columns)
            places.append(rows[good_rows(len(rows), block.bad)])
            bad |= {int(rows[row]): why for row, why in block.bad.items()}
        if len(columns) == 1:
            return Block(columns[0], bad)
        order = np.argsort(np.concatenate(places))
        return Block([pick(pa.concat_arrays(parts), order) for parts in zip(*columns, strict=True)], bad)

    def _of_encoding(self, stream: StreamName, encoding_id: int) -> PayloadDecoder:
        key = stream, encoding_id
        if key not in self._decoders:
            self._decoders[key] = self._make(stream, encoding_id)
        return self._decoders[key]

    def _make(self, stream: StreamName, encoding_id: int) -> PayloadDecoder:
        """The decoder of an encoding; one that refuses, if its events are of no use here."""
        from pyspark_pravega.decode.envelope import NO_HEADER, Unpacking, codec_of
        from pyspark_pravega.decode.registries import registry_of

        target, registered = self._plan.target, self._plan.registered
        assert registered is not None
        if encoding_id == NO_HEADER:
            if target.format == "Avro":
                return self._refusing("it has no header of a Schema Registry, and Avro needs its writer's schema")
            return target.decoder(None)
        group = registered.groups[stream]
        try:
            encoding = registry_of(registered.config).encoding(group, encoding_id)
            codec = codec_of(encoding.codec_type.name)
        except (SchemaNotFoundError, CodecNotRegisteredError) as error:
            return self._refusing(str(error))
        info = encoding.schema_info
        if info.format != target.format or info.type != registered.type:
            return self._refusing(
                f"it is of type {info.type} ({info.format}), but {registered.type} ({target.format}) is read: choose "
                "with option 'schema_type'"
            )
        decoder = target.decoder(info.schema_data)
        return decoder if codec is None else Unpacking(codec, decoder)

    def _refusing(self, reason: str) -> PayloadDecoder:
        return Undecodable(reason, self._types)
