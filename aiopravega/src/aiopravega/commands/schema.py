"""The command `pravega schema`: whether a schema goes with others, those of files or those of a group."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.gates.candidates import from_file, protobuf_schema, text_schema
from aiopravega.schema import (
    Compatibility,
    RegistryConfig,
    SchemaFormat,
    SchemaInfo,
    SchemaRegistry,
    SchemaVersion,
    VersionInfo,
)
from aiopravega.schema.compatibility import check, parse_policy

_FAILED, _INTERRUPTED = 2, 130
_FORMATS = ("avro", "json", "protobuf")
_SOURCE = ".proto"  # whatever is said of its format, it is to be compiled
_OF_FILES = "Backward"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if the schema is not compatible, 2 after an error."""
    parser = argparse.ArgumentParser(prog="pravega schema", description="Compare schemas before they are used.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    checked = commands.add_parser(
        "check",
        help="is a new schema compatible with old ones?",
        description="Compare a new schema with those of files or of a group; nothing is added to the group. Avro "
        "(.avsc), JSON Schema (.json), Protobuf (.proto, or a descriptor set).",
    )
    checked.add_argument("--new", type=Path, required=True, metavar="FILE", help="the new schema")
    olds = checked.add_mutually_exclusive_group(required=True)
    olds.add_argument("--old", type=Path, action="append", metavar="FILE", help="an old schema; several: oldest first")
    olds.add_argument("--group", help="or the group of a registry: that of a stream has the stream's name")
    checked.add_argument("--registry", metavar="URI", help="default: PRAVEGA_SCHEMA_REGISTRY_URI")
    checked.add_argument("--namespace", default="", help="of the group, in the registry")
    checked.add_argument(
        "--policy",
        help="a policy of the registry, or sides such as BackwardTill=2+Forward; default: the group's, of files "
        f"{_OF_FILES}",
    )
    checked.add_argument("--format", choices=_FORMATS, help="default: by the files' endings")
    checked.add_argument("--type", metavar="NAME", help="of the schema: in a group of several types, or a .proto file")
    checked.add_argument(
        "--declared-only",
        action="store_true",
        help="JSON: take it that writers write declared properties only, where additionalProperties is not given",
    )
    checked.add_argument(
        "--as-columns", action="store_true", help="Avro: refuse what column readers such as Spark cannot hold, too"
    )
    checked.add_argument("--json", action="store_true", help="print JSON, with the whole texts")
    options = parser.parse_args(arguments)
    try:
        return asyncio.run(_check(options))
    except PravegaError as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED


async def _check(options: argparse.Namespace) -> int:
    new = _read(options.new, options)
    if options.group:
        new, existing, policy = await _of_group(new, options)
    else:
        existing = [_version(_read(path, options), number) for number, path in enumerate(options.old)]
        policy = parse_policy(options.policy or _OF_FILES, existing)
    report = check(new, existing, policy, declared_only=options.declared_only, as_columns=options.as_columns)
    print(json.dumps(report.to_json(), indent=2, ensure_ascii=False) if options.json else report.table())
    return 0 if report.compatible else 1


def _read(path: Path, options: argparse.Namespace) -> SchemaInfo:
    if options.format is None or path.suffix == _SOURCE:
        found = from_file(path, options.type)
    else:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"cannot read the schema {path}: {error.strerror}") from None
        if options.format == "protobuf":
            found = protobuf_schema(data, options.type, str(path))
        elif options.format == "json":
            found = SchemaInfo.of(SchemaFormat.JSON, options.type or "", data)
        else:
            found = text_schema(data, options.type, str(path), avro=True)
    if found.format is SchemaFormat.PROTOBUF and not found.type:
        raise ConfigurationError(f"{path} has several messages: say by --type which is that of the events")
    return found


def _version(schema: SchemaInfo, number: int) -> SchemaVersion:
    info = VersionInfo(type=schema.type, serialization_format=schema.format.value, version=number, id=number)
    return SchemaVersion(schema_info=schema, version_info=info)


async def _of_group(
    new: SchemaInfo, options: argparse.Namespace
) -> tuple[SchemaInfo, list[SchemaVersion], Compatibility]:
    async with SchemaRegistry(RegistryConfig(uri=options.registry)) as registry:
        properties = await registry.group(options.group, options.namespace)
        schemas = await registry.versions(options.group, options.namespace)
    types = list(dict.fromkeys(each.version_info.type for each in schemas))
    name = options.type or new.type or (types[0] if len(types) == 1 else "")
    if not name:
        raise ConfigurationError(f"group {options.group} has the types {', '.join(types) or 'none'}: give --type")
    if types and name not in types and not properties.allow_multiple_types:
        raise ConfigurationError(f"group {options.group} takes schemas of type {types[0]} only, and this one is {name}")
    existing = [each for each in schemas if each.version_info.type == name]
    policy = parse_policy(options.policy, existing) if options.policy else properties.compatibility
    return new.model_copy(update={"type": name}), existing, policy
