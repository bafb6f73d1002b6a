"""Snappy's raw blocks by Arrow's library, for single events and for blocks of them.

The registry's serializers use this format under the name of the framed one.
"""

from typing import Final

import pyarrow as pa

from aiopravega.errors import MalformedEventError
from aiopravega.sizes import LARGEST_PAYLOAD

# The content's length comes first: seven bits in each byte, and one bit that says that another byte follows.
_BITS: Final = 7
_MORE: Final = 1 << _BITS
_LENGTH_BYTES: Final = 5


class SnappyCodec:
    """Snappy's raw blocks."""

    def compress(self, payload: bytes) -> bytes:
        """A block."""
        packed: bytes = pa.compress(payload, codec="snappy", asbytes=True)
        return packed

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        """The content of a block.

        Raises:
            MalformedEventError: it is not a block, or has more than `limit` bytes.
        """
        size = _content_size(payload)
        if size > limit:
            raise MalformedEventError(f"a Snappy block unpacks to {size} bytes, more than the limit of {limit}")
        try:
            content: bytes = pa.decompress(payload, size, codec="snappy", asbytes=True)
        except (pa.ArrowException, OSError):
            raise MalformedEventError("it is not a Snappy block") from None
        return content


def _content_size(block: bytes) -> int:
    size = 0
    for at, byte in enumerate(block[:_LENGTH_BYTES]):
        size |= byte % _MORE << _BITS * at
        if byte < _MORE:
            return size
    raise MalformedEventError("a Snappy block has no length")
