"""Options of frames: of the events that become columns, and of rows that become events; others are refused by name.

They have the names of the options of Spark's data source, so that one stream has one set for all of its readers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypedDict

from aiopravega.errors import ConfigurationError
from aiopravega.schema.json.columns.forms import TO_JSON, JsonDecimals, JsonForm, MissingFields, TimestampFormat
from aiopravega.times import TimeUnit
from pravega_jobs.spark.options import (
    COLUMNS_OPTION,
    JSON_DECIMALS_OPTION,
    JSON_OPTIONS,
    MISSING_FIELDS_OPTION,
    TIME_OPTION,
    TIME_UNIT_OPTION,
    TIMESTAMP_FORMAT_OPTION,
)

RAW: Final = "raw"
AUTO: Final = "auto"
_FORMATS: Final = (RAW, AUTO, "json", "avro", "protobuf")
_FAIL, _DROP = "fail", "drop"
_DECODE: Final = "decode"
_ENCODE: Final = "encode"
_ON_ERROR: Final = "on_error"
_SCHEMA: Final = "schema_text"
_TYPE: Final = "schema_type"
_GROUP: Final = "schema_registry_group"
_NAMESPACE: Final = "schema_registry_namespace"
_KNOWN: Final = (
    _DECODE,
    _ENCODE,
    _ON_ERROR,
    COLUMNS_OPTION,
    MISSING_FIELDS_OPTION,
    _SCHEMA,
    _TYPE,
    _GROUP,
    _NAMESPACE,
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
    columns: str
    missing_fields: str
    schema_text: str
    on_error: str
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

    `decode` is None if it is not given: then a schema of the registry is used if there is one. `encode` is None for
    JSON objects without a schema, or events as they are. `columns` name the fields of JSON events, as SQL writes them.
    `unit` is the unit of event times that are whole numbers. With `whole`, a JSON event that lacks a field is
    malformed. `texts` is for rows that become JSON objects.
    """

    decode: str | None = None
    encode: str | None = None
    drops: bool = False
    schema: str | None = None
    type: str | None = None
    group: str | None = None
    namespace: str | None = None
    time: str | None = None
    columns: str | None = None
    unit: TimeUnit = TimeUnit.MS
    whole: bool = False
    texts: JsonForm = TO_JSON

    @classmethod
    def parse(cls, options: Mapping[str, Any], besides: Collection[str] = ()) -> Self:
        """Read the options; `besides` are names of options that the caller has read already.

        Raises:
            ConfigurationError: an option is not known, or its value is not valid.
        """
        given = {name.lower(): value for name, value in options.items()}
        unknown = [name for name in given if name not in (*_KNOWN, *besides)]
        if unknown:
            raise ConfigurationError(
                f"the option {unknown[0]!r} is not one of tables and record batches, which know {', '.join(_KNOWN)}: "
                "leave it out, or use Spark"
            )
        parsed = cls(
            _one_of(given, _DECODE, _FORMATS),
            _one_of(given, _ENCODE, (AUTO,)),
            _one_of(given, _ON_ERROR, (_FAIL, _DROP)) == _DROP,
            given.get(_SCHEMA),
            given.get(_TYPE),
            given.get(_GROUP),
            given.get(_NAMESPACE),
            given.get(TIME_OPTION),
            given.get(COLUMNS_OPTION) or None,
            TimeUnit.parse(given.get(TIME_UNIT_OPTION) or TimeUnit.MS.name),
            _one_of(given, MISSING_FIELDS_OPTION, (*MissingFields,)) == MissingFields.FAIL,
            JsonForm(
                TimestampFormat(_one_of(given, TIMESTAMP_FORMAT_OPTION, (*TimestampFormat,)) or TimestampFormat.ISO),
                JsonDecimals(_one_of(given, JSON_DECIMALS_OPTION, (*JsonDecimals,)) or JsonDecimals.NUMBER),
            ),
        )
        if parsed.whole and parsed.decode != "json":
            raise ConfigurationError(
                f"the option {MISSING_FIELDS_OPTION!r} is for {_DECODE!r} as json: other formats have their own rules"
            )
        if parsed.columns is not None and (parsed.decode != "json" or parsed.schema is not None):
            raise ConfigurationError(
                f"the option {COLUMNS_OPTION!r} needs {_DECODE!r} as json, without {_SCHEMA!r}: the columns of other "
                "events come from their schema"
            )
        if parsed.schema is not None and parsed.decode not in ("json", "avro"):
            raise ConfigurationError(
                f"the option {_SCHEMA!r} needs {_DECODE!r} as json or avro; other schemas come from the registry"
            )
        return parsed


def _one_of(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    if name not in given:
        return None
    text = given[name].lower()
    if text not in choices:
        raise ConfigurationError(f"the option {name!r} is {given[name]!r}, but must be one of {', '.join(choices)}")
    return text
