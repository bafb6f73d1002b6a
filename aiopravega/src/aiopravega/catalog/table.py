"""Values of a catalog: a stream as a table, and its group in the registry."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiopravega.catalog.columns import Column, columns_of
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.cuts import StreamCut
from aiopravega.names import StreamName

if TYPE_CHECKING:
    from aiopravega.schema import GroupProperties, SchemaVersion


@dataclass(frozen=True, slots=True)
class StreamGroup:
    """The Schema Registry's group of a stream; `latest` has the newest schema of each type."""

    name: str
    namespace: str
    properties: "GroupProperties"
    latest: "tuple[SchemaVersion, ...]"

    @property
    def policy(self) -> str:
        """The name of the group's compatibility policy."""
        return self.properties.compatibility.policy

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, with the schemas' types and versions."""
        return {
            "group": self.name,
            "namespace": self.namespace,
            "format": self.properties.format.value,
            "policy": self.policy,
            "schemas": [version.version_info.to_json() for version in self.latest],
        }


@dataclass(frozen=True, slots=True)
class StreamTable:
    """A stream as a table.

    `segments` is the present number, 0 if it is sealed. `size` is in bytes from head to tail, event headers included.
    `group` is None if no registry was asked, or if it has no group for the stream.
    """

    stream: StreamName
    segments: int
    scaling: ScalingPolicy
    retention: RetentionPolicy
    tags: tuple[str, ...]
    head: StreamCut
    tail: StreamCut
    size: int
    group: StreamGroup | None = None

    @property
    def is_sealed(self) -> bool:
        """True if the stream accepts no more events."""
        return self.segments == 0

    @property
    def schema(self) -> "SchemaVersion | None":
        """The newest schema; None if there is none, or if events of several types are mixed."""
        if self.group is None or len(self.group.latest) != 1:
            return None
        return self.group.latest[0]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The fields of `schema`; empty without a schema."""
        return columns_of(self.schema.schema_info) if self.schema else ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "stream": str(self.stream),
            "segments": self.segments,
            "sealed": self.is_sealed,
            "tags": list(self.tags),
            "head": self.head.to_text(),
            "tail": self.tail.to_text(),
            "bytes": self.size,
            "schema": None if self.group is None else self.group.to_json(),
            "columns": [
                {"name": one.name, "type": one.type, "nullable": one.nullable, "description": one.description}
                for one in self.columns
            ],
        }
