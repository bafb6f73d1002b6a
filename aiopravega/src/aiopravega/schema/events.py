"""Formats of single events: the interface that serializers use, and custom formats.

A format makes functions once, which are then called for every event.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from aiopravega.errors import ConfigurationError, MalformedEventError, PravegaError
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


class OneByOne:
    """The lists of a format in which nothing is faster than one item by one."""

    def list_writer(self: EventFormat, head: bytes = b"") -> WriteAll:
        return all_by(self.writer(head))

    def list_reader(self: EventFormat, written: SchemaInfo | None = None, skip: int = 0) -> ReadAll:
        return all_by(self.reader(written, skip))


class CustomFormat(OneByOne):
    """Values that two functions of the caller turn into payloads and back.

    Args:
        name: of the format, as the registry has it.
        type_name: of the values' type.
        schema: any description of the values; the registry does not read it.
        encode: from a value to a payload. An error that it raises is reported as a value that does not fit.
        decode: from a payload and the schema that it was written with to a value. An error that it raises is reported
            as a malformed event. Java's codecs may leave zero bytes after the payload.
    """

    def __init__(
        self,
        name: str,
        type_name: str,
        schema: bytes,
        encode: Callable[[Any], bytes],
        decode: Callable[[bytes, bytes], Any],
    ) -> None:
        self.info = SchemaInfo.of(name, type_name, schema)
        self._encode, self._decode = encode, decode

    def writer(self, head: bytes = b"") -> Write:
        encode, name = self._encode, self.info.name_of_format

        def write(value: Any) -> bytes:
            try:
                return head + encode(value)
            except PravegaError:
                raise
            except Exception as error:
                raise ConfigurationError(f"a value does not fit its schema in format {name}: {error!r}") from error

        return write

    def reader(self, written: SchemaInfo | None = None, skip: int = 0) -> Read:
        decode, name = self._decode, self.info.name_of_format
        schema = (written or self.info).schema_data

        def read(event: bytes) -> Any:
            try:
                return decode(event[skip:], schema)
            except PravegaError:
                raise
            except Exception as error:
                raise MalformedEventError(f"it cannot be read in format {name}: {error!r}") from error

        return read
