"""Encoding as a write sees it: a plan that is made once on the driver, and an encoder in each task."""

from dataclasses import dataclass

import pyarrow as pa

from aiopravega.schema import SchemaFormat
from aiopravega.schema.open.blocks.serializer import BlockSerializer, row_encoder
from aiopravega.schema.registry.codecs import NONE
from pyspark_pravega.decode.decode_options import Format


@dataclass(frozen=True, slots=True)
class EncodePlan:
    """How columns become events; it travels to the tasks.

    `schema` is a text for Avro, a descriptor set for Protobuf, and of no use for JSON; `type` is the message of
    Protobuf. `header` is what a registry's serializers write before each payload, empty without one; `codec` belongs to
    it, by the registry's name. `columns` are those that become the event.
    """

    format: Format
    schema: bytes | None
    type: str | None
    columns: pa.Schema
    header: bytes = b""
    codec: str = NONE

    def encoder(self) -> BlockSerializer:
        """An encoder for one task.

        Raises:
            ConfigurationError: a column does not fit the schema.
            CodecNotRegisteredError: the codec is not known in this process.
        """
        rows = row_encoder(SchemaFormat(self.format.capitalize()), self.schema, self.type, self.columns)
        return BlockSerializer(rows, self.header, self.codec)
