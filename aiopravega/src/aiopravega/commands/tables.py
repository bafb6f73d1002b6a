"""The command `pravega tables`: the key-value tables of a scope, with the tables of ledgers."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence

from aiopravega.client import PravegaClient
from aiopravega.commands.common import NO_SCOPE, add_controller, run, table
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if nothing was deleted, 2 after an error."""
    parser = argparse.ArgumentParser(prog="pravega tables", description="Key-value tables, with how they were made.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="list the tables of a scope")
    listed.set_defaults(action=_list)
    listed.add_argument("scope", nargs="?", help="default: PRAVEGA_SCOPE")
    described = commands.add_parser("describe", help="show how a table was made, and count its entries")
    described.set_defaults(action=_describe)
    deleted = commands.add_parser("delete", help="delete a table with all its entries")
    deleted.set_defaults(action=_delete)
    deleted.add_argument("--yes", action="store_true", help="do it; without this option, only say what would be done")
    for each in (described, deleted):
        each.add_argument("table", metavar="SCOPE/TABLE")
    for each in (listed, described, deleted):
        add_controller(each)
        each.add_argument("--json", action="store_true", help="print JSON")
    return run(parser.parse_args(arguments))


async def _list(client: PravegaClient, options: argparse.Namespace) -> int:
    scope = options.scope or client.config.scope
    if scope is None:
        raise ConfigurationError(NO_SCOPE)
    tables = [
        {"table": f"{scope}/{name}", **await _made(client, scope, name)} for name in await client.list_tables(scope)
    ]
    if options.json:
        print(json.dumps(tables, indent=2))
    else:
        header = ("table", "partitions", "key length", "secondary key length")
        print(table(header, [list(each.values()) for each in tables]))
    return 0


async def _describe(client: PravegaClient, options: argparse.Namespace) -> int:
    description = await _described(client, options)
    if options.json:
        print(json.dumps(description, indent=2))
    else:
        print("\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in description.items()))
    return 0


async def _delete(client: PravegaClient, options: argparse.Namespace) -> int:
    description = await _described(client, options)
    if not options.yes:
        print(
            f"{description['table']} has {description['entries']:,} entries. To delete it with them, say --yes.",
            file=sys.stderr,
        )
        return 1
    name = StreamName.parse(options.table, client.config.scope)
    done = await client.delete_table(name.scope, name.stream)
    if options.json:
        print(json.dumps(description | {"deleted": done}, indent=2))
    else:
        print(
            f"{description['table']}: deleted"
            if done
            else f"{description['table']}: somebody else has deleted it meanwhile"
        )
    return 0 if done else 1


async def _described(client: PravegaClient, options: argparse.Namespace) -> dict[str, object]:
    name = StreamName.parse(options.table, client.config.scope)
    made = await _made(client, name.scope, name.stream)
    entries = sum([len(page) async for page in client.table(name.scope, name.stream).key_pages()])
    return {"table": str(name), **made, "entries": entries}


async def _made(client: PravegaClient, scope: str, name: str) -> dict[str, object]:
    return dataclasses.asdict(await client.describe_table(scope, name))
