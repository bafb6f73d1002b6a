"""Blocks of events into columns: headers, codecs and several versions of a schema in one block.

A block may have events of several versions. It is sorted by encoding id, all events of an id are decoded together by
their writer's schema into the same columns, and the rows are put back in order.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from aiopravega.errors import CodecNotRegisteredError, MalformedEventError, SchemaNotFoundError
from aiopravega.schema.arrow.arrays import Numbers, pick
from aiopravega.schema.arrow.block import DecodedBlock, PayloadDecoder, Undecodable, good_rows
from aiopravega.schema.arrow.envelope import (
    NO_HEADER,
    Unpacking,
    codec_of,
    encoding_ids,
    select,
    without_header,
)
from aiopravega.schema.open.blocks.targets import Target
from aiopravega.schema.registry.model import Encoding
from aiopravega.sizes import LARGEST_PAYLOAD


class BlockDeserializer:
    """Decodes blocks of events of one group; remembers the decoder of each encoding id.

    Args:
        target: the columns that are wanted.
        encoding_of: gives the meaning of an encoding id, as `EncodingCache.get` does; None if events have no headers.
            It raises `SchemaNotFoundError` for an id that the group does not have.
        type_name: the type to read. Events of other types are bad. None: all types.
        limit: of a payload that was compressed, in bytes.
    """

    def __init__(
        self,
        target: Target,
        encoding_of: Callable[[int], Encoding] | None = None,
        type_name: str | None = None,
        limit: int = LARGEST_PAYLOAD,
    ) -> None:
        self._target = target
        self._limit = limit
        self._encoding_of = encoding_of
        self._type = type_name
        self._decoders: dict[int, PayloadDecoder] = {}

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._target.schema

    def decode(self, events: pa.BinaryArray) -> DecodedBlock:
        """The columns of some events, and the events that could not be decoded.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        if self._encoding_of is None:
            return self._decoder(NO_HEADER).decode(events)
        ids = encoding_ids(events)
        columns: list[list[pa.Array]] = []
        positions: list[Numbers] = []
        bad: dict[int, str] = {}
        for encoding_id in np.unique(ids).tolist() or [NO_HEADER]:
            rows = np.flatnonzero(ids == encoding_id)
            payloads = select(events, rows)
            if encoding_id != NO_HEADER:
                payloads = without_header(payloads)
            block = self._decoder(encoding_id).decode(payloads)
            columns.append(block.columns)
            positions.append(rows[good_rows(len(rows), block.bad)])
            bad |= {int(rows[row]): why for row, why in block.bad.items()}
        if len(columns) == 1:
            return DecodedBlock(columns[0], bad)
        order = np.argsort(np.concatenate(positions))
        return DecodedBlock([pick(pa.concat_arrays(parts), order) for parts in zip(*columns, strict=True)], bad)

    def batch(self, events: pa.BinaryArray) -> pa.RecordBatch:
        """The rows of some events.

        Raises:
            MalformedEventError: one cannot be decoded; `at` is its number among them.
            PravegaError: the registry cannot be asked.
        """
        block = self.decode(events)
        if block.bad:
            first = min(block.bad)
            raise MalformedEventError(f"event {first} of {len(events)} cannot be decoded: {block.bad[first]}", at=first)
        return pa.RecordBatch.from_arrays(block.columns, schema=self.schema)

    def _decoder(self, encoding_id: int) -> PayloadDecoder:
        if encoding_id not in self._decoders:
            self._decoders[encoding_id] = self._make(encoding_id)
        return self._decoders[encoding_id]

    def _make(self, encoding_id: int) -> PayloadDecoder:
        """The decoder of an encoding; it refuses the events of an encoding that cannot be read here."""
        target = self._target
        if self._encoding_of is None:
            return target.decoder(None)
        if encoding_id == NO_HEADER:
            if target.format == "Avro":
                return self._refusing("it has no header of a Schema Registry, and Avro needs its writer's schema")
            return target.decoder(None)
        try:
            encoding = self._encoding_of(encoding_id)
            codec = codec_of(encoding.codec_type.name)
        except (SchemaNotFoundError, CodecNotRegisteredError) as error:
            return self._refusing(str(error))
        info = encoding.schema_info
        if info.format != target.format or self._type not in (None, info.type):
            return self._refusing(
                f"it is of type {info.type} ({info.format}), but {self._type or 'any'} ({target.format}) is read"
            )
        decoder = target.decoder(info.schema_data)
        return decoder if codec is None else Unpacking(codec, decoder, self._limit)

    def _refusing(self, reason: str) -> PayloadDecoder:
        return Undecodable(reason, tuple(self._target.schema.types))
