"""Ends of single values, found byte by byte: for long arrays, whose items cannot be read together with other events'.

All functions raise `IndexError` at the end of the data, or for bytes that are not a value.
"""

from typing import Final

_MORE: Final = 0x80  # the bit of a byte of a number that says that another one follows
_LONGEST: Final = 10  # bytes of a number


def number(view: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and its end."""
    value = 0
    for shift in range(0, 7 * _LONGEST, 7):
        byte = view[at]
        at += 1
        value |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return value >> 1 ^ -(value & 1), at
    raise IndexError("a number has more than 10 bytes")


def after_number(view: memoryview, at: int) -> int:
    """The end of the number that begins at `at`."""
    while view[at] >= _MORE:
        at += 1
    return at + 1


def after_span(view: memoryview, at: int) -> int:
    """The end of the string, or of the run of bytes, whose length is at `at`."""
    length, at = number(view, at)
    if length < 0:
        raise IndexError("a length is negative")
    return at + length


def block_items(view: memoryview, at: int) -> tuple[int, int]:
    """The number of items of the block of an array or a map that begins at `at`, and the start of the first item."""
    count, at = number(view, at)
    if count < 0:
        count, at = -count, after_number(view, at)
    if count > len(view) - at:
        raise IndexError("an array or a map has more items than bytes")
    return count, at
