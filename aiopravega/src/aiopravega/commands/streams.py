"""The command `pravega streams`: streams, with the schemas of their events. Changes of them are in `stream_changes`."""

from pathlib import Path
from typing import Final

import click

from aiopravega.catalog import StreamTable
from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    DECLARED_ONLY,
    NEW_POLICY,
    PROTO_PATH,
    REGISTRY,
    SCOPE,
    STREAM,
    YES,
    Option,
    Options,
    decided,
    scope_of,
    show,
    stream_of,
    table,
    verb,
)
from aiopravega.commands.grammar import NO, Topic
from aiopravega.commands.stream_changes import (
    POLICIES,
    add_changes,
    catalog_of,
    retention_of,
    retention_text,
    scaling_of,
    scaling_text,
)

command = Topic(name="streams", help="Streams, with the schemas of their events.")


async def list_streams(client: PravegaClient, options: Options) -> int:
    """List the streams of a scope."""
    async with catalog_of(client, options) as catalog:
        tables = await catalog.list_tables(scope_of(client, options.scope), options.tag)
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


@verb(command, "show", STREAM, REGISTRY)
async def _show(client: PravegaClient, options: Options) -> int:
    """Show all about a stream: segments, policies, tags, head and tail, and the columns of its schema."""
    async with catalog_of(client, options) as catalog:
        described = await catalog.describe(stream_of(client, options))
    return show(options, described.to_json(), _text(described))


def _text(described: StreamTable) -> str:
    group = described.group
    rows = [
        ("segments", "sealed" if described.is_sealed else str(described.segments)),
        ("scaling", scaling_text(described.scaling)),
        ("retention", retention_text(described.retention)),
        ("bytes", f"{described.size:,}"),
        ("tags", ", ".join(described.tags)),
        ("head", described.head.to_text()),
        ("tail", described.tail.to_text()),
        ("schema", _schema(described)),
        ("group", f"{group.name} in namespace {group.namespace!r}, policy {group.policy}" if group else ""),
    ]
    text = table(("stream", str(described.stream)), [row for row in rows if row[1]])
    if described.columns:
        columns = [
            (column.name, column.type, "yes" if column.nullable else "no", column.description or "")
            for column in described.columns
        ]
        text += f"\n\n{table(('column', 'type', 'nullable', 'description'), columns)}"
    return text


@verb(
    command,
    "create",
    STREAM,
    *POLICIES,
    Option(["--tag", "tags"], multiple=True, help="may be given several times"),
    Option(["--create-scope"], is_flag=True, help="make its scope too, if there is none"),
    Option(
        ["--schema"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="of its events: .avsc, .json, .proto, or a descriptor set (.desc)",
    ),
    Option(["--type"], help="type of the schema, if the file does not say it"),
    PROTO_PATH,
    NEW_POLICY,
    DECLARED_ONLY,
    REGISTRY,
)
async def _create(client: PravegaClient, options: Options) -> int:
    """Make a stream, and the group and schema of its events."""
    schema = None
    if options.schema is not None:
        from aiopravega.gates.candidates import from_file

        schema = from_file(options.schema, options.type, options.proto_path)
    stream = stream_of(client, options)
    scaling, retention = scaling_of(options), retention_of(options)
    if options.create_scope:
        await client.create_scope(stream.scope)
    async with catalog_of(client, options) as catalog:
        made = await catalog.create(
            stream,
            schema,
            scaling=scaling,
            retention=retention,
            tags=options.tags,
            new_policy=options.new_policy,
            declared_only=options.declared_only,
        )
    return show(options, made.to_json(), _text(made))


async def delete_stream(client: PravegaClient, options: Options) -> int:
    """Delete a stream with all its events, and its schemas."""
    stream = stream_of(client, options)
    async with catalog_of(client, options) as catalog:
        described = await catalog.describe(stream)
        schemas = "" if described.group is None or options.keep_schemas else ", and the schemas of its events"
        if not decided(options, f"{stream} has {described.size:,} bytes: all of them are deleted{schemas}."):
            return NO
        gone = await catalog.drop(stream, keep_schemas=options.keep_schemas)
    said = "is deleted" if gone else "was deleted by somebody else meanwhile"
    return show(options, {"stream": str(stream), "deleted": gone}, f"{stream} {said}", yes=gone)


_TAG: Final = Option(["--tag"], help="only streams with this tag")
_KEEP: Final = Option(["--keep-schemas"], is_flag=True, help="leave its group in the registry")
verb(command, "list", SCOPE, _TAG, REGISTRY)(list_streams)
verb(command, "delete", STREAM, _KEEP, YES, REGISTRY)(delete_stream)
add_changes(command)
