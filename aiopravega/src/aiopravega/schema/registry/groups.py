"""The Schema Registry's calls on groups: which there are, what they take, what was added to them."""

from collections.abc import AsyncIterator

from aiopravega.errors import SchemaRefusedError
from aiopravega.schema.registry.calls import Calls, each, inside, parsed, path
from aiopravega.schema.registry.model import Compatibility, GroupProperties, GroupsPage, HistoryRecord


class GroupCalls(Calls):
    """Groups."""

    async def ping(self) -> None:
        """Ask whether the registry is there, with these credentials.

        Raises:
            PravegaError: it is not.
        """
        await self._http.ask("GET", "/ping", "asking whether the Schema Registry is there")

    async def groups_page(self, namespace: str = "", limit: int = 100, token: str | None = None) -> GroupsPage:
        """Some of the groups; a page without any is the last one.

        Args:
            namespace: in which they are.
            limit: at most so many.
            token: of the page before. The registry never answers to one that it did not give out.

        Raises:
            PravegaTimeoutError: the token is not one of the registry's, or the registry is overloaded.
        """
        query = {"limit": str(limit)} | ({} if token is None else {"continuationToken": token})
        what = "listing groups" + (f" after {token!r}, if that is a token of this registry's" if token else "")
        return parsed(
            GroupsPage, (await self._http.ask("GET", "/v1/groups", what, query=inside(namespace, query))).json()
        )

    async def groups(self, namespace: str = "", page: int = 100) -> AsyncIterator[tuple[str, GroupProperties]]:
        """All groups that this account may read, with their properties; `page` at a time are asked for."""
        token = None
        while True:
            found = await self.groups_page(namespace, page, token)
            for group in found.groups.items():
                yield group
            # A page of groups that may not be read is empty, too, but its token continues.
            if found.continuation_token == token or (not found.groups and token is None):
                return
            token = found.continuation_token

    async def _send_group(self, group: str, properties: GroupProperties, namespace: str) -> bool:
        """Make a group, of a format other than Avro only with policy `AllowAny` or `DenyAll`; False if it exists."""
        body = {"groupName": group, "groupProperties": properties.to_json()}
        try:
            await self._http.ask("POST", "/v1/groups", f"making group {group}", query=inside(namespace), body=body)
        except SchemaRefusedError:
            return False
        return True

    async def delete_group(self, group: str, namespace: str = "") -> None:
        """Delete a group and its schemas; it need not exist.

        Raises:
            PravegaError: the registry refuses.
        """
        await self._http.ask("DELETE", path(group), f"deleting group {group}", query=inside(namespace))

    async def group(self, group: str, namespace: str = "") -> GroupProperties:
        """The properties of a group.

        Raises:
            GroupNotFoundError: there is none.
        """
        answer = await self._get(group, namespace, "", f"reading group {group}")
        return parsed(GroupProperties, answer.json())

    async def update_compatibility(
        self, group: str, compatibility: Compatibility, previous: Compatibility | None = None, namespace: str = ""
    ) -> None:
        """Change which schemas a group takes from now on; with `previous` only if that is what it asks for now.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaRefusedError: it asks for something else than `previous`.
            InvalidSchemaError: there is no such policy.
        """
        body = {"compatibility": compatibility.to_json()}
        if previous is not None:
            body["previousCompatibility"] = previous.to_json()
        await self._change("PUT", group, namespace, "/compatibility", "changing the compatibility", body)

    async def history(self, group: str, namespace: str = "") -> list[HistoryRecord]:
        """The schemas of a group as they were added, oldest first, without deleted ones: when, and under which policy.

        Raises:
            GroupNotFoundError: there is no such group.
        """
        answer = await self._get(group, namespace, "/history", f"reading the history of group {group}")
        return each(HistoryRecord, answer.json(), "history")
