"""Base of all calls to the Schema Registry: paths, answers as values, errors that name the group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from aiopravega.errors import GroupNotFoundError, NotFoundError, PravegaError, SchemaNotFoundError, ServerError
from aiopravega.schema.registry.config import RegistryConfig

if TYPE_CHECKING:
    from aiopravega.schema.registry.http import Answer

M = TypeVar("M", bound=BaseModel)


class Calls:
    """Sends requests to one registry."""

    def __init__(self, config: RegistryConfig) -> None:
        # It imports httpx, which programs that only decode do not need.
        from aiopravega.schema.registry.http import RegistryHttp

        self._http = RegistryHttp(config)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def ask(
        self,
        method: str,
        address: str,
        what: str,
        namespace: str = "",
        query: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> "Answer":
        """Send a request that is not about one group, or whose group need not exist."""
        return await self._http.ask(method, address, what, query=inside(namespace, query), body=body)

    async def get(
        self, group: str, namespace: str, rest: str, what: str, query: Mapping[str, str] | None = None
    ) -> "Answer":
        """Read a part of a group; "not found" then means the group itself."""
        try:
            return await self.ask("GET", path(group, rest), what, namespace, query)
        except NotFoundError as error:
            raise no_group(group, namespace, error) from None

    async def change(self, method: str, group: str, namespace: str, rest: str, what: str, body: Any) -> "Answer":
        """Send a request about a group; "not found" then means the group itself."""
        what = f"{what} in group {group}"
        try:
            return await self.ask(method, path(group, rest), what, namespace, body=body)
        except NotFoundError as error:
            raise no_group(group, namespace, error) from None

    async def find(self, method: str, group: str, namespace: str, rest: str, what: str, body: Any = None) -> "Answer":
        """Get a part of a group; the registry does not report whether the part or the whole group is missing."""
        try:
            return await self.ask(method, path(group, rest), what, namespace, body=body)
        except NotFoundError as error:
            raise SchemaNotFoundError(
                f"{error}: group {group!r} does not exist{where(namespace)}, or does not have it"
            ) from None


def no_group(group: str, namespace: str, error: PravegaError) -> GroupNotFoundError:
    """The error for a group that does not exist."""
    return GroupNotFoundError(f"{error}: there is no group {group!r}{where(namespace)}")


def where(namespace: str) -> str:
    """Words for a namespace."""
    return f" in namespace {namespace!r}" if namespace else " in the default namespace"


def path(group: str, rest: str = "") -> str:
    """The path of a group, and of something in it."""
    return f"/v1/groups/{quote(group, safe='')}{rest}"


def inside(namespace: str, query: Mapping[str, str] | None = None) -> dict[str, str] | None:
    """The query of a request in a namespace."""
    found = dict(query or {})
    if namespace:
        found["namespace"] = namespace
    return found or None


def parsed(model: type[M], values: Any) -> M:
    """An answer as a value.

    Raises:
        ServerError: the answer does not have the fields of that value.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ServerError(f"the Schema Registry gave an answer that is not a {model.__name__}: {error}") from None


def each(model: type[M], values: Any, name: str) -> list[M]:
    """The values of a list in an answer.

    Raises:
        ServerError: the answer has no such list.
    """
    found = values.get(name) if isinstance(values, dict) else None
    if not isinstance(found, list):
        raise ServerError(f"the Schema Registry gave an answer without a list of {name}")
    return [parsed(model, value) for value in found]
