"""Hashes of rows, for the fingerprint of a partition, computed on whole arrays.

A row is an event and the position of its routing key; a stream does not store the key itself. Each event is hashed by
murmur3; the rest is arithmetic on arrays. Events are hashed in pieces that fit into the processor's caches.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import mmh3
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import wire
from aiopravega.ledger import Fingerprint

Hashes = npt.NDArray[np.uint64]
_WORD: Final = np.dtype("<u8")
_PIECE_BYTES: Final = 128 * 1024
# Stands for the position of a row without a key: the bits of a position never have this value.
_KEYLESS: Final = np.uint64(2**64 - 1)
_ODD: Final = np.uint64(1)


def row_hashes(events: pa.BinaryArray, positions: npt.NDArray[np.float64] | None) -> Hashes:
    """A hash of 64 bits for each row; `positions` has the position of its routing key, NaN for a row without one."""
    halves = np.frombuffer(b"".join(_digests(events)), _WORD).reshape(-1, 2)
    keys: Hashes | np.uint64 = _KEYLESS
    if positions is not None:
        keys = np.where(np.isnan(positions), _KEYLESS, positions.view(_WORD))
    hashes: Hashes = (halves[:, 0] ^ keys) * (halves[:, 1] | _ODD)
    return hashes


def _digests(events: pa.BinaryArray) -> Iterable[bytes]:
    pieces = -(-events.nbytes // _PIECE_BYTES) or 1
    rows = -(-len(events) // pieces) or 1
    for start in range(0, len(events), rows):
        piece = events.slice(start, rows).to_numpy(zero_copy_only=False)
        yield b"".join(map(mmh3.mmh3_x64_128_digest, piece))


class RowTally:
    """Counts and hashes the rows of one partition as they pass."""

    def __init__(self) -> None:
        self.fingerprint = Fingerprint()
        self._in_order = hashlib.blake2b(digest_size=8)

    def add(self, events: pa.BinaryArray, positions: npt.NDArray[np.float64] | None) -> None:
        """Add rows; see `row_hashes`."""
        hashes = row_hashes(events, positions)
        size = (pc.sum(pc.binary_length(events)).as_py() or 0) + len(events) * wire.EVENT_HEADER
        self.fingerprint += Fingerprint(len(events), size, int(hashes.sum(dtype=np.uint64)))
        self._in_order.update(np.ascontiguousarray(hashes).data)

    @property
    def checksum(self) -> str:
        """A checksum of all rows in their order, independent of batches and segments."""
        return self._in_order.hexdigest()
