"""The Schema Registry's calls: groups, schemas, codecs, encodings.

Each returns the registry's answer as a value and raises errors that name the group. Nothing is remembered here; see
`aiopravega.schema.encodings` for that.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from aiopravega.errors import (
    GroupNotFoundError,
    NotFoundError,
    PravegaError,
    SchemaNotFoundError,
    SchemaRefusedError,
    ServerError,
)
from aiopravega.schema.config import RegistryConfig
from aiopravega.schema.model import (
    CodecType,
    Encoding,
    GroupProperties,
    HistoryRecord,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)

if TYPE_CHECKING:
    from aiopravega.schema.http import Answer

M = TypeVar("M", bound=BaseModel)


class SchemaRegistry:
    """An asynchronous client of a Schema Registry; use it with `async with`.

    A stream's group is named after the stream. `namespace` is the registry's own division; "" is the one that
    serializers use by default.
    """

    def __init__(self, config: RegistryConfig) -> None:
        from aiopravega.schema.http import RegistryHttp  # and httpx, which who only decodes does not need

        self.config = config
        self._http = RegistryHttp(config)

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

        Raises:
            PravegaError: the registry refuses.
        """
        body = {"groupName": group, "groupProperties": properties.to_json()}
        try:
            await self._http.ask("POST", "/v1/groups", f"making group {group}", query=_in(namespace), body=body)
        except SchemaRefusedError:
            return False
        return True

    async def delete_group(self, group: str, namespace: str = "") -> None:
        """Delete a group and its schemas; it need not exist.

        Raises:
            PravegaError: the registry refuses.
        """
        await self._http.ask("DELETE", _path(group), f"deleting group {group}", query=_in(namespace))

    async def group(self, group: str, namespace: str = "") -> GroupProperties:
        """The properties of a group.

        Raises:
            GroupNotFoundError: there is none.
        """
        answer = await self._get(group, namespace, "", f"reading group {group}")
        return _parsed(GroupProperties, answer.json())

    async def add_schema(self, group: str, schema: SchemaInfo, namespace: str = "") -> VersionInfo:
        """Add a schema to a group; one that is there already keeps its version.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaRefusedError: the group's policy, format or type does not allow it.
            InvalidSchemaError: the registry cannot parse it.
        """
        answer = await self._change("POST", group, namespace, "/schemas", f"adding {schema.type}", schema.to_json())
        return _parsed(VersionInfo, answer.json())

    async def latest(self, group: str, namespace: str = "") -> list[SchemaVersion]:
        """The newest schema of each type in a group.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._get(group, namespace, "/schemas", f"reading the schemas of group {group}")
        return [_parsed(SchemaVersion, schema) for schema in answer.json()["schemas"]]

    async def versions(self, group: str, namespace: str = "") -> list[SchemaVersion]:
        """All schemas of a group, oldest first, without deleted ones.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._get(group, namespace, "/schemas/versions", f"reading the schemas of group {group}")
        return [_parsed(SchemaVersion, schema) for schema in answer.json()["schemas"]]

    async def history(self, group: str, namespace: str = "") -> list[HistoryRecord]:
        """All schemas of a group as they were added, oldest first, with deleted ones.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._get(group, namespace, "/history", f"reading the history of group {group}")
        return [_parsed(HistoryRecord, record) for record in answer.json()["history"]]

    async def add_codec(self, group: str, codec: CodecType, namespace: str = "") -> None:
        """Allow a codec in a group.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        await self._change("POST", group, namespace, "/codecTypes", f"adding codec {codec.name}", codec.to_json())

    async def encoding_id(self, group: str, version: VersionInfo, codec: str = "", namespace: str = "") -> int:
        """The id of a schema with a codec, made if there is none yet.

        Raises:
            NotFoundError: there is no such group or schema.
            CodecNotRegisteredError: the codec was not added to the group.
        """
        body = {"versionInfo": version.to_json(), "codecType": codec}
        what = f"looking for the encoding id of {version.type} version {version.version}"
        answer = await self._change("PUT", group, namespace, "/encodings", what, body)
        return int(answer.json()["encodingId"])

    async def encoding(self, group: str, encoding_id: int, namespace: str = "") -> Encoding:
        """What an encoding id stands for.

        Raises:
            SchemaNotFoundError: the group has no such id.
        """
        what = f"reading encoding {encoding_id} of group {group}"
        try:
            answer = await self._http.ask("GET", _path(group, f"/encodings/{encoding_id}"), what, query=_in(namespace))
        except NotFoundError as error:
            raise SchemaNotFoundError(f"{error}: the group, or this encoding id in it, does not exist") from None
        return _parsed(Encoding, answer.json())

    async def _get(self, group: str, namespace: str, rest: str, what: str) -> "Answer":
        try:
            return await self._http.ask("GET", _path(group, rest), what, query=_in(namespace))
        except NotFoundError as error:
            raise _no_group(group, namespace, error) from None

    async def _change(self, method: str, group: str, namespace: str, rest: str, what: str, body: Any) -> "Answer":
        try:
            return await self._http.ask(
                method, _path(group, rest), f"{what} in group {group}", query=_in(namespace), body=body
            )
        except NotFoundError as error:
            if rest == "/encodings":
                raise SchemaNotFoundError(f"{error}: the group, or this version in it, does not exist") from None
            raise _no_group(group, namespace, error) from None


def _no_group(group: str, namespace: str, error: PravegaError) -> GroupNotFoundError:
    where = f"in namespace {namespace!r}" if namespace else "in the default namespace"
    return GroupNotFoundError(f"{error}: there is no group {group!r} {where}")


def _path(group: str, rest: str = "") -> str:
    return f"/v1/groups/{quote(group, safe='')}{rest}"


def _in(namespace: str) -> Mapping[str, str] | None:
    return {"namespace": namespace} if namespace else None


def _parsed(model: type[M], values: Any) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ServerError(f"the Schema Registry answered with no {model.__name__}: {error}") from None
