"""The columns that a read wants, by format: how to make a decoder that yields them from each writer's schema.

Targets are made on the driver and travel to the tasks.
"""

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from aiopravega.errors import ConfigurationError
from pyspark_pravega.decode.block import PayloadDecoder, Undecodable


class Target(Protocol):
    """What events of one format become."""

    @property
    def format(self) -> str:
        """The format's name, as in the registry."""

    @property
    def schema(self) -> StructType:
        """The columns."""

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """A decoder of payloads that were written with this schema; None: with the one that is read with."""


@dataclass(frozen=True, slots=True)
class AvroTarget:
    """Columns of a reader's schema, to which Avro's rules lead from the writer's."""

    text: str
    schema: StructType
    format: str = "Avro"

    @classmethod
    def of(cls, text: str) -> "AvroTarget":
        """The columns of an Avro schema.

        Raises:
            ConfigurationError: it is none, or has types that cannot be columns.
        """
        from pyspark_pravega.decode.avro.schema import parse
        from pyspark_pravega.decode.avro.types import columns_of

        return cls(text, columns_of(parse(text)))

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """Follows the writer's schema; what does not fit is found here, or event by event."""
        from pyspark_pravega.decode.avro.decoder import AvroDecoder
        from pyspark_pravega.decode.avro.resolve import top_node
        from pyspark_pravega.decode.avro.schema import parse

        reader = parse(self.text)
        try:
            writer = reader if written is None else parse(written.decode(), "the Avro schema of the events")
            return AvroDecoder(top_node(writer, reader))
        except ConfigurationError as error:
            return Undecodable(str(error), types_of(self.schema))


@dataclass(frozen=True, slots=True)
class JsonTarget:
    """Columns that are looked up by name, whatever schema an event was written with."""

    schema: StructType
    format: str = "Json"

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """One decoder for all."""
        from pyspark_pravega.decode.json_events import JsonDecoder

        return JsonDecoder(arrow_schema(self.schema))


@dataclass(frozen=True, slots=True)
class ProtobufTarget:
    """Fields of a message, which are known by their numbers, whatever version of it an event was written with."""

    descriptors: bytes
    message: str
    schema: StructType
    format: str = "Protobuf"

    @classmethod
    def of(cls, descriptors: bytes, message: str | None) -> "ProtobufTarget":
        """The columns of a message.

        Raises:
            ConfigurationError: there is no such message, or it cannot be columns.
        """
        from pyspark_pravega.decode.protobuf_events import ProtobufMessage, only_message

        name = message or only_message(descriptors)
        return cls(descriptors, name, ProtobufMessage(descriptors, name).columns())

    def decoder(self, written: bytes | None) -> PayloadDecoder:
        """One decoder for all."""
        from pyspark_pravega.decode.protobuf_events import ProtobufDecoder, ProtobufMessage

        return ProtobufDecoder(ProtobufMessage(self.descriptors, self.message), types_of(self.schema))


def arrow_schema(schema: StructType) -> pa.Schema:
    """The types of Arrow that Spark expects for its own."""
    return to_arrow_schema(schema, timezone="UTC")


def types_of(schema: StructType) -> tuple[pa.DataType, ...]:
    """The Arrow types of columns."""
    return tuple(field.type for field in arrow_schema(schema))


def nullable(kind: DataType) -> DataType:
    """A type of which every part may be null: what an event lacks is."""
    match kind:
        case StructType():
            return StructType([StructField(field.name, nullable(field.dataType)) for field in kind.fields])
        case ArrayType():
            return ArrayType(nullable(kind.elementType))
        case MapType():
            return MapType(nullable(kind.keyType), nullable(kind.valueType))
    return kind
