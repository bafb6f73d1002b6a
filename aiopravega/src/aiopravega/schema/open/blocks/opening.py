"""Blocks with the registry: requests are sent before a block is written or read, never for each event."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from aiopravega.errors import SchemaNotFoundError
from aiopravega.schema.arrow.block import DecodedBlock
from aiopravega.schema.arrow.envelope import NO_HEADER, encoding_ids
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.serializer import BlockSerializer, row_encoder
from aiopravega.schema.open.blocks.targets import Target, target_of
from aiopravega.schema.open.compare import Question
from aiopravega.schema.open.groups import GroupAddress, NewGroup
from aiopravega.schema.open.registration import RegistrationTerms, settle
from aiopravega.schema.registry.codecs import NONE
from aiopravega.schema.registry.model import Encoding, SchemaInfo
from aiopravega.sizes import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from aiopravega.schema.registry.client import RegistryClient
    from aiopravega.schema.registry.encodings import GroupId


async def open_block_serializer(
    registry: "RegistryClient",
    group: str,
    schema: SchemaInfo,
    columns: pa.Schema,
    *,
    namespace: str = "",
    codec: str = NONE,
    header: bool = True,
    register: bool = True,
    new_policy: str | None = None,
    declared_only: bool = False,
) -> BlockSerializer:
    """A serializer of rows, by a schema that the registry knows.

    Args:
        registry: a client of it; it is not needed any more when this returns.
        group: a stream's group is named after the stream.
        schema: of the events: Avro, JSON or Protobuf.
        columns: the names and types of the rows.
        namespace: the group's namespace.
        codec: the codec of payloads.
        header: begin each event with its encoding id.
        register: make the group, add the schema and allow the codec, if they are missing.
        new_policy: of a new group; by default `BackwardTransitive`.
        declared_only: as of `open_serializer`.

    Raises:
        ConfigurationError: a column does not fit the schema.
        PravegaError: as by `aiopravega.schema.serializers.open_serializer`.
    """
    rows = row_encoder(schema.format, schema.schema_data, schema.type, columns)  # before anything is registered
    terms = RegistrationTerms(codec, header, register, NewGroup(new_policy), Question(declared_only=declared_only))
    settled = await settle(registry, GroupAddress(group, (namespace,)), schema, terms)
    return BlockSerializer(rows, settled.head, settled.codec)


class BlockReader:
    """Decodes blocks of a group's events into columns; belongs to one event loop. Each encoding id is asked for once.

    Attributes:
        blocks: decodes blocks whose encoding ids are known.
    """

    def __init__(
        self,
        registry: "RegistryClient",
        group: "GroupId",
        target: Target,
        type_name: str | None = None,
        limit: int = LARGEST_PAYLOAD,
    ) -> None:
        self._registry, self._group = registry, group
        self._found: dict[int, Encoding | SchemaNotFoundError] = {}
        self.blocks = BlockDeserializer(target, self._encoding, type_name, limit)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.blocks.schema

    async def decode(self, events: pa.BinaryArray) -> DecodedBlock:
        """The columns of some events, and the events that could not be decoded.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        await self.learn(self.unknown(events))
        return self.blocks.decode(events)

    async def batch(self, events: pa.BinaryArray) -> pa.RecordBatch:
        """The rows of some events.

        Raises:
            MalformedEventError: one cannot be decoded; `at` is its number among them.
            PravegaError: the registry cannot be asked.
        """
        await self.learn(self.unknown(events))
        return self.blocks.batch(events)

    def unknown(self, events: pa.BinaryArray) -> list[int]:
        """The encoding ids of some events that the registry was not asked for yet."""
        ids: list[int] = np.unique(encoding_ids(events)).tolist()
        return [encoding_id for encoding_id in ids if encoding_id != NO_HEADER and encoding_id not in self._found]

    async def learn(self, ids: Iterable[int]) -> None:
        """Ask the registry for encoding ids.

        Raises:
            PravegaError: the registry cannot be asked.
        """
        for encoding_id in ids:
            try:
                self._found[encoding_id] = await self._registry.encodings.get(self._group, encoding_id)
            except SchemaNotFoundError as error:
                self._found[encoding_id] = error

    def _encoding(self, encoding_id: int) -> Encoding:
        found = self._found[encoding_id]
        if isinstance(found, SchemaNotFoundError):
            raise found
        return found


async def open_block_reader(
    registry: "RegistryClient",
    group: str,
    *,
    namespace: str = "",
    type_name: str | None = None,
    target: Target | None = None,
    limit: int = LARGEST_PAYLOAD,
) -> BlockReader:
    """A reader of a group's events as columns.

    Args:
        registry: a client of it, which has to stay open.
        group: a stream's group is named after the stream.
        namespace: the group's namespace.
        type_name: the type to read; it is needed if the group has several and no `target` is given.
        target: the columns; None: the columns of the type's newest schema.
        limit: of a payload that was compressed, in bytes.

    Raises:
        GroupNotFoundError: there is no such group.
        SchemaNotFoundError: it has no schema, or several types.
        ConfigurationError: the schema cannot become columns.
    """
    found = await wanted(registry, group, namespace, type_name, target)
    return BlockReader(registry, found.group, found.target, found.type_name, limit)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A group, and the columns and the type to read."""

    group: "GroupId"
    target: Target
    type_name: str | None


async def wanted(
    registry: "RegistryClient", group: str, namespace: str, type_name: str | None, target: Target | None
) -> Wanted:
    """The columns and the type to read of a group; see `open_block_reader`."""
    known = await registry.encodings.identify(group, namespace)
    if target is not None:
        return Wanted(known, target, type_name)
    newest = await registry.latest(group, namespace, type_name)
    if len(newest) != 1:
        names = ", ".join(one.schema_info.type for one in newest) or "none"
        raise SchemaNotFoundError(f"group {group} has the types {names}: name the one to read with type_name")
    return Wanted(known, target_of(newest[0].schema_info), newest[0].schema_info.type)
