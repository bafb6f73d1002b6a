"""The columns that a reader wants, by format: how to make a decoder that yields them from each writer's schema.

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
    """What events of one format become."""

    @property
    def format(self) -> str:
        """The format's name, as in the registry."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """A decoder of payloads that were written with this schema; None: with the one that is read with."""


@dataclass(frozen=True, slots=True)
class AvroTarget:
    """Columns of a reader's schema, to which Avro's rules lead from the writer's."""

    text: str
    schema: pa.Schema
    format: str = "Avro"

    @classmethod
    def of(cls, text: str) -> "AvroTarget":
        """The columns of an Avro schema.

        Raises:
            InvalidSchemaError: it is none.
            ConfigurationError: it has types that cannot be columns.
        """
        from aiopravega.schema.avro.columns.types import columns_of
        from aiopravega.schema.avro.parsing import parse

        return cls(text, columns_of(parse(text)))

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """Follows the writer's schema; what does not fit is found here, or event by event."""
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
    """Columns that are looked up by name, whatever schema an event was written with.

    With `threads`, large blocks are read on all cores. Where each core has a task of its own that is of no use.
    """

    schema: pa.Schema
    format: str = "Json"
    threads: bool = False

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """One decoder for all."""
        from aiopravega.schema.json.columns.decoder import JsonDecoder

        return JsonDecoder(self.schema, threads=self.threads)


@dataclass(frozen=True, slots=True)
class ProtobufTarget:
    """Fields of a message, which are known by their numbers, whatever version of it an event was written with."""

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
        """One decoder for all."""
        from aiopravega.schema.protobuf.columns.decoder import ProtobufDecoder, ProtobufMessage

        return ProtobufDecoder(ProtobufMessage(self.descriptors, self.message), self.schema.types)


def target_of(schema: SchemaInfo) -> Target:
    """The columns of a schema.

    Raises:
        ConfigurationError: it cannot become columns, or is in a format of somebody's own.
    """
    match schema.format:
        case SchemaFormat.AVRO:
            return AvroTarget.of(schema.text)
        case SchemaFormat.PROTOBUF:
            return ProtobufTarget.of(schema.schema_data, schema.type)
        case SchemaFormat.JSON:
            from aiopravega.schema.json.columns.types import columns_of

            return JsonTarget(columns_of(json.loads(schema.text)), threads=True)
    raise ConfigurationError(f"{schema.type} is in format {schema.name_of_format}, of which no columns are known")
