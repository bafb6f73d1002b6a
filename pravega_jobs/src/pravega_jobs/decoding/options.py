"""Options of decoding, read once and checked before any work starts.

This module neither reads a schema nor asks a registry.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from pydantic import SecretStr

from aiopravega.errors import ConfigurationError
from aiopravega.schema.json.columns.forms import MissingFields
from aiopravega.sizes import LARGEST_PAYLOAD
from pravega_jobs.decoding.option_texts import Options, choice
from pravega_jobs.spark.options import COLUMNS_OPTION, CORRUPT, ERROR, MISSING_FIELDS_OPTION

if TYPE_CHECKING:
    from pravega_jobs.debezium.changes.options import ChangeOptions


class Format(StrEnum):
    """The format of events that become columns; `AUTO`: the format of the registry's group."""

    RAW = "raw"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    DEBEZIUM = "debezium-json"
    DEBEZIUM_AVRO = "debezium-avro"
    DEBEZIUM_PROTOBUF = "debezium-protobuf"
    CANAL = "canal-json"
    AUTO = "auto"

    @property
    def is_changes(self) -> bool:
        """True if the events are changes by Debezium or Canal."""
        return self is Format.CANAL or self.startswith("debezium-")

    @property
    def payload(self) -> str:
        """The format of the payloads, by the registry's name in small letters."""
        return self.removeprefix("debezium-")


class OnError(StrEnum):
    """The rule for an event that cannot be decoded."""

    FAIL = "fail"
    NULL = "null"
    DROP = "drop"
    DEAD = "dead"

    @property
    def kept(self) -> str | None:
        """The column that has such events, in rows of nulls; None: they have no rows."""
        return _KEPT_IN.get(self)


_KEPT_IN: Final = {OnError.NULL: CORRUPT, OnError.DEAD: ERROR}
DECODE: Final = "decode"
# Options of writes: the format of the events, and whether change events have their schemas with them.
ENCODE: Final = "encode"
WITH_SCHEMAS: Final = "with_schemas"
_ON_ERROR: Final = "on_error"
_SCHEMA: Final = "schema_text"
_SCHEMA_FILE: Final = "schema_file"
_TYPE: Final = "schema_type"
_VERSION: Final = "schema_version"
_URI: Final = "schema_registry_uri"
_GROUP: Final = "schema_registry_group"
_NAMESPACE: Final = "schema_registry_namespace"
_USERNAME: Final = "schema_registry_username"
_PASSWORD: Final = "schema_registry_password"
_TOKEN: Final = "schema_registry_token"
_TOKEN_SOURCE: Final = "schema_registry_token_source"
_CA_FILE: Final = "schema_registry_ca_file"
_REGISTRY: Final = (_URI, _GROUP, _NAMESPACE, _USERNAME, _PASSWORD, _TOKEN, _TOKEN_SOURCE, _CA_FILE)
# Options about schemas, for reads and writes.
SCHEMA_OPTIONS: Final = (_SCHEMA, _SCHEMA_FILE, _TYPE, _VERSION, *_REGISTRY)
_LARGEST: Final = "largest_payload"
# The names of the options of change events; `change_options` reads them.
CHANGE_OPTIONS: Final = (
    "changes",
    "key",
    "table",
    "new_columns",
    "truncates",
    "before_image",
    "time_precision",
    "decimals",
    "unavailable_placeholder",
    "dedup",
)
DECODE_OPTIONS: Final = (
    DECODE,
    _ON_ERROR,
    _LARGEST,
    COLUMNS_OPTION,
    MISSING_FIELDS_OPTION,
    *SCHEMA_OPTIONS,
    *CHANGE_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """The address and credentials of the registry; a credential that is not given is the cluster's."""

    uri: str | None = None
    group: str | None = None
    namespace: str | None = None
    username: str | None = None
    password: SecretStr | None = None
    token: SecretStr | None = None
    token_source: str | None = None
    ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """The source of the events' schema.

    `schema` is one that the user gave: a text for JSON and Avro, a descriptor set for Protobuf; `registry` is None if
    no option names a registry.
    """

    schema: bytes | None = None
    type: str | None = None
    version: int | None = None
    registry: RegistryOptions | None = None

    @classmethod
    def parse(cls, given: Options) -> Self:
        """Read the options.

        Raises:
            ConfigurationError: an option cannot work.
        """
        registry = None
        if any(given.text(name) for name in _REGISTRY):
            registry = RegistryOptions(
                given.text(_URI),
                given.text(_GROUP),
                given.text(_NAMESPACE),
                given.text(_USERNAME),
                _secret(given, _PASSWORD),
                _secret(given, _TOKEN),
                given.text(_TOKEN_SOURCE),
                given.text(_CA_FILE),
            )
        return cls(_schema(given), given.text(_TYPE), given.number(_VERSION, 0), registry)


@dataclass(frozen=True, slots=True)
class DecodeOptions(SchemaOptions):
    """The options by which events become columns.

    `largest_payload` is the most bytes of a compressed payload once it is unpacked. `columns` name the
    fields of the events as SQL writes them, instead of a schema. `changes` is for change events of Debezium only.
    """

    format: Format = Format.RAW
    on_error: OnError = OnError.FAIL
    largest_payload: int = LARGEST_PAYLOAD
    changes: "ChangeOptions | None" = None
    columns: str | None = None
    missing: MissingFields = MissingFields.NULL

    @classmethod
    def parse(cls, given: Options) -> Self:
        """Read the options of decoding.

        Raises:
            ConfigurationError: an option cannot work, or has no effect.
        """
        form = choice(given, DECODE, Format, Format.RAW)
        idle = [name for name in DECODE_OPTIONS if name != DECODE and given.text(name)]
        if form is Format.RAW:
            if given.text(ENCODE):  # one set of options serves a read and a write; these are for the write
                return cls()
            if idle:
                raise ConfigurationError(
                    f"option {idle[0]!r} is for decoded events, but they are read raw: give option 'decode' "
                    f"({', '.join(Format)}), or leave it out"
                )
            return cls()
        source = SchemaOptions.parse(given)
        if form is Format.AUTO and source.schema is not None:
            raise ConfigurationError("decode=auto takes format and schema from the registry: say which format it is")
        on_error, columns = choice(given, _ON_ERROR, OnError, OnError.FAIL), _columns(given, form, source)
        changes = None
        if form.is_changes:
            changes = _changes(given, form, source, on_error)
        else:
            useless = [name for name in CHANGE_OPTIONS if given.text(name)]
            if useless:
                raise ConfigurationError(
                    f"option {useless[0]!r} is for change events of Debezium, not for decode={form}"
                )
        missing = choice(given, MISSING_FIELDS_OPTION, MissingFields, MissingFields.NULL)
        if missing is MissingFields.FAIL and form is not Format.JSON:
            raise ConfigurationError(
                f"option {MISSING_FIELDS_OPTION!r} is for decode={Format.JSON}, not for decode={form}: other formats "
                "have their own rules"
            )
        return cls(
            source.schema,
            source.type,
            source.version,
            source.registry,
            form,
            on_error,
            _largest(given),
            changes,
            columns,
            missing,
        )

    @property
    def takes_columns(self) -> bool:
        """True if the user gives the columns, or may give them."""
        return self.format.is_changes or (self.format is Format.JSON and self.schema is None and self.registry is None)


def _columns(given: Options, form: Format, source: SchemaOptions) -> str | None:
    columns = given.text(COLUMNS_OPTION)
    if columns is None or form.is_changes:
        return columns
    if form is not Format.JSON:
        raise ConfigurationError(
            f"option {COLUMNS_OPTION!r} is for decode={Format.JSON} and change events of Debezium: the columns of "
            f"decode={form} are those of its schema"
        )
    if source.schema is not None or source.registry is not None:
        raise ConfigurationError(
            f"option {COLUMNS_OPTION!r} and a schema both give the columns: leave out the columns, or {_SCHEMA!r}, "
            f"{_SCHEMA_FILE!r} and the options of the registry"
        )
    return columns


def _changes(given: Options, form: Format, source: SchemaOptions, on_error: OnError) -> "ChangeOptions":
    from pravega_jobs.decoding.change_options import change_options

    if form is Format.CANAL:
        useless = [name for name in (*SCHEMA_OPTIONS, _LARGEST) if given.text(name)]
        if useless:
            raise ConfigurationError(
                f"option {useless[0]!r} has no use with decode={form}: the columns are given with option "
                f"{COLUMNS_OPTION!r}, or with .schema(…)"
            )
    elif form is Format.DEBEZIUM and source.registry is None:
        useless = [name for name in (_TYPE, _VERSION, _LARGEST) if given.text(name)]
        if useless:
            raise ConfigurationError(
                f"option {useless[0]!r} has no use with decode={form} without a registry: the events are JSON, and "
                "their schema is in them, in .schema(…), or in option schema_file"
            )
    elif form is not Format.DEBEZIUM and source.schema is not None:
        raise ConfigurationError(
            f"options {_SCHEMA!r} and {_SCHEMA_FILE!r} have no use with decode={form}: the schemas of the events are "
            "in the registry"
        )
    return change_options(given, infinity_is_null=on_error is OnError.NULL)


def _largest(given: Options) -> int:
    return given.number(_LARGEST) or LARGEST_PAYLOAD


def _secret(given: Options, name: str) -> SecretStr | None:
    text = given.text(name)
    return None if text is None else SecretStr(text)


def _schema(given: Options) -> bytes | None:
    text, file = given.text(_SCHEMA), given.text(_SCHEMA_FILE)
    if text and file:
        raise ConfigurationError(f"give either option {_SCHEMA!r} or option {_SCHEMA_FILE!r}")
    if file is None:
        return None if text is None else text.encode()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"option {_SCHEMA_FILE!r}: cannot read {file}: {error.strerror}") from None
