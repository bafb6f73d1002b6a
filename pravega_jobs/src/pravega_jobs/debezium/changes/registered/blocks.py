"""The columns of a table, by the schema that the registry has for its change events."""

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.open.blocks.targets import target_of
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.options import AFTER, BEFORE
from pravega_jobs.debezium.changes.registered.avro_meanings import avro_row


def table_columns(schema: SchemaInfo) -> pa.Schema:
    """The columns of the table.

    An Avro schema has Connect's names, which give the meaning of numbers and bytes. Protobuf and JSON Schema do not
    have them: there, times are the numbers that Debezium writes.

    Raises:
        ConfigurationError: the schema is not a schema of change events, or a column has a type that is not known.
    """
    if schema.format is SchemaFormat.AVRO:
        row = avro_row(schema.schema_data)
        if row:
            return columns_of(row)
    else:
        event = target_of(schema).schema
        for name in (AFTER, BEFORE):
            if name in event.names and pa.types.is_struct(event.field(name).type):
                return pa.schema(list(event.field(name).type))
    raise ConfigurationError(
        f"the schema {schema.type} ({schema.name_of_format}) has no record after or before with the columns of a "
        "table, as change events of Debezium have: choose another one with option 'schema_type', or give the columns "
        "with .schema(…)"
    )
