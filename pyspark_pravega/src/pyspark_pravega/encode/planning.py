"""From options and columns to a plan of encoding, on the driver: finds or makes a schema, and checks the columns.

It is the schema of the options; otherwise the newest one of the registry's group; otherwise, for Avro, one that is made
from the columns.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.decoding.options import Format, RegistryOptions
from pyspark_pravega.encode.encode_options import EncodeOptions
from pyspark_pravega.encode.plan import EncodePlan

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import SchemaInfo, SchemaVersion
    from aiopravega.schema.open import Group


def encode_plan(options: EncodeOptions, config: PravegaConfig, stream: StreamName, columns: pa.Schema) -> EncodePlan:
    """Make the plan by which columns become events.

    Raises:
        ConfigurationError: there is no schema, or the columns do not fit it.
        SchemaRefusedError: the registry's group does not take the schema.
        PravegaError: the registry does not answer.
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
    plan = replace(plan, texts=options.texts)
    plan.encoder()  # raises an error about columns that do not fit
    return plan


def _derived(options: EncodeOptions, stream: StreamName, columns: pa.Schema) -> bytes:
    if options.format is Format.AVRO:
        from aiopravega.schema.avro.columns.types import schema_of

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
    """The plan with the name of the message, if the schema has only one."""
    if plan.format is not Format.PROTOBUF or plan.type is not None or plan.schema is None:
        return plan
    from aiopravega.schema.protobuf.descriptors import only_message

    return replace(plan, type=only_message(plan.schema))


def _registered(options: EncodeOptions, config: PravegaConfig, stream: StreamName, columns: pa.Schema) -> EncodePlan:
    """Make a plan for events with headers; it registers the schema if the registry lacks it."""
    from aiopravega.schema.open import ComparisonOptions, GroupAddress, NewGroup, find_group
    from aiopravega.schema.open.registration import RegistrationTerms, ensure_registered
    from pravega_jobs.decoding.registries import registry_config, registry_of

    asked = options.schema.registry or RegistryOptions()
    registry = registry_of(registry_config(asked, config))
    where = GroupAddress.of_stream(stream, asked.group, asked.namespace)
    plan = _chosen(options, registry, registry.run(find_group(registry.asynchronous, where)), stream, columns)
    plan.encoder()  # before anything is registered
    comparison = ComparisonOptions(declared_only=options.declared_only)
    terms = RegistrationTerms(
        options.codec, register=options.register, new=NewGroup(options.new_policy), options=comparison
    )
    registration = registry.run(ensure_registered(registry.asynchronous, where, _info(plan), terms))
    return replace(plan, header=registration.head)


def _chosen(
    options: EncodeOptions, registry: "SchemaRegistry", group: "Group | None", stream: StreamName, columns: pa.Schema
) -> EncodePlan:
    """A plan with the schema of the options, otherwise the group's newest, otherwise one made from the columns."""
    fitting = [] if group is None else _fitting(registry.versions(group.name, group.namespace), options)
    given = options.schema.schema
    if given is not None or not fitting:
        schema = _derived(options, stream, columns) if given is None else given
        return _with_type(EncodePlan(options.format, schema, options.schema.type, columns, codec=options.codec))
    types = sorted({one.schema_info.type for one in fitting})
    if group is not None and len(types) > 1:
        raise ConfigurationError(
            f"the registry's group {group.name!r} has schemas of several types: {', '.join(types)}. Choose one with "
            "option 'schema_type'"
        )
    info = fitting[-1].schema_info
    return EncodePlan(options.format, info.schema_data, info.type, columns, codec=options.codec)


def _info(plan: EncodePlan) -> "SchemaInfo":
    """The schema of a plan; if it has no type, an Avro schema gives its name, and JSON gets the group's type."""
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
