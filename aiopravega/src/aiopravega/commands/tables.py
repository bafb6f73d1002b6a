"""The command `pravega tables`: the key-value tables of a scope, with the tables of ledgers, and their entries.

Other distributions add subcommands, by entry points.
"""

import dataclasses
import json
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Final

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.common import SCOPE, YES, Option, Options, decided, scope_of, show, table, verb
from aiopravega.commands.grammar import DONE, NO, Argument, Topic
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.tables import TableEntry

command = Topic(name="tables", help="Key-value tables and their entries.")
# The group of entry points of functions that get the topic, and add a subcommand.
_SUBCOMMANDS: Final = "aiopravega.tables.commands"
_TABLE: Final = Argument("table", "SCOPE/TABLE", "or TABLE, in the scope PRAVEGA_SCOPE")
_KEY: Final = Argument("key", "KEY", "of as many bytes as the keys of the table have")
_FORMAT: Final = Option(
    ["--format", "form"],
    type=click.Choice(("text", "hex")),
    default="text",
    help="how keys and values are written: text in UTF-8 (the default), or bytes as hex",
)
_COUNT: Final = click.IntRange(min=1)


@verb(command, "list", SCOPE)
async def _list(client: PravegaClient, options: Options) -> int:
    """List the tables of a scope."""
    scope = scope_of(client, options.scope)
    tables = [
        {"table": f"{scope}/{name}", **dataclasses.asdict(await client.describe_table(scope, name))}
        for name in await client.list_tables(scope)
    ]
    header = ("table", "partitions", "key length", "secondary key length")
    return show(options, tables, table(header, [list(each.values()) for each in tables]))


@verb(command, "show", _TABLE)
async def _show(client: PravegaClient, options: Options) -> int:
    """Show how a table was made, and count its entries."""
    description = await _described(client, options)
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in description.items()]
    return show(options, description, "\n".join(lines))


@verb(
    command,
    "create",
    _TABLE,
    Option(["--key-length"], type=_COUNT, required=True, metavar="BYTES", help="of each key"),
    Option(["--secondary-key-length"], type=click.IntRange(min=0), default=0, metavar="BYTES", help="behind it (0)"),
    Option(["--partitions"], type=_COUNT, metavar="N", default=1, help="how many segments it has (1)"),
)
async def _create(client: PravegaClient, options: Options) -> int:
    """Make a table."""
    name = _name(client, options)
    made = await client.create_table(
        name.scope,
        name.stream,
        key_length=options.key_length,
        secondary_key_length=options.secondary_key_length,
        partitions=options.partitions,
    )
    said = "is made" if made else "exists already"
    return show(options, {"table": str(name), "created": made}, f"{name} {said}", yes=made)


@verb(command, "delete", _TABLE, YES)
async def _delete(client: PravegaClient, options: Options) -> int:
    """Delete a table with all its entries."""
    description = await _described(client, options)
    name = _name(client, options)
    if not decided(options, f"{name} has {description['entries']:,} entries: it is deleted with them."):
        return NO
    done = await client.delete_table(name.scope, name.stream)
    outcome = "deleted" if done else "somebody else has deleted it meanwhile"
    return show(options, description | {"deleted": done}, f"{name}: {outcome}", yes=done)


@verb(command, "entries", _TABLE, _FORMAT, Option(["--max", "most"], type=_COUNT, metavar="N", help="end after N"))
async def _entries(client: PravegaClient, options: Options) -> int:
    """Print the entries of a table, one a line: the key, a tab, and the value."""
    name = _name(client, options)
    await client.describe_table(name.scope, name.stream)
    left = options.most
    async for entry in client.table(name.scope, name.stream).entries():
        print(json.dumps(_json(entry, options)) if options.json else "\t".join(_texts(entry, options)))
        if left is not None and (left := left - 1) == 0:
            break
    return DONE


@verb(command, "get", _TABLE, _KEY, _FORMAT)
async def _get(client: PravegaClient, options: Options) -> int:
    """Print the value of a key."""
    name, key = await _addressed(client, options)
    entry = await client.table(name.scope, name.stream).get(key)
    if entry is None:
        click.echo(f"{name} has no key {options.key!r}", err=True)
        return NO
    return show(options, _json(entry, options), _texts(entry, options)[1])


@verb(
    command,
    "put",
    _TABLE,
    _KEY,
    Argument("value", "VALUE", "or - for standard input"),
    _FORMAT,
    YES,
)
async def _put(client: PravegaClient, options: Options) -> int:
    """Set the value of a key; one that is there is replaced only after the question."""
    name, key = await _addressed(client, options)
    value = sys.stdin.buffer.read() if options.value == "-" else _bytes(options.value, options)
    entries = client.table(name.scope, name.stream)
    before = await entries.get(key)
    if before is None:
        version = await entries.put_if_absent(key, value)
    elif before.value == value:
        return show(options, _json(before, options), "it has this value already")
    elif not decided(options, f"{options.key!r} of {name} has the value {_texts(before, options)[1]!r}: replaced."):
        return NO
    else:
        version = await entries.replace(key, value, before.version)
    return show(options, _json(TableEntry(key, value, version), options), f"{options.key} is set, version {version}")


@verb(command, "remove", _TABLE, _KEY, _FORMAT, YES)
async def _remove(client: PravegaClient, options: Options) -> int:
    """Remove a key with its value."""
    name, key = await _addressed(client, options)
    entries = client.table(name.scope, name.stream)
    before = await entries.get(key)
    if before is None:
        return show(options, {"removed": False}, f"{name} has no key {options.key!r}", yes=False)
    if not decided(options, f"{options.key!r} of {name} has the value {_texts(before, options)[1]!r}: removed."):
        return NO
    await entries.remove(key, before.version)
    return show(options, _json(before, options) | {"removed": True}, f"{options.key} is removed")


def _name(client: PravegaClient, options: Options) -> StreamName:
    return StreamName.parse(options.table, client.config.scope)


async def _addressed(client: PravegaClient, options: Options) -> tuple[StreamName, bytes]:
    """The table, and the key as bytes.

    Raises:
        ConfigurationError: the key has another length than the keys of the table.
        TableNotFoundError: there is no such table.
    """
    name, key = _name(client, options), _bytes(options.key, options)
    made = await client.describe_table(name.scope, name.stream)
    if len(key) != made.total_key_length:
        raise ConfigurationError(
            f"the key {options.key!r} has {len(key)} bytes, and those of {name} have {made.total_key_length}"
        )
    return name, key


def _bytes(text: str, options: Options) -> bytes:
    if options.form == "text":
        return text.encode()
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ConfigurationError(f"{text!r} is not hex: two digits for each byte") from None


def _texts(entry: TableEntry, options: Options) -> tuple[str, str]:
    as_text: Callable[[bytes], str] = (
        bytes.hex if options.form == "hex" else lambda data: data.decode("utf-8", "backslashreplace")
    )
    return as_text(entry.key), as_text(entry.value)


def _json(entry: TableEntry, options: Options) -> dict[str, object]:
    key, value = _texts(entry, options)
    return {"key": key, "value": value, "version": entry.version}


async def _described(client: PravegaClient, options: Options) -> dict[str, object]:
    name = _name(client, options)
    made = dataclasses.asdict(await client.describe_table(name.scope, name.stream))
    entries = sum([len(page) async for page in client.table(name.scope, name.stream).key_pages()])
    return {"table": str(name), **made, "entries": entries}


for added in entry_points(group=_SUBCOMMANDS):
    added.load()(command)
