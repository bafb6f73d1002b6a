"""The command `pravega scopes`: scopes, which hold streams, key-value tables and reader groups."""

from aiopravega.client import PravegaClient
from aiopravega.commands.common import YES, Options, decided, show, table, verb
from aiopravega.commands.grammar import NO, Argument, Topic
from aiopravega.errors import ScopeNotFoundError

command = Topic(name="scopes", help="Scopes: they hold streams, key-value tables and reader groups.")
_SCOPE = Argument("scope", "SCOPE")


@verb(command, "list")
async def _list(client: PravegaClient, options: Options) -> int:
    """List the scopes that these credentials may see."""
    scopes = await client.list_scopes()
    return show(options, scopes, "\n".join(scopes))


@verb(command, "show", _SCOPE)
async def _show(client: PravegaClient, options: Options) -> int:
    """Show the names of all that a scope holds."""
    holdings = await _holdings(client, options.scope)
    rows = [(name.replace("_", " "), ", ".join(names)) for name, names in holdings.items() if names]
    return show(options, {"scope": options.scope, **holdings}, table(("scope", options.scope), rows))


@verb(command, "create", _SCOPE)
async def _create(client: PravegaClient, options: Options) -> int:
    """Make a scope."""
    made = await client.create_scope(options.scope)
    said = "is made" if made else "exists already"
    return show(options, {"scope": options.scope, "created": made}, f"{options.scope} {said}", yes=made)


@verb(command, "delete", _SCOPE, YES)
async def _delete(client: PravegaClient, options: Options) -> int:
    """Delete a scope that holds nothing."""
    holdings = await _holdings(client, options.scope)
    if not any(holdings.values()) and not decided(options, f"{options.scope} is empty, and is deleted."):
        return NO
    gone = await client.delete_scope(options.scope)
    said = "is deleted" if gone else "was deleted by somebody else meanwhile"
    return show(options, {"scope": options.scope, "deleted": gone}, f"{options.scope} {said}", yes=gone)


async def _holdings(client: PravegaClient, scope: str) -> dict[str, list[str]]:
    if not await client.controller.scope_exists(scope):
        raise ScopeNotFoundError(f"there is no scope {scope}")
    return {
        "streams": [each.stream for each in await client.list_streams(scope)],
        "tables": await client.list_tables(scope),
        "reader_groups": await client.reader_groups(scope),
    }
