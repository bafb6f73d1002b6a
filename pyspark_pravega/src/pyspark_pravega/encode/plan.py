"""Encoding as a write sees it: a plan that is made once on the driver, and an encoder in each task."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.schema import SchemaFormat
from aiopravega.schema.open.blocks.serializer import BlockSerializer, row_encoder
from aiopravega.schema.registry.codecs import NONE
from pyspark_pravega.decode.decode_options import Format

if TYPE_CHECKING:
    from pravega_jobs.debezium.changes.options import WrittenChanges


@dataclass(frozen=True, slots=True)
class EncodePlan:
    """How columns become events; it travels to the tasks.

    `schema` is a text for Avro, a descriptor set for Protobuf, and of no use for JSON; `type` is the message of
    Protobuf. `header` is what a registry's serializers write before each payload, empty without one; `codec` belongs to
    it, by the registry's name. `columns` are those that become the event. `changes` is for change events of Debezium
    only, for which `schema` is a text for the columns of the table, or None.
    """

    format: Format
    schema: bytes | None
    type: str | None
    columns: pa.Schema
    header: bytes = b""
    codec: str = NONE
    changes: "WrittenChanges | None" = None

    @property
    def keyed(self) -> bool:
        """Whether the format itself has routing keys."""
        return self.changes is not None

    def encoder(self) -> BlockSerializer:
        """An encoder for one task.

        Raises:
            ConfigurationError: a column does not fit the schema.
            CodecNotRegisteredError: the codec is not known in this process.
        """
        if self.changes is not None:
            from pravega_jobs.debezium.changes.connect import schema_in
            from pravega_jobs.debezium.changes.written_events import ChangeEncoder

            events = ChangeEncoder(self.columns, self.changes, None if self.schema is None else schema_in(self.schema))
            return BlockSerializer(events, keys=events.keys)
        rows = row_encoder(SchemaFormat(self.format.capitalize()), self.schema, self.type, self.columns)
        return BlockSerializer(rows, self.header, self.codec)
