"""The command `pravega schema`: it compares a schema with others, of files or of a group, and registers it."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from aiopravega.commands.common import DECLARED_ONLY_HELP, NEW_POLICY_HELP, add_command, add_json, exit_code_of
from aiopravega.errors import ConfigurationError
from aiopravega.gates import check_schema
from aiopravega.gates.candidates import from_file, protobuf_schema, text_schema
from aiopravega.names import StreamName
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry, SchemaVersion, VersionInfo
from aiopravega.schema.open import ComparisonOptions, GroupAddress, NewGroup, SchemaReport, check, offer_schema
from aiopravega.schema.policy import CompatibilityReport, parse_policy

_FORMATS = ("avro", "json", "protobuf")
_SOURCE = ".proto"  # always compiled, whatever --format is
_OF_FILES = "Backward"
_AS_COLUMNS_HELP = "Avro: refuse what column readers such as Spark cannot hold, too"
_FILES = "Avro (.avsc), JSON Schema (.json), Protobuf (.proto, or a descriptor set)."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if the schema is not compatible, 2 after an error."""
    parser = argparse.ArgumentParser(prog="pravega schema", description="Compare schemas before they are used.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    checked = add_command(
        commands,
        "check",
        _check,
        "is a new schema compatible with old ones?",
        description=f"Compare a new schema with those of files or of a group; nothing is added to the group. {_FILES}",
    )
    olds = checked.add_mutually_exclusive_group(required=True)
    olds.add_argument("--old", type=Path, action="append", metavar="FILE", help="an old schema; several: oldest first")
    olds.add_argument("--group", help="or the group of a registry: that of a stream has the stream's name")
    checked.add_argument("--namespace", default="", help="of the group, in the registry")
    checked.add_argument(
        "--policy",
        help="a policy of the registry, or sides such as BackwardTill=2+Forward; default: the group's, of files "
        f"{_OF_FILES}",
    )
    registered = add_command(
        commands,
        "register",
        _register,
        "add a schema to the group of a stream",
        description="Add a schema to the group of a stream, if the group's policy allows it; the group is made if "
        f"there is none. {_FILES}",
    )
    registered.add_argument("stream", help="scope/stream")
    registered.add_argument("--group", help="default: the stream's name")
    registered.add_argument("--namespace", help="default: where the group is, and for a new one the scope's name")
    registered.add_argument("--new-policy", metavar="POLICY", help=NEW_POLICY_HELP)
    for each in (checked, registered):
        each.add_argument("--new", type=Path, required=True, metavar="FILE", help="the new schema")
        each.add_argument("--registry", metavar="URI", help="default: PRAVEGA_SCHEMA_REGISTRY_URI")
        each.add_argument("--format", choices=_FORMATS, help="default: by the files' endings")
        each.add_argument("--type", metavar="NAME", help="of the schema: in a group of several types, or a .proto file")
        each.add_argument("--declared-only", action="store_true", help=DECLARED_ONLY_HELP)
        each.add_argument("--as-columns", action="store_true", help=_AS_COLUMNS_HELP)
        add_json(each, "print JSON, with the whole texts")
    options = parser.parse_args(arguments)
    return exit_code_of(options.action(options))


async def _check(options: argparse.Namespace) -> int:
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


async def _register(options: argparse.Namespace) -> int:
    address = GroupAddress.of_stream(StreamName.parse(options.stream), options.group, options.namespace)
    comparison = ComparisonOptions(declared_only=options.declared_only, as_columns=options.as_columns)
    async with SchemaRegistry(RegistryConfig(uri=options.registry)) as registry:
        new = _read(options.new, options)
        report = await offer_schema(registry, address, new, NewGroup(options.new_policy), comparison)
    return _answer(report, report.passed, options)


def _answer(report: CompatibilityReport | SchemaReport, good: bool, options: argparse.Namespace) -> int:
    """Print a report; returns the exit code."""
    print(json.dumps(report.to_json(), indent=2, ensure_ascii=False) if options.json else report.table())
    return 0 if good else 1


def _read(path: Path, options: argparse.Namespace) -> SchemaInfo:
    if options.format is None or path.suffix == _SOURCE:
        schema = from_file(path, options.type)
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
    if schema.format is SchemaFormat.PROTOBUF and not schema.type:
        raise ConfigurationError(f"{path} has several messages: name that of the events by --type")
    return schema


def _version(schema: SchemaInfo, number: int) -> SchemaVersion:
    info = VersionInfo(type=schema.type, serialization_format=schema.format.value, version=number, id=number)
    return SchemaVersion(schema_info=schema, version_info=info)
