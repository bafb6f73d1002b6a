"""MurmurHash3 (128 bit, x64) with a seed of 64 bits; libraries take 32 bits only.

Guava, which Pravega's Java client hashes with, extends its 32-bit seed by its sign to both words of the state. For a
seed that is not negative every library gives the same; the seed of key-value tables is negative.
"""

import struct
from typing import Final

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_C1: Final = 0x87C3_7B91_1142_53D5
_C2: Final = 0x4CF5_AD43_2745_937F
_BLOCK: Final = struct.Struct("<QQ")


def first_half(data: bytes, seed: int) -> int:
    """The first 64 bits of the hash, as an unsigned number; `seed` is signed, of 32 bits."""
    h1 = h2 = seed & _MASK
    whole = len(data) - len(data) % _BLOCK.size
    for k1, k2 in _BLOCK.iter_unpack(data[:whole]):
        h1 ^= _scrambled(k1, _C1, 31, _C2)
        h1 = ((_rotated(h1, 27) + h2) * 5 + 0x52DC_E729) & _MASK
        h2 ^= _scrambled(k2, _C2, 33, _C1)
        h2 = ((_rotated(h2, 31) + h1) * 5 + 0x3849_5AB5) & _MASK
    k1, k2 = _BLOCK.unpack(data[whole:].ljust(_BLOCK.size, b"\0"))
    h1 ^= _scrambled(k1, _C1, 31, _C2)
    h2 ^= _scrambled(k2, _C2, 33, _C1)
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return (_finished(h1) + _finished(h2)) & _MASK


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _scrambled(word: int, before: int, bits: int, after: int) -> int:
    return (_rotated((word * before) & _MASK, bits) * after) & _MASK


def _finished(value: int) -> int:
    value = ((value ^ (value >> 33)) * 0xFF51_AFD7_ED55_8CCD) & _MASK
    value = ((value ^ (value >> 33)) * 0xC4CE_B9FE_1A85_EC53) & _MASK
    return value ^ (value >> 33)
