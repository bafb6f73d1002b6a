"""From options to a plan of decoding, on the driver: a schema of the options or of the registry becomes columns."""

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.schema.json.columns.forms import MissingFields
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget, ProtobufTarget, Target
from pyspark_pravega.arrow_types import arrow_schema, nullable, of_user, spark_schema
from pyspark_pravega.decode.decode_options import DecodeOptions, Format, RegistryOptions
from pyspark_pravega.decode.typed import Registered, TypedPlan

if TYPE_CHECKING:
    from aiopravega.schema import RegistryConfig, SchemaVersion


def decode_plan(
    options: DecodeOptions,
    config: PravegaConfig,
    streams: Collection[StreamName],
    given: StructType | None = None,
) -> TypedPlan:
    """Make the plan by which the events of some streams become columns.

    Args:
        options: options of the read.
        config: configuration of the cluster; the registry gets its credentials, unless the options give others.
        streams: the streams of the read.
        given: the columns of events that the user gave, by option or to Spark's reader.

    Raises:
        ConfigurationError: no schema is given, or it cannot become columns.
        GroupNotFoundError: the registry has no group for a stream.
        PravegaError: the registry does not answer.
    """
    if options.takes_columns:
        if given is None:
            raise ConfigurationError(
                "decode=json needs the columns: give them as SQL writes them with option 'columns' "
                "(id long, price double) or with .schema(…) on the reader, with option 'schema_text' as a JSON "
                "Schema, or with option 'schema_registry_uri'"
            )
        return TypedPlan(_json_target(arrow_schema(of_user(given)), options), given, options.on_error)
    if options.schema is None or options.registry is not None:
        return _registered(options, config, streams)
    target = _target(options.format, options.schema, options.type, options)
    return TypedPlan(target, spark_schema(target.schema), options.on_error)


def _json_target(columns: pa.Schema, options: DecodeOptions) -> JsonTarget:
    return JsonTarget(columns, whole=options.missing is MissingFields.FAIL)


def _target(form: Format, schema: bytes, message: str | None, options: DecodeOptions) -> Target:
    if form is Format.PROTOBUF:
        return ProtobufTarget.of(schema, message)
    try:
        text = schema.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"the schema for decode={form} is not text") from None
    return AvroTarget.of(text) if form is Format.AVRO else _json_target(_json_columns(text), options)


def _json_columns(text: str) -> pa.Schema:
    """The columns of a JSON Schema, or of Spark's own schema as its JSON."""
    from aiopravega.schema.json.columns.types import columns_of

    try:
        document = json.loads(text)
    except ValueError:
        raise ConfigurationError(
            f"the schema for decode=json is not JSON: {text[:200]!r}. Give a JSON Schema, the text of schema.json() of "
            "a DataFrame, or columns as SQL writes them with option 'columns'"
        ) from None
    if not isinstance(document, dict) or document.get("type") != "struct":
        return columns_of(document)
    try:
        columns = nullable(StructType.fromJson(document))
    except (PySparkException, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the schema for decode=json is not one of Spark's: {error!r}") from None
    assert isinstance(columns, StructType)
    return arrow_schema(columns)


def _registered(options: DecodeOptions, config: PravegaConfig, streams: Collection[StreamName]) -> TypedPlan:
    """A plan for events with headers; the target is the given schema, or the newest one of their group."""
    registered, chosen = registered_groups(options, config, streams)
    target = _target_of(chosen, options)
    return TypedPlan(target, spark_schema(target.schema), options.on_error, registered)


def registered_groups(
    options: DecodeOptions, config: PravegaConfig, streams: Collection[StreamName]
) -> tuple[Registered, "SchemaVersion"]:
    """The groups of some streams, and the schema to read with: the wanted one, or the first group's newest one.

    Raises:
        ConfigurationError: the group has no such schema.
        GroupNotFoundError: the registry has no group for a stream.
        PravegaError: the registry does not answer.
    """
    from aiopravega.schema import GroupId
    from aiopravega.schema.open import GroupAddress, need_group
    from pyspark_pravega.connections import registry_of

    asked = options.registry or RegistryOptions()
    address = registry_config(asked, config)
    registry = registry_of(address)
    groups: dict[StreamName, GroupId] = {}
    chosen = None
    for stream in streams:
        where = GroupAddress.of_stream(stream, asked.group, asked.namespace)
        group = registry.run(need_group(registry.asynchronous, where))
        history = registry.history(group.name, group.namespace)
        groups[stream] = GroupId.of(group.name, group.namespace, history)
        if chosen is None:
            chosen = _choose(registry.versions(group.name, group.namespace), options, group.name)
    if chosen is None:
        raise ConfigurationError("a read needs a stream")
    kind, version = chosen.schema_info.type, chosen.version_info.version
    return Registered(address, groups, kind, version, options.largest_payload), chosen


def registry_config(asked: RegistryOptions, config: PravegaConfig) -> "RegistryConfig":
    """The configuration of the registry's client, with the cluster's credentials unless the options give others.

    Raises:
        ConfigurationError: an option cannot work, or neither options nor environment have an address.
    """
    from aiopravega.schema import RegistryConfig

    beside = RegistryConfig.beside(config, asked.uri)
    own = any(way is not None for way in (asked.username, asked.token, asked.token_source))
    if not own and asked.ca_file is None:
        return beside
    who = asked if own else beside
    return RegistryConfig(
        uri=beside.uri,
        username=who.username,
        password=who.password,
        token=who.token,
        token_source=who.token_source,
        ca_file=asked.ca_file or beside.ca_file,
        verify_hostname=beside.verify_hostname,
    )


def _choose(versions: Sequence["SchemaVersion"], options: DecodeOptions, group: str) -> "SchemaVersion":
    """The schema to read with: of the wanted type, and of the wanted version or the newest."""
    form = options.format
    fitting = [
        version
        for version in versions
        if version.schema_info.format.lower() in ([form.payload] if form is not Format.AUTO else [*Format])
        and options.type in (None, version.schema_info.type)
    ]
    if not fitting:
        wanted = f" of type {options.type}" if options.type else ""
        known = ", ".join(sorted({f"{one.schema_info.type} ({one.schema_info.format})" for one in versions})) or "none"
        raise ConfigurationError(
            f"the registry's group {group!r} has no schema{wanted} for decode={form}; it has {known}"
        )
    kinds = sorted({f"{one.schema_info.type} ({one.schema_info.format})" for one in fitting})
    if len(kinds) > 1:
        raise ConfigurationError(
            f"the registry's group {group!r} has schemas of several types: {', '.join(kinds)}. Choose one with options "
            "'schema_type' and 'decode'; events of other types count as errors, which on_error=drop leaves out"
        )
    if options.version is None:
        return max(fitting, key=lambda one: one.version_info.version)
    for one in fitting:
        if one.version_info.version == options.version:
            return one
    known = ", ".join(str(one.version_info.version) for one in fitting)
    raise ConfigurationError(f"{kinds[0]} has no version {options.version} in group {group!r}; it has {known}")


def _target_of(chosen: "SchemaVersion", options: DecodeOptions) -> Target:
    info = chosen.schema_info
    form = Format(info.format.lower())
    return _target(form, options.schema or info.schema_data, info.type, options)
