"""The columns that a reader wants, by format: a target makes a decoder from each writer's schema to these columns.

Targets can be pickled: they are made once and sent to the processes that decode.
"""

import json
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from aiopravega.errors import ConfigurationError, InvalidSchemaError
from aiopravega.schema.arrow.block import PayloadDecoder, Undecodable
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo


class Target(Protocol):
    """The columns that events of one format become."""

    @property
    def format(self) -> str:
        """The format's name, as in the registry."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """A decoder of payloads that were written with this schema; None: with the reader's schema."""


@dataclass(frozen=True, slots=True)
class AvroTarget:
    """Columns of a reader's schema; Avro's rules resolve the writer's schema to it."""

    text: str
    schema: pa.Schema
    format: str = "Avro"

    @classmethod
    def of(cls, text: str) -> "AvroTarget":
        """The columns of an Avro schema.

        Raises:
            InvalidSchemaError: it is not an Avro schema.
            ConfigurationError: it has types that cannot be columns.
        """
        from aiopravega.schema.avro.columns.types import columns_of
        from aiopravega.schema.avro.parsing import parse

        return cls(text, columns_of(parse(text)))

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """A decoder by the writer's schema; a schema that does not fit refuses all events, or single ones."""
        from aiopravega.schema.avro.columns.decoder import decoder_of
        from aiopravega.schema.avro.parsing import parse

        reader = parse(self.text)
        try:
            writer = reader if written is None else parse(written, "the Avro schema of the events")
            return decoder_of(reader, writer)
        except (ConfigurationError, InvalidSchemaError) as error:
            return Undecodable(str(error), tuple(self.schema.types))


@dataclass(frozen=True, slots=True)
class JsonTarget:
    """Columns that are found by name; the schema that an event was written with does not matter.

    With `threads`, large blocks are read on all cores. Leave it out where each core has a task already. With `whole`,
    an event that lacks a field of the columns cannot be decoded; otherwise the field is null.

    Raises:
        ConfigurationError: a column has a type that JSON cannot give.
    """

    schema: pa.Schema
    format: str = "Json"
    threads: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        """Check the columns before any event is read."""
        from aiopravega.schema.json.columns.decoder import check_columns

        check_columns(self.schema)

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """The same decoder for every schema."""
        from aiopravega.schema.json.columns.decoder import JsonDecoder

        decoder = JsonDecoder(self.schema, threads=self.threads)
        if not self.whole:
            return decoder
        from aiopravega.schema.json.columns.missing import WholeDecoder

        return WholeDecoder(self.schema, decoder)


@dataclass(frozen=True, slots=True)
class ProtobufTarget:
    """Fields of a message, which are found by their numbers, in every version of the message."""

    descriptors: bytes
    message: str
    schema: pa.Schema
    format: str = "Protobuf"

    @classmethod
    def of(cls, descriptors: bytes, message: str | None) -> "ProtobufTarget":
        """The columns of a message.

        Raises:
            ConfigurationError: there is no such message, or it cannot be columns.
        """
        from aiopravega.schema.protobuf.columns.decoder import ProtobufMessage
        from aiopravega.schema.protobuf.descriptors import only_message

        name = message or only_message(descriptors)
        return cls(descriptors, name, ProtobufMessage(descriptors, name).columns())

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """The same decoder for every schema."""
        from aiopravega.schema.protobuf.columns.decoder import ProtobufDecoder, ProtobufMessage

        return ProtobufDecoder(ProtobufMessage(self.descriptors, self.message), self.schema.types)


def target_of(schema: SchemaInfo) -> Target:
    """The columns of a schema.

    Raises:
        ConfigurationError: it cannot become columns, or is in a custom format.
    """
    match schema.format:
        case SchemaFormat.AVRO:
            return AvroTarget.of(schema.text)
        case SchemaFormat.PROTOBUF:
            return ProtobufTarget.of(schema.schema_data, schema.type)
        case SchemaFormat.JSON:
            from aiopravega.schema.json.columns.types import columns_of

            return JsonTarget(columns_of(json.loads(schema.text)), threads=True)
    raise ConfigurationError(f"{schema.type} is in format {schema.name_of_format}, whose columns are not known")
