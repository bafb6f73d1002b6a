"""The command `pravega catalog`: scopes and streams, with the schemas of their events."""

import argparse
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiopravega.catalog import PravegaCatalog, StreamTable
from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    DECLARED_ONLY_HELP,
    NEW_POLICY_HELP,
    add_command,
    add_controller,
    add_json,
    add_yes,
    only_say,
    run,
    show,
    table,
)
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.names import StreamName

_REGISTRY_VARIABLE = "PRAVEGA_SCHEMA_REGISTRY_URI"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if there was nothing to drop, 2 after an error."""
    parser = argparse.ArgumentParser(
        prog="pravega catalog", description="Scopes are namespaces, streams are tables with a schema."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = add_command(commands, "ls", _list, "list scopes, or the streams of one")
    listed.add_argument("scope", nargs="?", help="default: list the scopes")
    listed.add_argument("--tag", help="only streams with this tag")
    described = add_command(commands, "describe", _describe, "show all about a stream")
    created = add_command(commands, "create", _create, "make a stream, and the group and schema of its events")
    created.add_argument(
        "--schema", type=Path, metavar="FILE", help=".avsc, .json, .proto, or a descriptor set (.desc)"
    )
    created.add_argument("--type", help="type of the schema, if the file does not say it")
    created.add_argument("--new-policy", metavar="POLICY", help=NEW_POLICY_HELP)
    created.add_argument("--declared-only", action="store_true", help=DECLARED_ONLY_HELP)
    created.add_argument("--segments", type=int, default=1, help="how many segments it has (1)")
    created.add_argument("--keep-bytes", type=int, metavar="BYTES", help="remove what exceeds this; default: keep all")
    created.add_argument("--tag", action="append", default=[], dest="tags", help="may be given several times")
    created.add_argument("--create-scope", action="store_true", help="make its scope too, if there is none")
    dropped = add_command(commands, "drop", _drop, "delete a stream with all its events, and its schemas")
    dropped.add_argument("--keep-schemas", action="store_true", help="leave its group in the registry")
    add_yes(dropped)
    for each in (described, created, dropped):
        each.add_argument("stream", help="scope/stream")
    for each in (listed, described, created, dropped):
        add_controller(each)
        each.add_argument("--registry", metavar="URI", help=f"Schema Registry; default: {_REGISTRY_VARIABLE}, or none")
        add_json(each)
    return run(parser.parse_args(arguments))


@asynccontextmanager
async def _catalog(client: PravegaClient, options: argparse.Namespace) -> AsyncIterator[PravegaCatalog]:
    uri = options.registry or os.environ.get(_REGISTRY_VARIABLE)
    if uri is None:
        yield PravegaCatalog(client)
        return
    from aiopravega.schema import RegistryConfig, SchemaRegistry

    async with SchemaRegistry(RegistryConfig.beside(client.config, uri)) as registry:
        yield PravegaCatalog(client, registry)


async def _list(client: PravegaClient, options: argparse.Namespace) -> int:
    if options.scope is None:
        scopes = await client.list_scopes()
        return show(options, scopes, "\n".join(scopes))
    async with _catalog(client, options) as catalog:
        tables = await catalog.list_tables(options.scope, options.tag)
    rows = [
        (
            each.stream.stream,
            "sealed" if each.is_sealed else each.segments,
            f"{each.size:,}",
            _schema(each),
            each.group.policy if each.group else "",
            ", ".join(each.tags),
        )
        for each in tables
    ]
    listed = table(("stream", "segments", "bytes", "schema", "policy", "tags"), rows)
    return show(options, [each.to_json() for each in tables], listed)


def _schema(described: StreamTable) -> str:
    if described.group is None:
        return ""
    versions = [each.version_info for each in described.group.latest]
    types = ", ".join(f"{version.type} v{version.version}" for version in versions) or "no schema yet"
    return f"{described.group.properties.format} {types}"


async def _describe(client: PravegaClient, options: argparse.Namespace) -> int:
    async with _catalog(client, options) as catalog:
        described = await catalog.describe(options.stream)
    return show(options, described.to_json(), _text(described))


def _text(described: StreamTable) -> str:
    group = described.group
    rows = [
        ("stream", str(described.stream)),
        ("segments", "sealed" if described.is_sealed else str(described.segments)),
        ("bytes", f"{described.size:,}"),
        ("tags", ", ".join(described.tags)),
        ("head", described.head.to_text()),
        ("tail", described.tail.to_text()),
        ("schema", _schema(described)),
        ("group", f"{group.name} in namespace {group.namespace!r}, policy {group.policy}" if group else ""),
    ]
    text = table(rows[0], [row for row in rows[1:] if row[1]])
    if described.columns:
        columns = [
            (column.name, column.type, "yes" if column.nullable else "no", column.description or "")
            for column in described.columns
        ]
        text += f"\n\n{table(('column', 'type', 'nullable', 'description'), columns)}"
    return text


async def _create(client: PravegaClient, options: argparse.Namespace) -> int:
    schema = None
    if options.schema is not None:
        from aiopravega.gates.candidates import from_file

        schema = from_file(options.schema, options.type)
    if options.create_scope:
        await client.create_scope(StreamName.parse(options.stream, client.config.scope).scope)
    async with _catalog(client, options) as catalog:
        made = await catalog.create(
            options.stream,
            schema,
            scaling=ScalingPolicy.fixed(options.segments),
            retention=RetentionPolicy.none()
            if options.keep_bytes is None
            else RetentionPolicy.bytes(options.keep_bytes),
            tags=options.tags,
            new_policy=options.new_policy,
            declared_only=options.declared_only,
        )
    return show(options, made.to_json(), _text(made))


async def _drop(client: PravegaClient, options: argparse.Namespace) -> int:
    name = StreamName.parse(options.stream, client.config.scope)
    async with _catalog(client, options) as catalog:
        if not options.yes:
            described = await catalog.describe(name)
            return only_say(f"{name} has {described.size:,} bytes. To delete all of them, say --yes.")
        gone = await catalog.drop(name, keep_schemas=options.keep_schemas)
    if options.json:
        print(json.dumps({"stream": str(name), "dropped": gone}))
    else:
        print(f"{name} is deleted" if gone else f"there was no stream {name}")
    return 0 if gone else 1
