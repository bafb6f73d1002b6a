"""The Schema Registry's calls on the schemas of a group."""

from urllib.parse import quote

from aiopravega.errors import SchemaNotFoundError, ServerError
from aiopravega.schema.registry.calls import each, inside, parsed, path
from aiopravega.schema.registry.groups import GroupCalls
from aiopravega.schema.registry.model import (
    Compatibility,
    References,
    SchemaFormat,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)


class SchemaCalls(GroupCalls):
    """Schemas."""

    async def _send_schema(self, group: str, schema: SchemaInfo, namespace: str) -> VersionInfo:
        """Add a schema, of a format other than Avro without any comparison; one that is there keeps its version."""
        answer = await self._change("POST", group, namespace, "/schemas", f"adding {schema.type}", schema.to_json())
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
            answer = await self._get(group, namespace, rest, what, query)
        except ServerError:
            # So the registry answers for a type that it does not have.
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
            SchemaInfo, (await self._find("GET", group, namespace, f"/schemas/schema/{schema_id}", what)).json()
        )

    async def schema_of_version(
        self, group: str, kind: SchemaFormat | str, type_name: str, version: int, namespace: str = ""
    ) -> SchemaInfo:
        """A schema by its format, type and version, deleted or not.

        Raises:
            SchemaNotFoundError: there is none.
        """
        what = f"reading {type_name} version {version} of group {group}"
        found = parsed(
            SchemaInfo, (await self._find("GET", group, namespace, _of(kind, type_name, version), what)).json()
        )
        if found.name_of_format != kind:  # a registry that keeps its schemas in Pravega ignores the format
            raise SchemaNotFoundError(f"{what}: it is in format {found.name_of_format}, not {kind}")
        return found

    async def find_version(self, group: str, schema: SchemaInfo, namespace: str = "") -> VersionInfo:
        """The version of a schema, which has to be in the group.

        Raises:
            SchemaNotFoundError: it is not there, or there is no such group.
        """
        what = f"looking for {schema.type} in group {group}"
        answer = await self._find("POST", group, namespace, "/schemas/versions/find", what, schema.to_json())
        return parsed(VersionInfo, answer.json())

    async def delete_schema(self, group: str, version: VersionInfo, namespace: str = "") -> None:
        """Delete a schema; it need not exist. Events that were written with it can still be read: its encodings stay.

        Raises:
            PravegaError: the registry refuses.
        """
        what = f"deleting {version.type} version {version.version} of group {group}"
        await self._http.ask("DELETE", path(group, f"/schemas/schema/{version.id}"), what, query=inside(namespace))

    async def delete_version(
        self, group: str, kind: SchemaFormat | str, type_name: str, version: int, namespace: str = ""
    ) -> None:
        """Delete a schema by its format, type and version; see `delete_schema`.

        Raises:
            SchemaNotFoundError: there is none, or of another format.
        """
        await self.schema_of_version(group, kind, type_name, version, namespace)
        what = f"deleting {type_name} version {version} of group {group}"
        await self._find("DELETE", group, namespace, _of(kind, type_name, version), what)

    async def validate(
        self, group: str, schema: SchemaInfo, compatibility: Compatibility | None = None, namespace: str = ""
    ) -> bool:
        """Whether the registry would add a schema, by the group's policy or by another one; it adds nothing.

        The registry compares schemas of Avro only: see `aiopravega.schema.policy` for the others.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        policy = compatibility or (await self.group(group, namespace)).compatibility
        body = {"schemaInfo": schema.to_json(), "compatibility": policy.to_json()}
        answer = await self._change(
            "POST", group, namespace, "/schemas/versions/validate", f"checking {schema.type}", body
        )
        return bool(answer.json()["valid"])

    async def can_read(self, group: str, schema: SchemaInfo, namespace: str = "") -> bool:
        """Whether the registry thinks that a reader with this schema can read the group's events.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        rest, what = "/schemas/versions/canRead", f"asking who can read with {schema.type}"
        answer = await self._change("POST", group, namespace, rest, what, schema.to_json())
        return bool(answer.json()["compatible"])

    async def references(self, schema: SchemaInfo, namespace: str = "") -> dict[str, VersionInfo]:
        """In which groups of a namespace a schema is, and its version there."""
        what = f"looking for groups with {schema.type}"
        answer = await self._http.ask(
            "POST", "/v1/schemas/addedTo", what, query=inside(namespace), body=schema.to_json()
        )
        return parsed(References, answer.json()).groups


def _of(kind: SchemaFormat | str, type_name: str, version: int) -> str:
    return f"/schemas/format/{quote(kind, safe='')}/type/{quote(type_name, safe='')}/versions/{version}"
