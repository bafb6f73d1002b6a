"""Encoding as a write sees it: a plan that is made once on the driver, and an encoder in each task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pyspark_pravega.decode.options import Format
from pyspark_pravega.encode.pieces import constant, joined


class RowEncoder(Protocol):
    """Encodes rows in one format."""

    def columns(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        """The payload of each row of some columns."""


@dataclass(frozen=True, slots=True)
class EncodePlan:
    """How columns become events; it travels to the tasks.

    `schema` is a text for Avro, a descriptor set for Protobuf, and of no use for JSON; `type` is the message of
    Protobuf. `header` is what a registry's serializers write before each payload, empty without one. `columns` are
    those that become the event.
    """

    format: Format
    schema: bytes | None
    type: str | None
    columns: pa.Schema
    header: bytes = b""

    def encoder(self) -> "EventEncoder":
        """An encoder for one task.

        Raises:
            ConfigurationError: a column does not fit the schema.
        """
        return EventEncoder(self._rows(), self.header)

    def _rows(self) -> RowEncoder:
        if self.format is Format.JSON:
            from pyspark_pravega.encode.json_events import JsonEncoder

            return JsonEncoder(self.columns.names)
        assert self.schema is not None
        if self.format is Format.AVRO:
            from pyspark_pravega.decode.avro.schema import Record, parse
            from pyspark_pravega.encode.avro_events import fields_of

            record = parse(self.schema.decode())
            if not isinstance(record, Record):
                raise ConfigurationError("the Avro schema is not a record: only a record has fields for columns")
            return fields_of(record, list(self.columns))
        from pyspark_pravega.decode.protobuf_events import descriptor_of
        from pyspark_pravega.encode.protobuf_events import message_of

        assert self.type is not None
        return message_of(descriptor_of(self.schema, self.type), list(self.columns))


class EventEncoder:
    """Encodes the rows of one task as events."""

    def __init__(self, rows: RowEncoder, header: bytes) -> None:
        self._rows = rows
        self._header = constant(header) if header else None

    def encode(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        """An event of each row.

        Raises:
            ConfigurationError: a value is null, or one that the schema does not have.
        """
        try:
            payloads = self._rows.columns(columns, rows)
        except pa.ArrowInvalid as error:
            raise ConfigurationError(f"a value does not fit the schema of the events: {error}") from None
        return payloads if self._header is None else joined(self._header, payloads)
