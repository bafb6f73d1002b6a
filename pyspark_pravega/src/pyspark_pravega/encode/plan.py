"""Encoding in a write: a plan that is made once on the driver, and an encoder in each task."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.schema import SchemaFormat
from aiopravega.schema.json.columns.forms import TO_JSON, JsonForm
from aiopravega.schema.open.blocks.serializer import BlockSerializer, row_encoder
from aiopravega.schema.registry.codecs import NONE
from pravega_jobs.decoding.options import Format

if TYPE_CHECKING:
    from pravega_jobs.debezium.changes.options import WrittenChanges


@dataclass(frozen=True, slots=True)
class EncodePlan:
    """The plan by which columns become events; it is sent to the tasks.

    `schema` is a text for Avro, a descriptor set for Protobuf, and not used for JSON; `type` is the message of
    Protobuf. `header` has the bytes that a registry's serializers write before each payload, empty without a registry;
    `codec` is the registry's name of the header's codec. `columns` become the event. `changes` is for change events of
    Debezium only, for which `schema` is a text for the columns of the table, or None. `texts` is for JSON.
    """

    format: Format
    schema: bytes | None
    type: str | None
    columns: pa.Schema
    header: bytes = b""
    codec: str = NONE
    changes: "WrittenChanges | None" = None
    texts: JsonForm = TO_JSON

    @property
    def keyed(self) -> bool:
        """True if the format itself has routing keys."""
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
        rows = row_encoder(SchemaFormat(self.format.capitalize()), self.schema, self.type, self.columns, self.texts)
        return BlockSerializer(rows, self.header, self.codec)
