"""How long events are, as Pravega's clients have agreed on it. In bytes."""

from typing import Final

# Of an event in a segment: its type and its length.
EVENT_HEADER: Final = 8
# The longest event that one append takes. Longer ones are merged into a segment as a whole.
MAX_EVENT: Final = 8 * 1024 * 1024
# The longest that the Java client writes: with its header, it fills a buffer of Java.
LARGEST_EVENT: Final = 2**31 - 1 - EVENT_HEADER
