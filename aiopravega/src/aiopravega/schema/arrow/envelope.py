"""Headers and codecs around the payloads that registry serializers wrote.

Events are sorted by encoding id with operations on whole batches; only compressed events are touched one by one.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import MalformedEventError
from aiopravega.schema.arrow.arrays import Numbers, borders_of, pick, values_of
from aiopravega.schema.arrow.block import DecodedBlock, PayloadDecoder
from aiopravega.schema.registry.codecs import NONE, Codec, codec_named
from aiopravega.schema.registry.header import HEADER_BYTES, PROTOCOL
from aiopravega.sizes import LARGEST_PAYLOAD

# Without an explicit end, PyArrow 26 fails to cut ("Negative buffer resize").
_TO_THE_END: Final = 2**31 - 1
NO_HEADER: Final = -1
# Unpacked bytes of one block: half of what Arrow's arrays of bytes and strings hold.
LARGEST_BLOCK: Final = 1024 * 1024 * 1024


def codec_of(name: str) -> Codec | None:
    """The codec of a name; None if the name is empty.

    Raises:
        CodecNotRegisteredError: the codec is not known.
    """
    return None if name == NONE else codec_named(name)


def encoding_ids(events: pa.BinaryArray) -> Numbers:
    """The encoding id of each event, `NO_HEADER` for an event without a header."""
    borders = borders_of(events).astype(np.int64)
    start = borders[:-1]
    buffer = events.buffers()[2]
    if not len(start) or buffer is None or not buffer.size:
        return np.full(len(start), NO_HEADER, np.int64)
    data = np.frombuffer(buffer, np.uint8)
    with_header = (borders[1:] - start >= HEADER_BYTES) & (data.take(start, mode="clip") == PROTOCOL)
    ids = np.zeros(len(start), np.int64)
    for index in range(1, HEADER_BYTES):
        ids = ids << 8 | data.take(start + index, mode="clip")
    # An id is a signed int32, and the registry gives out no negative ones.
    return np.where(with_header & (ids <= np.iinfo(np.int32).max), ids, NO_HEADER)


def without_header(events: pa.BinaryArray) -> pa.BinaryArray:
    """The payloads after the headers."""
    return pc.binary_slice(events, HEADER_BYTES, _TO_THE_END)


@dataclass(frozen=True, slots=True)
class Unpacking:
    """Decodes compressed payloads, some at a time, so that few small events cannot fill the memory.

    Args:
        codec: unpacks.
        inner: decodes the unpacked payloads.
        limit: the largest number of bytes of one payload.
        most: the largest number of bytes of all payloads of a block; payloads beyond it are bad events.
    """

    codec: Codec
    inner: PayloadDecoder
    limit: int = LARGEST_PAYLOAD
    most: int = LARGEST_BLOCK

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The columns of the payloads inside."""
        bad: dict[int, str] = {}
        parts: list[list[pa.Array]] = []
        total = 0
        rows: list[int] = []
        unpacked: list[bytes] = []
        waiting = 0  # bytes
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                content = self._unpack(payload, self.most - total)
            except MalformedEventError as error:
                bad[row] = str(error)
                continue
            total += len(content)
            if waiting + len(content) > LARGEST_PAYLOAD:
                parts.append(self._decode(rows, unpacked, bad))
                rows, unpacked, waiting = [], [], 0
            rows.append(row)
            unpacked.append(content)
            waiting += len(content)
        parts.append(self._decode(rows, unpacked, bad))
        return DecodedBlock([pa.concat_arrays(column) for column in zip(*parts, strict=True)], bad)

    def _unpack(self, payload: bytes, room: int) -> bytes:
        content = self.codec.decompress(payload, self.limit)
        if len(content) > self.limit:  # by a codec that was registered, and has no limit
            raise MalformedEventError(f"it unpacks to more than the limit of {self.limit} bytes")
        if len(content) > room:
            raise MalformedEventError(f"its block of events unpacks to more than {self.most} bytes")
        return self.inner.trim(content)

    def _decode(self, rows: list[int], unpacked: list[bytes], bad: dict[int, str]) -> list[pa.Array]:
        """The columns of some payloads, which were in these rows; adds the bad ones to `bad`."""
        block = self.inner.decode(values_of(unpacked, pa.binary()))
        bad |= {rows[row]: why for row, why in block.bad.items()}
        return block.columns

    def trim(self, payload: bytes) -> bytes:
        """The same."""
        return payload


def select(events: pa.BinaryArray, rows: Numbers) -> pa.BinaryArray:
    """Some of the events."""
    return events if len(rows) == len(events) else pick(events, rows)
