"""The values in the registry's answers and requests.

Field names in JSON are the registry's; a format is an object in groups and schemas, but a name in version infos.
"""

import base64
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class SchemaFormat(StrEnum):
    """Formats of serialized events. A group of `ANY` has schemas of several formats."""

    AVRO = "Avro"
    PROTOBUF = "Protobuf"
    JSON = "Json"
    ANY = "Any"
    CUSTOM = "Custom"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, alias_generator=to_camel)

    def to_json(self) -> dict[str, Any]:
        """The value as the registry's JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class FormatName(_Model):
    """A format; `full_type_name` is the name of a custom one."""

    serialization_format: SchemaFormat
    full_type_name: str | None = None

    @classmethod
    def of(cls, kind: SchemaFormat | str) -> Self:
        """A format of the registry, or a custom one by its name."""
        if kind in {*SchemaFormat} - {SchemaFormat.CUSTOM}:
            return cls(serialization_format=SchemaFormat(kind))
        return cls(serialization_format=SchemaFormat.CUSTOM, full_type_name=kind)


class VersionInfo(_Model):
    """The identity of a schema in its group: type, version within the type, and id.

    `serialization_format` is a name: one of `SchemaFormat`, or the name of a custom format.
    """

    type: str
    serialization_format: str
    version: int
    id: int


class Compatibility(_Model):
    """The policy by which a group accepts schemas; `advanced` belongs to the policy `Advanced`."""

    policy: str
    advanced: dict[str, Any] | None = None


# Readers of the newest schema can read everything ever written, which a stream that is read again needs.
_COMPARED_POLICY: Final = "BackwardTransitive"
ALLOW_ANY: Final = "AllowAny"
_COMPARABLE: Final = frozenset({SchemaFormat.AVRO, SchemaFormat.JSON, SchemaFormat.PROTOBUF})


class GroupProperties(_Model):
    """Format, policy and other properties of a group."""

    serialization_format: FormatName
    compatibility: Compatibility
    allow_multiple_types: bool = False
    properties: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(
        cls,
        kind: SchemaFormat | str,
        policy: str | None = None,
        *,
        multiple_types: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> Self:
        """The properties of a group of one format, a format of the registry or the name of a custom one.

        The default policy of every new group is `BackwardTransitive` for Avro, JSON and Protobuf, whose schemas this
        package compares, and `AllowAny` for custom formats and for groups of format `Any`.
        """
        form = FormatName.of(kind)
        default = _COMPARED_POLICY if form.serialization_format in _COMPARABLE else ALLOW_ANY
        return cls(
            serialization_format=form,
            compatibility=Compatibility(policy=policy or default),
            allow_multiple_types=multiple_types,
            properties=dict(properties or {}),
        )

    @property
    def format(self) -> SchemaFormat:
        """The format of the group's events."""
        return self.serialization_format.serialization_format


class GroupsPage(_Model):
    """Some groups by their names, and the token for the page that follows."""

    groups: dict[str, GroupProperties]
    continuation_token: str | None = None


class SchemaInfo(_Model):
    """A schema. Its data is a text for Avro and JSON, and a FileDescriptorSet for Protobuf."""

    type: str
    serialization_format: FormatName
    schema_data: Base64Bytes
    properties: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(
        cls, kind: SchemaFormat | str, type_name: str, data: str | bytes, properties: Mapping[str, str] | None = None
    ) -> Self:
        """A schema in a format of the registry or in a custom one, given by its name."""
        raw = data.encode() if isinstance(data, str) else data
        return cls(
            type=type_name,
            serialization_format=FormatName.of(kind),
            schema_data=base64.b64encode(raw),  # the field decodes it
            properties=dict(properties or {}),
        )

    @property
    def format(self) -> SchemaFormat:
        """The format of this schema's events."""
        return self.serialization_format.serialization_format

    @property
    def name_of_format(self) -> str:
        """The format as version infos have it: one of `SchemaFormat`, or the name of a custom one."""
        custom = self.format is SchemaFormat.CUSTOM
        return (self.serialization_format.full_type_name or self.format) if custom else self.format

    @property
    def text(self) -> str:
        """The schema of Avro or JSON."""
        return self.schema_data.decode()


class SchemaVersion(_Model):
    """A schema and its version."""

    schema_info: SchemaInfo
    version_info: VersionInfo


class References(_Model):
    """The groups that have a schema."""

    groups: dict[str, VersionInfo]


class CodecType(_Model):
    """A codec that a group's events may use."""

    name: str
    properties: dict[str, str] = Field(default_factory=dict)


class Encoding(SchemaVersion):
    """The meaning of an encoding id: a schema and a codec."""

    codec_type: CodecType


class HistoryRecord(SchemaVersion):
    """A schema as it was added; `timestamp` is in milliseconds since 1970."""

    compatibility: Compatibility
    timestamp: int
