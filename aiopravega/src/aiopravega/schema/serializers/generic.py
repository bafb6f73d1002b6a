"""The format of a schema, if only the registry describes it."""

from aiopravega.errors import ConfigurationError
from aiopravega.schema.events.format import EventFormat
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo


def format_of(info: SchemaInfo, *, validate: bool = False) -> EventFormat:
    """The format of a schema: Avro as dictionaries, Protobuf as messages of a class that is made here.

    The libraries of a format are imported with its first schema.

    Args:
        info: the schema.
        validate: check JSON values against their schema; Avro and Protobuf are always read by theirs.

    Raises:
        ConfigurationError: the format is a custom one, the schema cannot be parsed, or a library is not installed.
    """
    match info.format:
        case SchemaFormat.AVRO:
            from aiopravega.schema.avro.event_format import AvroFormat

            return AvroFormat(info.text)
        case SchemaFormat.JSON:
            from aiopravega.schema.json.event_format import JsonFormat

            return JsonFormat(info.text, info.type, validate=validate)
        case SchemaFormat.PROTOBUF:
            from aiopravega.schema.protobuf.event_format import ProtobufFormat

            return ProtobufFormat.of_descriptors(info.schema_data, info.type)
    raise ConfigurationError(
        f"events of type {info.type} are in format {info.name_of_format}: give a CustomFormat that reads them"
    )
