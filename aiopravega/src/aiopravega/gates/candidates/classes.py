"""Schemas of Python classes: pydantic models and dataclasses (JSON Schema), generated Protobuf messages.

The JSON Schema describes what the class reads, so that a field with a default is not required.
"""

import dataclasses
import json
from importlib import import_module
from typing import Any

from google.protobuf.message import Message
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from aiopravega.errors import ConfigurationError
from aiopravega.schema import SchemaFormat, SchemaInfo
from aiopravega.schema.protobuf.event_format import ProtobufFormat


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
