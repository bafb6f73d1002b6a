"""The Schema Registry of a read: address and credentials, the groups of the streams, the schema to read with."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import Target
from aiopravega.sizes import LARGEST_PAYLOAD
from pravega_jobs.decoding.options import DecodeOptions, Format, RegistryOptions

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import GroupId, RegistryConfig, SchemaVersion
    from aiopravega.schema.registry.model import Encoding

# A client of the registry, or a configuration; each process makes its own client by it.
RegistrySource: TypeAlias = "RegistryConfig | SchemaRegistry"

_registries: "Final[dict[tuple[int, RegistryConfig], SchemaRegistry]]" = {}


def registry_of(source: RegistrySource) -> "SchemaRegistry":
    """The registry client of a configuration, and of this process, with the encodings that it has seen."""
    # Imported here: raw reads import nothing of schemas.
    from aiopravega.blocking.registry import SchemaRegistry

    if isinstance(source, SchemaRegistry):
        return source
    key = os.getpid(), source
    if key not in _registries:
        _registries[key] = SchemaRegistry(source)
    return _registries[key]


@dataclass(frozen=True, slots=True)
class Registered:
    """The schemas of events with headers: the groups of the streams, and the schema to read with.

    `source` is a configuration if the plan travels to other processes. `largest_payload` is the most bytes of a
    compressed payload once it is unpacked.
    """

    source: RegistrySource
    groups: dict[StreamName, "GroupId"]
    type: str
    version: int
    largest_payload: int = LARGEST_PAYLOAD

    def encoding_of(self, stream: StreamName) -> "Callable[[int], Encoding]":
        """A function that finds the encoding for an encoding id of a stream's events, in this process."""
        registry, group = registry_of(self.source), self.groups[stream]
        return lambda encoding_id: registry.encodings.get(group, encoding_id)

    def deserializer(self, stream: StreamName, target: Target, type_name: str | None) -> BlockDeserializer:
        """A deserializer that makes columns of a stream's events of one type; None: of all types."""
        return BlockDeserializer(target, self.encoding_of(stream), type_name, self.largest_payload)

    @property
    def pinned(self) -> dict[str, str]:
        """Options by which a later read has the same schema, although the registry has newer ones."""
        return {"schema_type": self.type, "schema_version": str(self.version)}


def registered_groups(
    options: DecodeOptions, of: "PravegaConfig | SchemaRegistry", streams: Collection[StreamName]
) -> tuple[Registered, "SchemaVersion"]:
    """The groups of some streams, and the schema to read with: the wanted one, or the first group's newest one.

    Raises:
        ConfigurationError: the group has no such schema.
        GroupNotFoundError: the registry has no group for a stream.
        PravegaError: the registry does not answer.
    """
    from aiopravega.schema import GroupId
    from aiopravega.schema.open import GroupAddress, need_group

    asked = options.registry or RegistryOptions()
    source = registry_config(asked, of) if isinstance(of, PravegaConfig) else of
    registry = registry_of(source)
    groups: dict[StreamName, GroupId] = {}
    chosen = None
    for stream in streams:
        where = GroupAddress.of_stream(stream, asked.group, asked.namespace)
        group = registry.run(need_group(registry.asynchronous, where))
        history = registry.history(group.name, group.namespace)
        groups[stream] = GroupId.of(group.name, group.namespace, history)
        if chosen is None:
            chosen = _choose(registry.versions(group.name, group.namespace), options, group.name)
    if chosen is None:
        raise ConfigurationError("a read needs a stream")
    kind, version = chosen.schema_info.type, chosen.version_info.version
    return Registered(source, groups, kind, version, options.largest_payload), chosen


def registry_config(asked: RegistryOptions, config: PravegaConfig) -> "RegistryConfig":
    """The configuration of the registry's client, with the cluster's credentials unless the options give others.

    Raises:
        ConfigurationError: an option cannot work, or neither options nor environment have an address.
    """
    from aiopravega.schema import RegistryConfig

    beside = RegistryConfig.beside(config, asked.uri)
    own = any(way is not None for way in (asked.username, asked.token, asked.token_source))
    if not own and asked.ca_file is None:
        return beside
    who = asked if own else beside
    return RegistryConfig(
        uri=beside.uri,
        username=who.username,
        password=who.password,
        token=who.token,
        token_source=who.token_source,
        ca_file=asked.ca_file or beside.ca_file,
        verify_hostname=beside.verify_hostname,
    )


def _choose(versions: Sequence["SchemaVersion"], options: DecodeOptions, group: str) -> "SchemaVersion":
    """The schema to read with: of the wanted type, and of the wanted version or the newest."""
    form = options.format
    fitting = [
        version
        for version in versions
        if version.schema_info.format.lower() in ([form.payload] if form is not Format.AUTO else [*Format])
        and options.type in (None, version.schema_info.type)
    ]
    if not fitting:
        wanted = f" of type {options.type}" if options.type else ""
        known = ", ".join(sorted({f"{one.schema_info.type} ({one.schema_info.format})" for one in versions})) or "none"
        raise ConfigurationError(
            f"the registry's group {group!r} has no schema{wanted} for decode={form}; it has {known}"
        )
    kinds = sorted({f"{one.schema_info.type} ({one.schema_info.format})" for one in fitting})
    if len(kinds) > 1:
        raise ConfigurationError(
            f"the registry's group {group!r} has schemas of several types: {', '.join(kinds)}. Choose one with options "
            "'schema_type' and 'decode'; events of other types count as errors, which on_error=drop leaves out"
        )
    if options.version is None:
        return max(fitting, key=lambda one: one.version_info.version)
    for one in fitting:
        if one.version_info.version == options.version:
            return one
    known = ", ".join(str(one.version_info.version) for one in fitting)
    raise ConfigurationError(f"{kinds[0]} has no version {options.version} in group {group!r}; it has {known}")
