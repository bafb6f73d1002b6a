"""From options to a plan of decoding, on the driver: a schema of the options or of the registry becomes columns."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.schema.arrow.sql_columns import columns_of as sql_columns
from aiopravega.schema.json.columns.forms import MissingFields
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget, ProtobufTarget, Target
from pravega_jobs.decoding.options import DecodeOptions, Format
from pravega_jobs.decoding.registries import registered_groups
from pravega_jobs.decoding.spark_json import columns_of_spark
from pravega_jobs.decoding.typed import TypedPlan

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import SchemaVersion


def decode_plan(
    options: DecodeOptions,
    of: "PravegaConfig | SchemaRegistry",
    streams: Collection[StreamName],
    given: pa.Schema | None = None,
) -> TypedPlan:
    """Make the plan by which the events of some streams become columns.

    Args:
        options: options of the read.
        of: a client of the registry, or the configuration of the cluster: then the registry gets its credentials,
            unless the options give others.
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
        return TypedPlan(_json_target(given, options), options.on_error)
    if options.schema is None or options.registry is not None:
        registered, chosen = registered_groups(options, of, streams)
        return TypedPlan(_target_of(chosen, options), options.on_error, registered)
    return TypedPlan(_target(options.format, options.schema, options.type, options), options.on_error)


def named_columns(options: DecodeOptions, asked: tuple[str, ...]) -> pa.Schema:
    """The columns that option `columns` names, with those about changes that a read of changes is asked for.

    Raises:
        ConfigurationError: they are not columns as SQL writes them.
    """
    named = sql_columns(options.columns or "")
    if options.format.is_changes:
        from pravega_jobs.debezium.changes import metadata
        from pravega_jobs.decoding.change_planning import about_changes

        for name in about_changes(asked)[0]:
            if name not in named.names:
                named = named.append(pa.field(name, metadata.TYPES[name]))
    return named


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
    return columns_of_spark(document)


def _target_of(chosen: "SchemaVersion", options: DecodeOptions) -> Target:
    info = chosen.schema_info
    form = Format(info.format.lower())
    return _target(form, options.schema or info.schema_data, info.type, options)
