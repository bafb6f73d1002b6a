"""Limits of the sizes of events and payloads, in bytes."""

from typing import Final

# The header of an event in a segment: its type and its length.
EVENT_HEADER: Final = 8
# The longest event that one append takes. Longer ones are merged into a segment as a whole.
MAX_EVENT: Final = 8 * 1024 * 1024
# The longest that the Java client writes: with its header, it fills a buffer of Java.
LARGEST_EVENT: Final = 2**31 - 1 - EVENT_HEADER
# The largest payload that is unpacked. Events have 8 MiB at most; one that grows to many times that is an attack, or a
# mistake.
LARGEST_PAYLOAD: Final = 64 * 1024 * 1024
