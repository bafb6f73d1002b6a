"""The Schema Registry's client: groups, schemas, codecs, encodings.

Each call returns the registry's answer as a value and raises errors that name the group. Calls remember nothing; what
encoding ids stand for, `encodings` does.
"""

from types import TracebackType
from typing import Self

from aiopravega.schema.registry.calls import each, parsed
from aiopravega.schema.registry.config import RegistryConfig
from aiopravega.schema.registry.encodings import EncodingCache
from aiopravega.schema.registry.model import CodecType, Encoding, GroupProperties, SchemaInfo, VersionInfo
from aiopravega.schema.registry.schemas import SchemaCalls


class SchemaRegistry(SchemaCalls):
    """An asynchronous client of a Schema Registry; use it with `async with`.

    A stream's group is named after the stream. `namespace` is the registry's own division; "" is the one that
    serializers use by default.
    """

    def __init__(self, config: RegistryConfig) -> None:
        super().__init__(config)
        self.encodings = EncodingCache(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def create_group(self, group: str, properties: GroupProperties, namespace: str = "") -> bool:
        """Make a group; returns False if it exists already, whatever its properties.

        The registry takes most policies of formats other than Avro in a second request only, which is sent here: see
        `aiopravega.schema.open.groups`.

        Raises:
            ConfigurationError: there is no such policy.
            PravegaError: the registry refuses; no group is left.
        """
        from aiopravega.schema.open.groups import make_group

        return (await make_group(self, group, properties, namespace)).made

    async def add_schema(
        self, group: str, schema: SchemaInfo, namespace: str = "", *, declared_only: bool = False
    ) -> VersionInfo:
        """Add a schema to a group whose policy allows it; one that is there already keeps its version.

        The schema is compared here, since the server compares Avro only: see `aiopravega.schema.open.register`, which
        also makes groups. `declared_only` is for JSON: see `aiopravega.schema.open.Question`.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaRefusedError: the group's policy, format or type does not allow it; the message lists the violations.
            InvalidSchemaError: it cannot be parsed.
            ConfigurationError: the extra of the schema's format is not installed.
        """
        from aiopravega.schema.open.compare import Question
        from aiopravega.schema.open.groups import GroupAddress
        from aiopravega.schema.open.register import offer_schema

        question = Question(declared_only=declared_only)
        address = GroupAddress(group, (namespace,))
        report = (await offer_schema(self, address, schema, question=question)).require()
        assert report.registered is not None
        return report.registered

    async def codecs(self, group: str, namespace: str = "") -> list[CodecType]:
        """The codecs that a group allows, beside none at all.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._get(group, namespace, "/codecTypes", f"reading the codecs of group {group}")
        return each(CodecType, answer.json(), "codecTypes")

    async def add_codec(self, group: str, codec: CodecType, namespace: str = "") -> None:
        """Allow a codec in a group.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        await self._change("POST", group, namespace, "/codecTypes", f"adding codec {codec.name}", codec.to_json())

    async def encoding_id(self, group: str, version: VersionInfo, codec: str = "", namespace: str = "") -> int:
        """The id of a schema with a codec, made if there is none yet.

        Raises:
            SchemaNotFoundError: there is no such group or schema.
            CodecNotRegisteredError: the codec was not added to the group.
        """
        body = {"versionInfo": version.to_json(), "codecType": codec}
        what = f"looking for the encoding id of {version.type} version {version.version} in group {group}"
        answer = await self._find("PUT", group, namespace, "/encodings", what, body)
        return int(answer.json()["encodingId"])

    async def encoding(self, group: str, encoding_id: int, namespace: str = "") -> Encoding:
        """What an encoding id stands for.

        Raises:
            SchemaNotFoundError: the group has no such id.
        """
        what = f"reading encoding {encoding_id} of group {group}"
        answer = await self._find("GET", group, namespace, f"/encodings/{encoding_id}", what)
        return parsed(Encoding, answer.json())
