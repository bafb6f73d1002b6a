"""What the registry's answers and requests are made of.

Field names in JSON are the registry's; a format is an object in groups and schemas, but a name in version infos.
"""

import base64
from enum import StrEnum
from typing import Any, Self

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class SchemaFormat(StrEnum):
    """How events are serialized. A group of `ANY` has schemas of several formats."""

    AVRO = "Avro"
    PROTOBUF = "Protobuf"
    JSON = "Json"
    ANY = "Any"
    CUSTOM = "Custom"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, alias_generator=to_camel)

    def to_json(self) -> dict[str, Any]:
        """As the registry wants it."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class FormatName(_Model):
    """A format; `full_type_name` is the name of a custom one."""

    serialization_format: SchemaFormat
    full_type_name: str | None = None


class VersionInfo(_Model):
    """Which schema: its version among those of its type, and its id in the group.

    `serialization_format` is a name: one of `SchemaFormat`, or that of a custom format.
    """

    type: str
    serialization_format: str
    version: int
    id: int


class Compatibility(_Model):
    """Which schemas a group takes; `advanced` belongs to the policy `Advanced`."""

    policy: str
    advanced: dict[str, Any] | None = None


class GroupProperties(_Model):
    """How a group was made."""

    serialization_format: FormatName
    compatibility: Compatibility
    allow_multiple_types: bool = False
    properties: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, kind: SchemaFormat, policy: str = "AllowAny", *, multiple_types: bool = False) -> Self:
        """The properties of a group of one format."""
        return cls(
            serialization_format=FormatName(serialization_format=kind),
            compatibility=Compatibility(policy=policy),
            allow_multiple_types=multiple_types,
        )

    @property
    def format(self) -> SchemaFormat:
        """The format of the group's events."""
        return self.serialization_format.serialization_format


class SchemaInfo(_Model):
    """A schema. Its data is a text for Avro and JSON, and a FileDescriptorSet for Protobuf."""

    type: str
    serialization_format: FormatName
    schema_data: Base64Bytes
    properties: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, kind: SchemaFormat, type_name: str, data: str | bytes) -> Self:
        """A schema of one of the formats that the registry knows."""
        raw = data.encode() if isinstance(data, str) else data
        return cls(
            type=type_name,
            serialization_format=FormatName(serialization_format=kind),
            schema_data=base64.b64encode(raw),  # which the field decodes
        )

    @property
    def format(self) -> SchemaFormat:
        """How events of this schema are serialized."""
        return self.serialization_format.serialization_format

    @property
    def text(self) -> str:
        """The schema of Avro or JSON."""
        return self.schema_data.decode()


class SchemaVersion(_Model):
    """A schema and its version."""

    schema_info: SchemaInfo
    version_info: VersionInfo


class CodecType(_Model):
    """A codec that a group's events may use."""

    name: str
    properties: dict[str, str] = Field(default_factory=dict)


class Encoding(SchemaVersion):
    """What an encoding id stands for: a schema and a codec."""

    codec_type: CodecType


class HistoryRecord(SchemaVersion):
    """A schema as it was added, deleted ones included; `timestamp` is in milliseconds since 1970."""

    compatibility: Compatibility
    timestamp: int
