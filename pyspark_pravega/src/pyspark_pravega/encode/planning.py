"""From options and columns to a plan, on the driver: the schema is found or made, and held against the columns.

A schema that is given is written with. If none is, it is the newest of the registry's group, and if there is none
either, for Avro one that follows from the columns.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, GroupNotFoundError
from aiopravega.names import StreamName
from aiopravega.schema.codecs import NONE
from pyspark_pravega.decode.options import Format, RegistryOptions
from pyspark_pravega.encode.options import EncodeOptions
from pyspark_pravega.encode.plan import EncodePlan

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import SchemaFormat, SchemaVersion, VersionInfo

# What a group that is made here asks of new schemas. The registry's server can check it for Avro only.
_AVRO_POLICY: Final = "BackwardTransitive"
_POLICY: Final = "AllowAny"


def encode_plan(options: EncodeOptions, config: PravegaConfig, stream: StreamName, columns: pa.Schema) -> EncodePlan:
    """How these columns become events.

    Raises:
        ConfigurationError: there is no schema, or the columns do not fit it.
        SchemaRefusedError: the registry's group does not take the schema.
        PravegaError: the registry cannot be asked.
    """
    if options.schema.registry is not None:
        plan = _registered(options, config, stream, columns)
    else:
        schema = options.schema.schema
        plan = EncodePlan(options.format, schema, options.schema.type, columns)
        if schema is None and options.format is not Format.JSON:
            plan = replace(plan, schema=_derived(options, stream, columns))
        plan = _with_type(plan)
    plan.encoder()  # which complains about columns that do not fit
    return plan


def _derived(options: EncodeOptions, stream: StreamName, columns: pa.Schema) -> bytes:
    if options.format is Format.AVRO:
        from aiopravega.schema.avro.columns.derived import schema_of

        return schema_of(columns, options.schema.type or stream.stream).encode()
    if options.format is Format.PROTOBUF:
        raise ConfigurationError(
            "encode=protobuf needs a message type, because columns have no field numbers: give a descriptor set with "
            "option 'schema_file', or a registry that has one"
        )
    raise ConfigurationError(
        "a registry needs a JSON Schema for encode=json, and its group has none: give one with option 'schema_text' or "
        "'schema_file'"
    )


def _with_type(plan: EncodePlan) -> EncodePlan:
    """The same with the name of the message, if there is only one."""
    if plan.format is not Format.PROTOBUF or plan.type is not None or plan.schema is None:
        return plan
    from aiopravega.schema.formats.protobuf.descriptors import only_message

    return replace(plan, type=only_message(plan.schema))


def _registered(options: EncodeOptions, config: PravegaConfig, stream: StreamName, columns: pa.Schema) -> EncodePlan:
    """A plan for events with headers, whose schema the registry knows when this returns."""
    from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo
    from pyspark_pravega.decode.planning import registry_config
    from pyspark_pravega.decode.registries import registry_of

    asked = options.schema.registry or RegistryOptions()
    registry = registry_of(registry_config(asked, config))
    form = SchemaFormat(options.format.capitalize())
    group = asked.group or stream.stream
    namespace = _namespace(registry, asked, group, stream)
    found = [] if namespace is None else _fitting(registry.versions(group, namespace), options, form)
    given = options.schema.schema
    if given is None and found:
        chosen = found[-1]
        types = sorted({one.schema_info.type for one in found})
        if len(types) > 1:
            raise ConfigurationError(
                f"the registry's group {group!r} has schemas of several types: {', '.join(types)}. Choose one with "
                "option 'schema_type'"
            )
        info = chosen.schema_info
        plan = EncodePlan(options.format, info.schema_data, info.type, columns, codec=options.codec)
        plan.encoder()  # before a codec is added
        return _with_header(plan, registry, options, group, namespace or "", chosen.version_info)
    plan = _with_type(
        EncodePlan(
            options.format,
            given or _derived(options, stream, columns),
            options.schema.type,
            columns,
            codec=options.codec,
        )
    )
    assert plan.schema is not None
    plan.encoder()  # before anything is registered
    name = plan.type or _name_of(plan, stream)
    known = [one for one in found if one.schema_info.schema_data == plan.schema and one.schema_info.type == name]
    if not known and not options.register:
        raise ConfigurationError(
            f"the registry's group {group!r} does not have this schema of type {name}, and schema_register is false: "
            "register it, or leave the option out"
        )
    if namespace is None:
        namespace = stream.scope if asked.namespace is None else asked.namespace
        policy = _AVRO_POLICY if form is SchemaFormat.AVRO else _POLICY
        registry.create_group(group, GroupProperties.of(form, policy), namespace)
    version = known[-1].version_info if known else None
    if version is None:
        version = registry.add_schema(group, SchemaInfo.of(form, name, plan.schema), namespace)
    return _with_header(plan, registry, options, group, namespace, version)


def _with_header(
    plan: EncodePlan,
    registry: "SchemaRegistry",
    options: EncodeOptions,
    group: str,
    namespace: str,
    version: "VersionInfo",
) -> EncodePlan:
    """The same with the header of the schema and the codec, which the group allows from now on."""
    from aiopravega.schema import CodecType, header

    if options.codec != NONE and options.register:
        registry.add_codec(group, CodecType(name=options.codec), namespace)
    return replace(plan, header=header(registry.encoding_id(group, version, options.codec, namespace)))


def _namespace(registry: "SchemaRegistry", asked: RegistryOptions, group: str, stream: StreamName) -> str | None:
    """Where the group is, None if there is none yet; looked for as by reads."""
    for namespace in (stream.scope, "") if asked.namespace is None else (asked.namespace,):
        try:
            registry.group(group, namespace)
        except GroupNotFoundError:
            continue
        return namespace
    return None


def _fitting(versions: "list[SchemaVersion]", options: EncodeOptions, form: "SchemaFormat") -> "list[SchemaVersion]":
    """The group's schemas of the wanted format, type and version, oldest first."""
    asked = options.schema
    fitting = [
        one
        for one in versions
        if one.schema_info.format == form
        and asked.type in (None, one.schema_info.type)
        and asked.version in (None, one.version_info.version)
    ]
    if asked.version is not None and not fitting:
        raise ConfigurationError(f"the registry has no version {asked.version} of a schema for encode={options.format}")
    return sorted(fitting, key=lambda one: one.version_info.version)


def _name_of(plan: EncodePlan, stream: StreamName) -> str:
    """The type's name in the registry: an Avro record's own, and else the stream's."""
    if plan.format is Format.AVRO and plan.schema is not None:
        from aiopravega.schema.avro.model import Record
        from aiopravega.schema.avro.parsing import parse

        record = parse(plan.schema)
        if isinstance(record, Record):
            return record.name
    return stream.stream
