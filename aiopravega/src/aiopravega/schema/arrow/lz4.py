"""LZ4's frames, for single events and for blocks of them, with Arrow's library. Bare blocks of LZ4 are not read.

A frame need not say how long its content is. So it is unpacked in pieces, up to the limit. Frames are put together here
out of independent blocks: in Arrow's own frames of more than 64 KiB each block depends on the one before, which Java's
library (lz4-java) refuses.
"""

import struct
from typing import Final

import pyarrow as pa

from aiopravega.errors import MalformedEventError
from aiopravega.sizes import LARGEST_PAYLOAD

_PIECE: Final = 64 * 1024
# The magic number; independent blocks without sums (60) of at most 4 MiB (70); the sum of these two bytes.
_HEAD: Final = bytes.fromhex("04224d18607073")
_LARGEST_BLOCK: Final = 4 * 1024 * 1024
_SIZE: Final = struct.Struct("<I")
_AS_IT_IS: Final = 1 << 31  # in the size of a block: it is not compressed
_END: Final = _SIZE.pack(0)


class Lz4Codec:
    """LZ4's frames."""

    def compress(self, payload: bytes) -> bytes:
        """A frame."""
        parts = [_HEAD]
        for at in range(0, len(payload), _LARGEST_BLOCK):
            block = payload[at : at + _LARGEST_BLOCK]
            packed: bytes = pa.compress(block, codec="lz4_raw", asbytes=True)
            if len(packed) < len(block):
                parts += [_SIZE.pack(len(packed)), packed]
            else:
                parts += [_SIZE.pack(len(block) | _AS_IT_IS), block]
        return b"".join([*parts, _END])

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        """The content of a frame.

        Raises:
            MalformedEventError: it is not a frame, or has more than `limit` bytes.
        """
        if not payload:
            raise MalformedEventError("it is not an LZ4 frame: it is empty")
        content = bytearray()
        try:
            with pa.CompressedInputStream(pa.BufferReader(payload), "lz4") as frame:
                while piece := frame.read(min(_PIECE, limit + 1 - len(content))):
                    content += piece
        except (pa.ArrowException, OSError):
            raise MalformedEventError("it is not an LZ4 frame, or one that is cut off") from None
        if len(content) > limit:
            raise MalformedEventError(f"an LZ4 frame unpacks to more than the limit of {limit} bytes")
        return bytes(content)
