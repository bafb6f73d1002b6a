"""From options and columns to a plan, on the driver: the schema is found or made, and held against the columns.

A schema that is given is written with. If none is, it is the newest of the registry's group, and if there is none
either, for Avro one that follows from the columns.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pyspark_pravega.decode.decode_options import Format, RegistryOptions
from pyspark_pravega.encode.encode_options import EncodeOptions
from pyspark_pravega.encode.plan import EncodePlan

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import SchemaInfo, SchemaVersion
    from aiopravega.schema.open import Group


def encode_plan(options: EncodeOptions, config: PravegaConfig, stream: StreamName, columns: pa.Schema) -> EncodePlan:
    """How these columns become events.

    Raises:
        ConfigurationError: there is no schema, or the columns do not fit it.
        SchemaRefusedError: the registry's group does not take the schema.
        PravegaError: the registry cannot be asked.
    """
    if options.changes is not None:
        plan = EncodePlan(options.format, options.schema.schema, None, columns, changes=options.changes)
    elif options.schema.registry is not None:
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
    from aiopravega.schema.protobuf.descriptors import only_message

    return replace(plan, type=only_message(plan.schema))


def _registered(options: EncodeOptions, config: PravegaConfig, stream: StreamName, columns: pa.Schema) -> EncodePlan:
    """A plan for events with headers, whose schema the registry knows when this returns."""
    from aiopravega.schema.open import GroupAddress, NewGroup, Question, find_group
    from aiopravega.schema.open.registration import RegistrationTerms, settle
    from pyspark_pravega.decode.planning import registry_config
    from pyspark_pravega.decode.registries import registry_of

    asked = options.schema.registry or RegistryOptions()
    registry = registry_of(registry_config(asked, config))
    where = GroupAddress.of_stream(stream, asked.group, asked.namespace)
    plan = _chosen(options, registry, registry.run(find_group(registry.asynchronous, where)), stream, columns)
    plan.encoder()  # before anything is registered
    question = Question(declared_only=options.declared_only)
    terms = RegistrationTerms(
        options.codec, register=options.register, new=NewGroup(options.new_policy), question=question
    )
    settled = registry.run(settle(registry.asynchronous, where, _info(plan), terms))
    return replace(plan, header=settled.head)


def _chosen(
    options: EncodeOptions, registry: "SchemaRegistry", group: "Group | None", stream: StreamName, columns: pa.Schema
) -> EncodePlan:
    """A plan by the schema that is given, or else by the group's newest, or else by one that follows from columns."""
    found = [] if group is None else _fitting(registry.versions(group.name, group.namespace), options)
    given = options.schema.schema
    if given is not None or not found:
        schema = _derived(options, stream, columns) if given is None else given
        return _with_type(EncodePlan(options.format, schema, options.schema.type, columns, codec=options.codec))
    types = sorted({one.schema_info.type for one in found})
    if group is not None and len(types) > 1:
        raise ConfigurationError(
            f"the registry's group {group.name!r} has schemas of several types: {', '.join(types)}. Choose one with "
            "option 'schema_type'"
        )
    info = found[-1].schema_info
    return EncodePlan(options.format, info.schema_data, info.type, columns, codec=options.codec)


def _info(plan: EncodePlan) -> "SchemaInfo":
    """The schema of a plan; without a type, an Avro schema has its own name, and JSON gets the type of the group."""
    from aiopravega.gates.candidates import text_schema
    from aiopravega.schema import SchemaFormat, SchemaInfo

    assert plan.schema is not None
    if plan.format is Format.AVRO:
        return text_schema(plan.schema, plan.type, "the schema for encode=avro", avro=True)
    return SchemaInfo.of(SchemaFormat(plan.format.capitalize()), plan.type or "", plan.schema)


def _fitting(versions: "list[SchemaVersion]", options: EncodeOptions) -> "list[SchemaVersion]":
    """The group's schemas of the wanted format, type and version, oldest first."""
    asked, form = options.schema, options.format.capitalize()
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
