"""Columns into blocks of events: payloads by a schema, and the header before each."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.arrow.byte_columns import constant, joined
from aiopravega.schema.arrow.envelope import codec_of
from aiopravega.schema.json.columns.forms import TO_JSON, JsonForm
from aiopravega.schema.registry.codecs import NONE
from aiopravega.schema.registry.model import SchemaFormat


class RowEncoder(Protocol):
    """Encodes rows in one format."""

    def columns(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        """The payload of each row of some columns."""


RowKeys = Callable[[Sequence[pa.Array], int], pa.StringArray | None]


def row_encoder(
    form: SchemaFormat, schema: bytes | None, message: str | None, columns: pa.Schema, texts: JsonForm = TO_JSON
) -> RowEncoder:
    """The encoder of some columns.

    Args:
        form: Avro, Protobuf or JSON.
        schema: a text for Avro, a descriptor set for Protobuf; JSON does not need it.
        message: the name of the message, for Protobuf.
        columns: the columns that become the event.
        texts: the texts of values in JSON.

    Raises:
        ConfigurationError: a column does not fit the schema.
    """
    if form is SchemaFormat.JSON:
        from aiopravega.schema.json.columns.encoder import JsonEncoder

        return JsonEncoder(columns.names, form=texts)
    assert schema is not None
    if form is SchemaFormat.AVRO:
        from aiopravega.schema.avro.columns.encoder import fields_of
        from aiopravega.schema.avro.model import Record
        from aiopravega.schema.avro.parsing import parse

        record = parse(schema)
        if not isinstance(record, Record):
            raise ConfigurationError("the Avro schema is not a record: only a record has fields for columns")
        return fields_of(record, list(columns))
    from aiopravega.schema.protobuf.columns.encoder import message_of
    from aiopravega.schema.protobuf.descriptors import descriptor_of

    assert message is not None
    return message_of(descriptor_of(schema, message), list(columns))


class BlockSerializer:
    """Encodes rows as events.

    Args:
        rows: makes payloads.
        header: the bytes before each payload, as a registry's serializers write them; empty for none.
        codec: the name of the codec in the header's encoding. Payloads are compressed one by one.
        keys: makes the routing keys of rows, if the format defines them.

    Raises:
        CodecNotRegisteredError: the codec is not known in this process.
    """

    def __init__(self, rows: RowEncoder, header: bytes = b"", codec: str = NONE, keys: RowKeys | None = None) -> None:
        self._rows = rows
        self._keys = keys
        self._header = constant(header) if header else None
        self._codec = codec_of(codec)

    def encode(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        """An event of each row.

        Raises:
            ConfigurationError: a value is null, or is not a value of the schema.
        """
        try:
            payloads = self._rows.columns(columns, rows)
        except pa.ArrowInvalid as error:
            raise ConfigurationError(f"a value does not fit the schema of the events: {error}") from None
        if self._codec is not None:
            compress = self._codec.compress
            payloads = values_of([compress(payload) for payload in payloads.to_pylist()], pa.binary())
        return payloads if self._header is None else joined(self._header, payloads)

    def keys(self, columns: Sequence[pa.Array], rows: int) -> pa.StringArray | None:
        """The routing key of each row, null for a row without a key; None if the format does not define keys.

        Raises:
            ConfigurationError: a row has no key, but needs one.
        """
        return None if self._keys is None else self._keys(columns, rows)

    def events(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """An event of each row of a batch; see `encode`."""
        return self.encode(batch.columns, batch.num_rows)
