"""What serializers expect of a format: functions that are made once and then called for every event."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from aiopravega.schema.registry.model import SchemaInfo

Write = Callable[[Any], bytes]
Read = Callable[[bytes], Any]
WriteAll = Callable[[Sequence[Any]], list[bytes]]
ReadAll = Callable[[Sequence[bytes]], list[Any]]


class EventFormat(Protocol):
    """How values of one type become payloads, and the reverse.

    A function for each event costs as much as a good part of its work, so a format makes one function that does all: it
    also writes and skips the header.
    """

    @property
    def info(self) -> SchemaInfo:
        """The schema, as it is registered."""

    def writer(self, head: bytes = b"") -> Write:
        """Makes events of values: `head`, then the payload.

        The function raises `ConfigurationError` for a value that does not fit the schema.
        """

    def reader(self, written: SchemaInfo | None = None, skip: int = 0) -> Read:
        """Makes values of events, whose payloads begin after `skip` bytes.

        The function raises `MalformedEventError` for a payload that does not fit. Zero bytes after it, as the codecs
        of Java leave them, do not disturb.

        Args:
            written: the schema that the events were written with; None: this one.
            skip: how long the header is.

        Raises:
            ConfigurationError: nothing can be read with that schema.
        """

    def list_writer(self, head: bytes = b"") -> WriteAll:
        """The same as `writer` for lists of values; `all_by` makes it of that, where nothing is faster."""

    def list_reader(self, written: SchemaInfo | None = None, skip: int = 0) -> ReadAll:
        """The same as `reader` for lists of events."""


def all_by(one: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """What does for a list what `one` does for an item of it."""
    return lambda items: [*map(one, items)]
