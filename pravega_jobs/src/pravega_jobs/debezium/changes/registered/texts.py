"""Payloads of any format as the JSON that Debezium writes, so that one set of rules reads all of them.

Avro and Protobuf become columns block by block, each event by the schema that it was written with, and the columns
become JSON. Values stay as they were written: numbers of times as numbers, bytes (and decimals) in Base64.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema.arrow.block import DecodedBlock, PayloadDecoder, Undecodable
from aiopravega.schema.json.columns.encoder import JsonEncoder
from aiopravega.schema.registry.model import SchemaFormat

_TEXTS: Final = pa.schema([("event", pa.binary())])


@dataclass(frozen=True, slots=True)
class ChangeTexts:
    """A target of `BlockDeserializer`: one column, `event`, with the JSON of each change event.

    Args:
        form: of the payloads: Avro, Protobuf or JSON.
        type: the name of the registered type, which Protobuf needs.
        newest: the schema of events without a header, in Protobuf.
    """

    form: SchemaFormat
    type: str
    newest: bytes

    @property
    def format(self) -> str:
        """The format's name, as in the registry."""
        return self.form.value

    @property
    def schema(self) -> pa.Schema:
        """The one column."""
        return _TEXTS

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """A decoder of payloads that were written with this schema; None: with the newest schema."""
        if self.form is SchemaFormat.JSON:
            return _AsTheyAre()
        try:
            inner, names = self._columns(self.newest if written is None else written)
        except (ConfigurationError, InvalidSchemaError) as error:
            return Undecodable(str(error), tuple(_TEXTS.types))
        return _Texts(inner, JsonEncoder(names, nulls=True))

    def _columns(self, written: bytes) -> tuple[PayloadDecoder, list[str]]:
        if self.form is SchemaFormat.AVRO:
            from aiopravega.schema.avro.columns.decoder import decoder_of
            from aiopravega.schema.avro.columns.types import columns_of
            from aiopravega.schema.avro.model import Record
            from aiopravega.schema.avro.parsing import parse

            writer = parse(written, "the Avro schema of the events")
            if not isinstance(writer, Record):
                raise ConfigurationError("its Avro schema is not a record, but change events are")
            plain = parse(json.dumps(_without_logical_types(json.loads(written))))
            return decoder_of(plain, writer), columns_of(plain).names
        from aiopravega.schema.protobuf.columns.decoder import ProtobufDecoder, ProtobufMessage

        message = ProtobufMessage(written, self.type)
        columns = message.columns()
        return ProtobufDecoder(message, columns.types), columns.names


@dataclass(frozen=True, slots=True)
class _Texts:
    inner: PayloadDecoder
    encoder: JsonEncoder

    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The texts of the payloads that can be decoded."""
        block = self.inner.decode(payloads)
        rows = len(payloads) - len(block.bad)
        return DecodedBlock([self._texts(block.columns, rows)], block.bad)

    def trim(self, payload: bytes) -> bytes:
        """The payload without padding, by the rules of its format."""
        return self.inner.trim(payload)

    def _texts(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        return self.encoder.columns(columns, rows) if rows else pa.nulls(0, pa.binary())


class _AsTheyAre:
    def decode(self, payloads: pa.BinaryArray) -> DecodedBlock:
        """The same."""
        return DecodedBlock([payloads])

    def trim(self, payload: bytes) -> bytes:
        """Without the zeros that Java's codecs leave."""
        return payload.rstrip(b"\0")


def _without_logical_types(schema: Any) -> Any:
    """The same schema without logical types: its values are the plain numbers and bytes that are written."""
    if isinstance(schema, dict):
        return {name: _without_logical_types(value) for name, value in schema.items() if name != "logicalType"}
    return [_without_logical_types(part) for part in schema] if isinstance(schema, list) else schema
