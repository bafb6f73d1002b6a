"""The command `pravega schema`: it compares a schema with others, of files or of a group, and registers it."""

import json
from pathlib import Path
from typing import Final

import click

from aiopravega.commands.common import DECLARED_ONLY, NEW_POLICY, PROTO_PATH, STREAM, Option, Options, table, verb
from aiopravega.commands.grammar import DONE, NO, Argument, Topic
from aiopravega.errors import ConfigurationError
from aiopravega.gates import check_schema
from aiopravega.gates.candidates import from_file, from_stream, protobuf_schema, text_schema
from aiopravega.gates.candidates.files import SUFFIXES
from aiopravega.names import StreamName
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry, SchemaVersion, VersionInfo
from aiopravega.schema.open import ComparisonOptions, GroupAddress, NewGroup, SchemaReport, check, offer_schema
from aiopravega.schema.policy import CompatibilityReport, parse_policy

_FORMATS = ("avro", "json", "protobuf")
_SOURCE = ".proto"  # always compiled, whatever --format is
_OF_FILES = "Backward"


command = Topic(name="schema", help="Compare schemas before they are used, and register them.")
_FILE: Final = click.Path(path_type=Path)
_TYPE: Final = Option(["--type"], metavar="NAME", help="of the schema: in a group of several types, or a .proto file")
_CANDIDATE: Final = (
    Option(["--new"], type=_FILE, required=True, metavar="FILE", help="the new schema"),
    Option(["--registry"], metavar="URI", help="default: PRAVEGA_SCHEMA_REGISTRY_URI"),
    Option(["--format"], type=click.Choice(_FORMATS), help="default: by the files' endings"),
    _TYPE,
    PROTO_PATH,
    DECLARED_ONLY,
    Option(["--as-columns"], is_flag=True, help="Avro: refuse what column readers such as Spark cannot hold, too"),
)


@verb(
    command,
    "check",
    Option(["--old"], type=_FILE, multiple=True, metavar="FILE", help="an old schema; several: oldest first"),
    Option(["--group"], help="or the group of a registry: that of a stream has the stream's name"),
    Option(["--namespace"], default="", help="of the group, in the registry"),
    Option(
        ["--policy"],
        help="a policy of the registry, or sides such as BackwardTill=2+Forward; default: the group's, of files "
        f"{_OF_FILES}",
    ),
    *_CANDIDATE,
    has_client=False,
)
async def _check(options: Options) -> int:
    """Compare a new schema with the schemas of files or of a group; nothing is added to the group.

    Avro (.avsc), JSON Schema (.json), Protobuf (.proto, or a descriptor set).
    """
    if bool(options.old) == (options.group is not None):
        raise ConfigurationError("a schema is compared with files or with a group: give --old or --group")
    new = _read(options.new, options)
    if options.group:
        async with SchemaRegistry(RegistryConfig(uri=options.registry)) as registry:
            report = await check_schema(
                registry,
                options.group,
                new,
                namespace=options.namespace,
                policy=options.policy,
                declared_only=options.declared_only,
                as_columns=options.as_columns,
            )
        result = report.compatibility
    else:
        existing = [_version(_read(path, options), number) for number, path in enumerate(options.old)]
        policy = parse_policy(options.policy or _OF_FILES, existing)
        result = check(new, existing, policy, declared_only=options.declared_only, as_columns=options.as_columns)
    return _answer(result, result.compatible, options)


@verb(
    command,
    "register",
    STREAM,
    Option(["--group"], help="default: the stream's name"),
    Option(["--namespace"], help="default: where the group is, and for a new one the scope's name"),
    NEW_POLICY,
    *_CANDIDATE,
    has_client=False,
)
async def _register(options: Options) -> int:
    """Add a schema to the group of a stream, if the group's policy allows it; the group is made if there is none.

    Avro (.avsc), JSON Schema (.json), Protobuf (.proto, or a descriptor set).
    """
    address = GroupAddress.of_stream(StreamName.parse(options.stream), options.group, options.namespace)
    comparison = ComparisonOptions(declared_only=options.declared_only, as_columns=options.as_columns)
    async with SchemaRegistry(RegistryConfig(uri=options.registry)) as registry:
        new = _read(options.new, options)
        report = await offer_schema(registry, address, new, NewGroup(options.new_policy), comparison)
    return _answer(report, report.passed, options)


@verb(
    command,
    "columns",
    Argument("source", "FILE|SCOPE/STREAM", "a schema's file, or a stream: the newest schema of its group"),
    Option(["--registry"], metavar="URI", help="default: PRAVEGA_SCHEMA_REGISTRY_URI"),
    _TYPE,
    PROTO_PATH,
    has_client=False,
)
async def _columns(options: Options) -> int:
    """Show the columns that events have by a schema, and the reason for each field that has none.

    The exit status is 1 if a field has none: then events of this schema are read raw, or by columns or a schema that
    you give.
    """
    from aiopravega.schema.open.blocks.fields import field_columns

    path = Path(options.source)
    if path.suffix.lower() in SUFFIXES:
        schema = _named(from_file(path, options.type, options.proto_path), path)
    else:
        async with SchemaRegistry(RegistryConfig(uri=options.registry)) as registry:
            schema = await from_stream(registry, StreamName.parse(options.source), options.type)
    found = [
        (one.name, "" if one.type is None else str(one.type), one.reason or "")  # a struct<> is false
        for one in field_columns(schema)
    ]
    if options.json:
        rows = [{"name": name, "type": kind or None, "reason": reason or None} for name, kind, reason in found]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        print(table(("field", "column", "reason"), found))
    return NO if any(reason for _, _, reason in found) else DONE


def _answer(report: CompatibilityReport | SchemaReport, good: bool, options: Options) -> int:
    """Print a report; returns the exit code."""
    print(json.dumps(report.to_json(), indent=2, ensure_ascii=False) if options.json else report.table())
    return DONE if good else NO


def _read(path: Path, options: Options) -> SchemaInfo:
    if options.format is None or path.suffix == _SOURCE:
        schema = from_file(path, options.type, options.proto_path)
    else:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"cannot read the schema {path}: {error.strerror}") from None
        if options.format == "protobuf":
            schema = protobuf_schema(data, options.type, str(path))
        elif options.format == "json":
            schema = SchemaInfo.of(SchemaFormat.JSON, options.type or "", data)
        else:
            schema = text_schema(data, options.type, str(path), avro=True)
    return _named(schema, path)


def _named(schema: SchemaInfo, path: Path) -> SchemaInfo:
    if schema.format is SchemaFormat.PROTOBUF and not schema.type:
        raise ConfigurationError(f"{path} has several messages: name that of the events by --type")
    return schema


def _version(schema: SchemaInfo, number: int) -> SchemaVersion:
    info = VersionInfo(type=schema.type, serialization_format=schema.format.value, version=number, id=number)
    return SchemaVersion(schema_info=schema, version_info=info)
