# long because: one class with all requests to the registry; most lines are docstrings.
"""The requests to a Schema Registry: groups, schemas, codecs, encodings. Users call `SchemaRegistry`.

Each call returns the registry's answer as a value and raises errors that name the group. Calls remember nothing;
`encodings` remembers the meaning of encoding ids.
"""

from collections.abc import AsyncIterator
from typing import Self
from urllib.parse import quote

from aiopravega.errors import SchemaNotFoundError, SchemaRefusedError, ServerError
from aiopravega.schema.registry.calls import Calls, each, parsed, path
from aiopravega.schema.registry.config import RegistryConfig
from aiopravega.schema.registry.encodings import EncodingCache
from aiopravega.schema.registry.model import (
    CodecType,
    Compatibility,
    Encoding,
    GroupProperties,
    GroupsPage,
    HistoryRecord,
    References,
    SchemaFormat,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)


class RegistryClient:
    """Requests as the server knows them. `SchemaRegistry` adds the requests that compare on this side first."""

    def __init__(self, config: RegistryConfig) -> None:
        self.config = config
        self.encodings = EncodingCache(self)
        self._calls = Calls(config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._calls.close()

    async def ping(self) -> None:
        """Ask whether the registry is there, with these credentials.

        Raises:
            PravegaError: it is not.
        """
        await self._calls.ask("GET", "/ping", "asking whether the Schema Registry is there")

    async def groups_page(self, namespace: str = "", limit: int = 100, token: str | None = None) -> GroupsPage:
        """Some of the groups; a page without any is the last one.

        Args:
            namespace: the groups' namespace.
            limit: the largest number of groups.
            token: of the page before. The registry never answers to a token that it did not give out.

        Raises:
            PravegaTimeoutError: the token is not one of the registry's, or the registry is overloaded.
        """
        query = {"limit": str(limit)} | ({} if token is None else {"continuationToken": token})
        what = "listing groups" + (f" after {token!r}, if that is a token of this registry's" if token else "")
        return parsed(
            GroupsPage, (await self._calls.ask("GET", "/v1/groups", what, namespace=namespace, query=query)).json()
        )

    async def groups(self, namespace: str = "", page: int = 100) -> AsyncIterator[tuple[str, GroupProperties]]:
        """All groups that this account may read, with their properties; each request asks for `page` groups."""
        token = None
        while True:
            one_page = await self.groups_page(namespace, page, token)
            for group in one_page.groups.items():
                yield group
            # A page of groups that this account may not read is also empty, but its token continues.
            if one_page.continuation_token == token or (not one_page.groups and token is None):
                return
            token = one_page.continuation_token

    async def _send_group(self, group: str, properties: GroupProperties, namespace: str) -> bool:
        """Make a group, of a format other than Avro only with policy `AllowAny` or `DenyAll`; False if it exists."""
        body = {"groupName": group, "groupProperties": properties.to_json()}
        try:
            await self._calls.ask("POST", "/v1/groups", f"making group {group}", namespace=namespace, body=body)
        except SchemaRefusedError:
            return False
        return True

    async def delete_group(self, group: str, namespace: str = "") -> None:
        """Delete a group and its schemas; it need not exist.

        Raises:
            PravegaError: the registry refuses.
        """
        await self._calls.ask("DELETE", path(group), f"deleting group {group}", namespace=namespace)

    async def group(self, group: str, namespace: str = "") -> GroupProperties:
        """The properties of a group.

        Raises:
            GroupNotFoundError: there is none.
        """
        answer = await self._calls.get(group, namespace, "", f"reading group {group}")
        return parsed(GroupProperties, answer.json())

    async def update_compatibility(
        self, group: str, compatibility: Compatibility, previous: Compatibility | None = None, namespace: str = ""
    ) -> None:
        """Change which schemas a group takes from now on; with `previous` only if that is its policy now.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaRefusedError: its policy is not `previous`.
            InvalidSchemaError: there is no such policy.
        """
        body = {"compatibility": compatibility.to_json()}
        if previous is not None:
            body["previousCompatibility"] = previous.to_json()
        await self._calls.change("PUT", group, namespace, "/compatibility", "changing the compatibility", body)

    async def history(self, group: str, namespace: str = "") -> list[HistoryRecord]:
        """The schemas of a group as they were added, oldest first, without deleted ones: when, and under which policy.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._calls.get(group, namespace, "/history", f"reading the history of group {group}")
        return each(HistoryRecord, answer.json(), "history")

    async def _send_schema(self, group: str, schema: SchemaInfo, namespace: str) -> VersionInfo:
        """Add a schema; the registry compares Avro only. A schema that the group has keeps its version."""
        answer = await self._calls.change(
            "POST", group, namespace, "/schemas", f"adding {schema.type}", schema.to_json()
        )
        return parsed(VersionInfo, answer.json())

    async def latest(self, group: str, namespace: str = "", type_name: str | None = None) -> list[SchemaVersion]:
        """The newest schema of each type in a group, or of one type.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaNotFoundError: it has no such type.
        """
        return await self._listed(group, namespace, "/schemas", type_name)

    async def versions(self, group: str, namespace: str = "", type_name: str | None = None) -> list[SchemaVersion]:
        """All schemas of a group, or of one type, oldest first, without deleted ones.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        return await self._listed(group, namespace, "/schemas/versions", type_name)

    async def _listed(self, group: str, namespace: str, rest: str, type_name: str | None) -> list[SchemaVersion]:
        what = f"reading the schemas of group {group}"
        query = None if type_name is None else {"type": type_name}
        try:
            answer = await self._calls.get(group, namespace, rest, what, query)
        except ServerError:
            # This is the registry's answer for a type that it does not have.
            if type_name is None or any(
                one.schema_info.type == type_name for one in await self.latest(group, namespace)
            ):
                raise
            raise SchemaNotFoundError(f"{what}: it has no type {type_name!r}") from None
        return each(SchemaVersion, answer.json(), "schemas")

    async def schema(self, group: str, schema_id: int, namespace: str = "") -> SchemaInfo:
        """A schema by its id in the group, deleted or not.

        Raises:
            SchemaNotFoundError: there is none.
        """
        what = f"reading schema {schema_id} of group {group}"
        return parsed(
            SchemaInfo, (await self._calls.find("GET", group, namespace, f"/schemas/schema/{schema_id}", what)).json()
        )

    async def schema_of_version(
        self, group: str, kind: SchemaFormat | str, type_name: str, version: int, namespace: str = ""
    ) -> SchemaInfo:
        """A schema by its format, type and version, deleted or not.

        Raises:
            SchemaNotFoundError: there is none.
        """
        what = f"reading {type_name} version {version} of group {group}"
        schema = parsed(
            SchemaInfo, (await self._calls.find("GET", group, namespace, _of(kind, type_name, version), what)).json()
        )
        if schema.name_of_format != kind:  # a registry that keeps its schemas in Pravega ignores the format
            raise SchemaNotFoundError(f"{what}: it is in format {schema.name_of_format}, not {kind}")
        return schema

    async def find_version(self, group: str, schema: SchemaInfo, namespace: str = "") -> VersionInfo:
        """The version of a schema, which has to be in the group.

        Raises:
            SchemaNotFoundError: it is not there, or there is no such group.
        """
        what = f"looking for {schema.type} in group {group}"
        answer = await self._calls.find("POST", group, namespace, "/schemas/versions/find", what, schema.to_json())
        return parsed(VersionInfo, answer.json())

    async def delete_schema(self, group: str, version: VersionInfo, namespace: str = "") -> None:
        """Delete a schema; it need not exist. Events that were written with it can still be read: its encodings stay.

        Raises:
            PravegaError: the registry refuses.
        """
        what = f"deleting {version.type} version {version.version} of group {group}"
        await self._calls.ask("DELETE", path(group, f"/schemas/schema/{version.id}"), what, namespace=namespace)

    async def delete_version(
        self, group: str, kind: SchemaFormat | str, type_name: str, version: int, namespace: str = ""
    ) -> None:
        """Delete a schema by its format, type and version; see `delete_schema`.

        Raises:
            SchemaNotFoundError: there is none, or of another format.
        """
        await self.schema_of_version(group, kind, type_name, version, namespace)
        what = f"deleting {type_name} version {version} of group {group}"
        await self._calls.find("DELETE", group, namespace, _of(kind, type_name, version), what)

    async def validate(
        self, group: str, schema: SchemaInfo, compatibility: Compatibility | None = None, namespace: str = ""
    ) -> bool:
        """True if the registry would add a schema, by the group's policy or by another one; nothing is added.

        The registry compares schemas of Avro only: see `aiopravega.schema.policy` for the others.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        policy = compatibility or (await self.group(group, namespace)).compatibility
        body = {"schemaInfo": schema.to_json(), "compatibility": policy.to_json()}
        answer = await self._calls.change(
            "POST", group, namespace, "/schemas/versions/validate", f"checking {schema.type}", body
        )
        return bool(answer.json()["valid"])

    async def can_read(self, group: str, schema: SchemaInfo, namespace: str = "") -> bool:
        """True if, for the registry, a reader with this schema can read the group's events.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        rest, what = "/schemas/versions/canRead", f"asking who can read with {schema.type}"
        answer = await self._calls.change("POST", group, namespace, rest, what, schema.to_json())
        return bool(answer.json()["compatible"])

    async def references(self, schema: SchemaInfo, namespace: str = "") -> dict[str, VersionInfo]:
        """The groups of a namespace that have a schema, each with the schema's version there."""
        what = f"looking for groups with {schema.type}"
        answer = await self._calls.ask("POST", "/v1/schemas/addedTo", what, namespace=namespace, body=schema.to_json())
        return parsed(References, answer.json()).groups

    async def codecs(self, group: str, namespace: str = "") -> list[CodecType]:
        """The codecs that a group allows; events without a codec are always allowed.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._calls.get(group, namespace, "/codecTypes", f"reading the codecs of group {group}")
        return each(CodecType, answer.json(), "codecTypes")

    async def add_codec(self, group: str, codec: CodecType, namespace: str = "") -> None:
        """Allow a codec in a group.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        await self._calls.change("POST", group, namespace, "/codecTypes", f"adding codec {codec.name}", codec.to_json())

    async def encoding_id(self, group: str, version: VersionInfo, codec: str = "", namespace: str = "") -> int:
        """The id of a schema with a codec, made if there is none yet.

        Raises:
            SchemaNotFoundError: there is no such group or schema.
            CodecNotRegisteredError: the codec was not added to the group.
        """
        body = {"versionInfo": version.to_json(), "codecType": codec}
        what = f"looking for the encoding id of {version.type} version {version.version} in group {group}"
        answer = await self._calls.find("PUT", group, namespace, "/encodings", what, body)
        return int(answer.json()["encodingId"])

    async def encoding(self, group: str, encoding_id: int, namespace: str = "") -> Encoding:
        """The schema and the codec of an encoding id.

        Raises:
            SchemaNotFoundError: the group has no such id.
        """
        what = f"reading encoding {encoding_id} of group {group}"
        answer = await self._calls.find("GET", group, namespace, f"/encodings/{encoding_id}", what)
        return parsed(Encoding, answer.json())


def _of(kind: SchemaFormat | str, type_name: str, version: int) -> str:
    return f"/schemas/format/{quote(kind, safe='')}/type/{quote(type_name, safe='')}/versions/{version}"
