"""Payloads in a custom format."""

from collections.abc import Callable
from typing import Any

from aiopravega.errors import ConfigurationError, MalformedEventError, PravegaError
from aiopravega.schema.events.format import Read, ReadAll, Write, WriteAll, all_by
from aiopravega.schema.registry.model import SchemaInfo


class CustomFormat:
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

    def list_writer(self, head: bytes = b"") -> WriteAll:
        return all_by(self.writer(head))

    def list_reader(self, written: SchemaInfo | None = None, skip: int = 0) -> ReadAll:
        return all_by(self.reader(written, skip))
