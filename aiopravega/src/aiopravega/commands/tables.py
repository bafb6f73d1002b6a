"""The command `pravega tables`: the key-value tables of a scope, with the tables of ledgers."""

import argparse
import dataclasses
from collections.abc import Sequence

from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    add_command,
    add_controller,
    add_json,
    add_yes,
    only_say,
    run,
    scope_of,
    show,
    table,
)
from aiopravega.names import StreamName


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if nothing was deleted, 2 after an error."""
    parser = argparse.ArgumentParser(prog="pravega tables", description="Key-value tables, with how they were made.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = add_command(commands, "list", _list, "list the tables of a scope")
    listed.add_argument("scope", nargs="?", help="default: PRAVEGA_SCOPE")
    described = add_command(commands, "describe", _describe, "show how a table was made, and count its entries")
    deleted = add_command(commands, "delete", _delete, "delete a table with all its entries")
    add_yes(deleted)
    for each in (described, deleted):
        each.add_argument("table", metavar="SCOPE/TABLE")
    for each in (listed, described, deleted):
        add_controller(each)
        add_json(each)
    return run(parser.parse_args(arguments))


async def _list(client: PravegaClient, options: argparse.Namespace) -> int:
    scope = scope_of(client, options.scope)
    tables = [
        {"table": f"{scope}/{name}", **await _made(client, scope, name)} for name in await client.list_tables(scope)
    ]
    header = ("table", "partitions", "key length", "secondary key length")
    return show(options, tables, table(header, [list(each.values()) for each in tables]))


async def _describe(client: PravegaClient, options: argparse.Namespace) -> int:
    description = await _described(client, options)
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in description.items()]
    return show(options, description, "\n".join(lines))


async def _delete(client: PravegaClient, options: argparse.Namespace) -> int:
    description = await _described(client, options)
    if not options.yes:
        return only_say(
            f"{description['table']} has {description['entries']:,} entries. To delete it with them, say --yes."
        )
    name = StreamName.parse(options.table, client.config.scope)
    done = await client.delete_table(name.scope, name.stream)
    outcome = "deleted" if done else "somebody else has deleted it meanwhile"
    show(options, description | {"deleted": done}, f"{description['table']}: {outcome}")
    return 0 if done else 1


async def _described(client: PravegaClient, options: argparse.Namespace) -> dict[str, object]:
    name = StreamName.parse(options.table, client.config.scope)
    made = await _made(client, name.scope, name.stream)
    entries = sum([len(page) async for page in client.table(name.scope, name.stream).key_pages()])
    return {"table": str(name), **made, "entries": entries}


async def _made(client: PravegaClient, scope: str, name: str) -> dict[str, object]:
    return dataclasses.asdict(await client.describe_table(scope, name))
