"""The interface of a format for serializers: functions that are made once and then called for every event."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from aiopravega.schema.registry.model import SchemaInfo

Write = Callable[[Any], bytes]
Read = Callable[[bytes], Any]
WriteAll = Callable[[Sequence[Any]], list[bytes]]
ReadAll = Callable[[Sequence[bytes]], list[Any]]


class EventFormat(Protocol):
    """Makes payloads of values of one type, and the reverse.

    A function call for each event costs as much as a good part of the work itself. Therefore a format makes one
    function that does everything: it also writes and skips the header.
    """

    @property
    def info(self) -> SchemaInfo:
        """The schema, as it is registered."""

    def writer(self, head: bytes = b"") -> Write:
        """A function that makes an event of a value: `head`, then the payload.

        The function raises `ConfigurationError` for a value that does not fit the schema.
        """

    def reader(self, written: SchemaInfo | None = None, skip: int = 0) -> Read:
        """A function that makes a value of an event, whose payload begins after `skip` bytes.

        The function raises `MalformedEventError` for a payload that does not fit. Zero bytes after the payload, as
        Java's codecs leave them, are ignored.

        Args:
            written: the schema that the events were written with; None: this one.
            skip: the length of the header, in bytes.

        Raises:
            ConfigurationError: nothing can be read with that schema.
        """

    def list_writer(self, head: bytes = b"") -> WriteAll:
        """The same as `writer` for lists of values; `all_by` of `writer` is enough where nothing is faster."""

    def list_reader(self, written: SchemaInfo | None = None, skip: int = 0) -> ReadAll:
        """The same as `reader` for lists of events."""


def all_by(one: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that applies `one` to each item of a list."""
    return lambda items: [*map(one, items)]
