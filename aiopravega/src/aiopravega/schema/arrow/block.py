"""Decoding of a block of payloads of one schema: columns of the good ones, a reason for each bad one.

`decode_or_search` finds the bad events for decoders that can only fail as a whole. Formats and registries are not known
here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DecodedBlock:
    """Decoded payloads: `columns` has the good ones in order, `bad` the reason for each of the others, by its row."""

    columns: list[pa.Array]
    bad: dict[int, str] = field(default_factory=dict)


class PayloadDecoder(Protocol):
    """Decodes payloads that were all written with one schema."""

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The columns of some payloads."""

    def trim(self, payload: bytes) -> bytes:
        """A payload without the zero bytes that Java's codecs leave at its end."""


@dataclass(frozen=True, slots=True)
class Undecodable:
    """The decoder for a schema whose events cannot be read at all."""

    reason: str
    types: tuple[pa.DataType, ...]

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """No rows."""
        return DecodedBlock(
            [pa.nulls(0, kind) for kind in self.types], dict.fromkeys(range(len(payloads)), self.reason)
        )

    def trim(self, payload: bytes) -> bytes:
        """The same."""
        return payload


class BlockError(Exception):
    """A payload of a block cannot be decoded; the text has the reason, but not always the payload."""


def decode_or_search(payloads: pa.BinaryArray, decode: Callable[[pa.BinaryArray], list[pa.Array]]) -> DecodedBlock:
    """Decode all at once; if that fails, halve the block until each bad payload is alone.

    Args:
        payloads: the payloads to decode.
        decode: raises `BlockError` if any payload is bad.
    """
    try:
        return DecodedBlock(decode(payloads))
    except BlockError as error:
        if len(payloads) == 1:
            return DecodedBlock(decode(payloads.slice(0, 0)), {0: str(error)})
    half = len(payloads) // 2
    first = decode_or_search(payloads.slice(0, half), decode)
    second = decode_or_search(payloads.slice(half), decode)
    columns = [pa.concat_arrays(both) for both in zip(first.columns, second.columns, strict=True)]
    return DecodedBlock(columns, first.bad | {half + row: why for row, why in second.bad.items()})


def good_rows(count: int, bad: dict[int, str]) -> "np.typing.NDArray[np.int64]":
    """The rows of a block of `count` payloads that are not bad."""
    good = np.ones(count, np.bool_)
    good[list(bad)] = False
    return np.flatnonzero(good)
