"""Options of frames: of the events that become columns, and of rows that become events; others are refused by name.

Options of decoding have the names and the rules of Spark's data source.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypedDict

from aiopravega.errors import ConfigurationError
from aiopravega.schema.json.columns.forms import TO_JSON, JsonDecimals, JsonForm, TimestampFormat
from aiopravega.times import TimeUnit
from pravega_jobs.decoding.option_texts import Options, choice
from pravega_jobs.decoding.options import DECODE, DECODE_OPTIONS, ENCODE, DecodeOptions, Format, RegistryOptions
from pravega_jobs.spark.options import (
    JSON_DECIMALS_OPTION,
    JSON_OPTIONS,
    METADATA_COLUMNS_OPTION,
    METADATA_PREFIX_OPTION,
    TIME_OPTION,
    TIME_UNIT_OPTION,
    TIMESTAMP_FORMAT_OPTION,
)

_KNOWN: Final = (
    *DECODE_OPTIONS,
    ENCODE,
    METADATA_COLUMNS_OPTION,
    METADATA_PREFIX_OPTION,
    TIME_OPTION,
    TIME_UNIT_OPTION,
    *JSON_OPTIONS,
)


class SchemaOptions(TypedDict, total=False):
    """Options that choose a schema of the registry."""

    schema_type: str
    schema_registry_group: str
    schema_registry_namespace: str


class ReadOptions(SchemaOptions, total=False):
    """Options of reads, as keyword arguments; others are refused when they are read."""

    decode: str
    on_error: str
    columns: str
    missing_fields: str
    schema_text: str
    schema_file: str
    schema_version: int | str
    schema_registry_uri: str
    schema_registry_username: str
    schema_registry_password: str
    schema_registry_token: str
    schema_registry_token_source: str
    schema_registry_ca_file: str
    largest_payload: int | str
    changes: str
    key: str
    table: str
    new_columns: str
    truncates: str
    before_image: str
    time_precision: str
    decimals: str
    unavailable_placeholder: str
    metadata_columns: str
    metadata_prefix: str
    event_time: str
    event_time_unit: str


class WriteOptions(SchemaOptions, total=False):
    """Options of writes, as keyword arguments; others are refused when they are read."""

    encode: str
    timestamp_format: str
    json_decimals: str


@dataclass(frozen=True, slots=True)
class FrameOptions:
    """Options of decoding events into columns, and of encoding columns as events.

    `named` is False if the option `decode` is not given: then `decode` is for a registry that has a group for the
    stream. `encode` is None for JSON objects without a schema, or events as they are. `metadata` names columns that a
    read adds, with `prefix` in front. `unit` is the unit of event times that are whole numbers. `texts` is for rows
    that become JSON objects.
    """

    decode: DecodeOptions = field(default_factory=lambda: DecodeOptions(format=Format.AUTO))
    named: bool = False
    encode: str | None = None
    metadata: tuple[str, ...] = ()
    prefix: str = ""
    time: str | None = None
    unit: TimeUnit = TimeUnit.MS
    texts: JsonForm = TO_JSON

    @classmethod
    def parse(cls, options: Mapping[str, Any], besides: Collection[str] = ()) -> Self:
        """Read the options; `besides` are names of options that the caller has read already.

        Raises:
            ConfigurationError: an option is not known, or its value is not valid.
        """
        texts = {name.lower(): str(value) for name, value in options.items() if value is not None}
        known = {*_KNOWN, *besides}
        given = Options(texts, known, "a table or record batch")
        encode = (given.text(ENCODE) or "").lower() or None
        if encode not in (None, Format.AUTO):
            raise ConfigurationError(f"option {ENCODE!r} is {encode!r}, but must be auto: other writes need Spark")
        named = given.text(DECODE) is not None
        about_events = given if named else Options(texts | {DECODE: Format.AUTO}, known, "")
        return cls(
            DecodeOptions.parse(about_events),
            named,
            encode,
            given.names(METADATA_COLUMNS_OPTION, str.lower),
            given.text(METADATA_PREFIX_OPTION) or "",
            given.text(TIME_OPTION),
            given.time_unit(),
            JsonForm(
                choice(given, TIMESTAMP_FORMAT_OPTION, TimestampFormat, TimestampFormat.ISO),
                choice(given, JSON_DECIMALS_OPTION, JsonDecimals, JsonDecimals.NUMBER),
            ),
        )

    @property
    def registry(self) -> RegistryOptions:
        """The group of the registry, and its address and credentials, if they are given."""
        return self.decode.registry or RegistryOptions()
