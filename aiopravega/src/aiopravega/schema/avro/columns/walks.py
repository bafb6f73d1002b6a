"""Where single values end, byte by byte: for long arrays, whose items cannot be read side by side with other events'.

All raise `IndexError` at the end of what they walk on, or where no value can be.
"""

from typing import Final

_MORE: Final = 0x80  # the bit of a byte of a number that says that another one follows
_LONGEST: Final = 10  # bytes of a number


def number(view: memoryview, at: int) -> tuple[int, int]:
    """The number that begins there, and where it ends."""
    value = 0
    for shift in range(0, 7 * _LONGEST, 7):
        byte = view[at]
        at += 1
        value |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return value >> 1 ^ -(value & 1), at
    raise IndexError("a number has more than 10 bytes")


def after_number(view: memoryview, at: int) -> int:
    """Where the number ends that begins there."""
    while view[at] >= _MORE:
        at += 1
    return at + 1


def after_span(view: memoryview, at: int) -> int:
    """Where the string ends, or the run of bytes, whose length stands there."""
    length, at = number(view, at)
    if length < 0:
        raise IndexError("a length is negative")
    return at + length


def block_items(view: memoryview, at: int) -> tuple[int, int]:
    """How many items the block of an array or a map has whose head begins there, and where the first one begins."""
    count, at = number(view, at)
    if count < 0:
        count, at = -count, after_number(view, at)
    if count > len(view) - at:
        raise IndexError("an array or a map has more items than bytes")
    return count, at
