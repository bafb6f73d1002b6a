"""Candidates: the sources of the schema that a gate checks.

Of Python classes there are pydantic models and dataclasses (JSON Schema), and generated Protobuf messages. The JSON
Schema describes what the class reads, so that a field with a default is not required.
"""

import dataclasses
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from aiopravega.errors import ConfigurationError, SchemaNotFoundError
from aiopravega.gates.candidates.columns import from_columns, is_columns
from aiopravega.gates.candidates.files import SUFFIXES, from_file, protobuf_schema, text_schema
from aiopravega.names import StreamName
from aiopravega.schema import SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import Group, GroupAddress, need_group
from aiopravega.schema.protobuf.event_format import ProtobufFormat

__all__ = ["from_class", "from_columns", "from_file", "from_stream", "protobuf_schema", "resolve", "text_schema"]


async def from_stream(registry: SchemaRegistry, stream: StreamName, type_name: str | None = None) -> SchemaInfo:
    """The newest schema of another stream's group.

    Raises:
        GroupNotFoundError: the registry has no group for it.
        SchemaNotFoundError: the group has no schema, or none of this type.
        ConfigurationError: the group has schemas of several types.
    """
    group = await need_group(registry, GroupAddress.of_stream(stream))
    latest = await registry.latest(group.name, group.namespace)
    schemas = [each.schema_info for each in latest if type_name in (None, each.schema_info.type)]
    if not schemas:
        wanted = f" of type {type_name}" if type_name else ""
        raise SchemaNotFoundError(f"group {group.name} of {stream} has no schema{wanted}")
    if len(schemas) > 1:
        types = ", ".join(each.type for each in schemas)
        raise ConfigurationError(f"group {group.name} of {stream} has schemas of several types, {types}: name one")
    return schemas[0]


async def resolve(
    registry: SchemaRegistry,
    source: Any,
    stream: StreamName,
    type_name: str | None = None,
    kind: SchemaFormat | None = None,
    group: Group | None = None,
    proto_path: str | Path | Sequence[str | Path] = (),
) -> SchemaInfo:
    """The schema of a source.

    Args:
        registry: where the schemas of other streams are.
        source: a `SchemaInfo`; the path of a file; a class, or its dotted name; a schema of Spark or Arrow; another
            stream as a `StreamName`, or as the text `pravega://scope/stream`.
        stream: the stream of the events.
        type_name: of the schema; by default the source's own. Columns get the group's only type; without one, the
            stream's name.
        kind: of the schema that is made of columns, Avro or JSON; by default the group's format, and without one Avro.
        group: the stream's group, if it has one.
        proto_path: of a `.proto` file: see `from_file`.

    Raises:
        ConfigurationError: the source is none of these, or cannot be read.
        InvalidSchemaError: a file has no schema.
        NotFoundError: the registry has no schema of that stream.
    """
    if isinstance(source, str) and source.startswith("pravega://"):
        source = StreamName.parse(source.removeprefix("pravega://"))
    elif isinstance(source, str) and Path(source).suffix.lower() not in SUFFIXES and "/" not in source:
        source = object_named(source)
    if isinstance(source, SchemaInfo):
        return source if type_name is None else source.model_copy(update={"type": type_name})
    if isinstance(source, str | Path):
        return from_file(source, type_name, proto_path)
    if isinstance(source, StreamName):
        return await from_stream(registry, source, type_name)
    if isinstance(source, type):
        return from_class(source, type_name)
    if is_columns(source):
        of_group = group.properties.format if group and group.properties.format is not SchemaFormat.ANY else None
        name = type_name or await _type_in(registry, group) or stream.stream
        return from_columns(source, name, kind or of_group or SchemaFormat.AVRO)
    raise ConfigurationError(
        f"{type(source).__name__} is not a source of a schema: give a file, a class, a schema of Spark or Arrow, or a "
        "stream"
    )


async def _type_in(registry: SchemaRegistry, group: Group | None) -> str | None:
    """The type of a group's schemas, if there is one."""
    latest = [] if group is None else await registry.latest(group.name, group.namespace)
    return latest[0].version_info.type if len(latest) == 1 else None


def from_class(source: type, type_name: str | None = None) -> SchemaInfo:
    """The schema of a class: a pydantic model, a dataclass, or a message that protoc generated.

    Raises:
        ConfigurationError: the class is none of these, or has a field that JSON Schema cannot express.
    """
    if issubclass(source, Message):
        return ProtobufFormat(source).info
    if not (issubclass(source, BaseModel) or dataclasses.is_dataclass(source)):
        raise ConfigurationError(
            f"{source.__qualname__} has no schema: it is not a pydantic model, dataclass or Protobuf message"
        )
    try:
        document = TypeAdapter(source).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise ConfigurationError(f"{source.__qualname__} has no JSON Schema: {error}") from None
    return SchemaInfo.of(SchemaFormat.JSON, type_name or "", json.dumps(document))


def object_named(dotted: str) -> Any:
    """Import an object by its dotted name, such as `package.module.Order`.

    Raises:
        ConfigurationError: the object cannot be imported.
    """
    module, _, name = dotted.replace(":", ".").rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{dotted!r} is neither a file with a schema nor a class: {error}") from None
