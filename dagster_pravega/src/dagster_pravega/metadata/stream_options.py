"""Typed options of streams: how events become columns, and how rows become events.

They are mappings of texts, as Dagster keeps them in the metadata `pravega/options`, so that every `options` takes them,
and two of them can be put together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

from aiopravega.errors import ConfigurationError
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.decoding.options import DecodeOptions
from pravega_jobs.landing.errors import check_errors, check_write_errors

_FILE: Final = "schema_file"
_TEXT: Final = "schema_text"
_ENCODED: Final = ("with_schemas", "schema_register", "new_policy", "declared_only", "codec")
_Unit: TypeAlias = Literal["ns", "us", "ms", "s"]
_Times: TypeAlias = Literal["iso", "sql"]
_Decimals: TypeAlias = Literal["number", "plain", "text"]


class _Texts(Mapping[str, str]):
    """The fields that are given, as options with their texts."""

    __slots__ = ()

    def __getitem__(self, name: str) -> str:
        return self._texts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    def __len__(self) -> int:
        return len(self._texts())

    def _texts(self) -> dict[str, str]:
        own: Any = self
        given = {each.name: getattr(self, each.name) for each in fields(own)}
        return {name: _text(value) for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamOptions(_Texts):
    """Options of the readers of a stream: `pravega_stream_spec("shop/orders", options=StreamOptions(decode="json"))`.

    They are checked where they are written, and are the same for an IO manager over Spark and over Arrow, unless it
    says so. Secrets of the registry come from its resource.

    Args:
        decode: the format of the events that become columns.
        on_error: the rule for an event that cannot be decoded: `dead` keeps it in the column `_error`.
        columns: of JSON events and of changes, as SQL writes them: `id long, price double`.
        missing_fields: of JSON events: a missing field of the columns is null, or its event cannot be decoded.
        event_time: the column that has the events' times: assets with partitions of time read by it.
        event_time_unit: the unit of the times that the writers note.
        event_time_ahead_ms: milliseconds by which the writers' notes may be ahead of the events.
        event_time_clip: read what retention has left of an interval.
        metadata_columns: columns that are read beside, such as `offset`.
        metadata_prefix: put in front of their names.
        schema_text: the schema of the events.
        schema_file: a file that has it, where the code runs.
        schema_type: the name of the type in the registry's group.
        schema_version: the version of the schema; by default the newest.
        schema_registry_uri: the address of the registry, for Spark.
        schema_registry_group: the group; by default that of the stream.
        schema_registry_namespace: the namespace of the group.
        schema_registry_username: of the registry.
        schema_registry_token_source: of the registry, as `PravegaResource` has it.
        schema_registry_ca_file: certificates of the registry's authority.
        largest_payload: the most bytes of a compressed payload once it is unpacked.
        changes: the rows of a change event.
        key: columns of the key of changes.
        table: the table whose changes are read.
        new_columns: the treatment of a column of changes that the read does not have.
        truncates: the treatment of an event that says that the table was emptied.
        before_image: the treatment of a change without its old row.
        time_precision: the treatment of times that Spark cannot have in full.
        decimals: the form of decimals in changes.
        unavailable_placeholder: the text of values that Debezium has not sent.
        split_bytes: of a task's piece of a segment, for Spark; 0 splits no segment.
        min_partitions: the least number of tasks, for Spark.

    Raises:
        ConfigurationError: a value is not known, or has no effect beside the others.
    """

    decode: (
        Literal[
            "raw",
            "json",
            "avro",
            "protobuf",
            "debezium-json",
            "debezium-avro",
            "debezium-protobuf",
            "canal-json",
            "auto",
        ]
        | None
    ) = None
    on_error: Literal["fail", "null", "drop", "dead"] | None = None
    columns: str | None = None
    missing_fields: Literal["null", "fail"] | None = None
    event_time: str | None = None
    event_time_unit: _Unit | None = None
    event_time_ahead_ms: int | None = None
    event_time_clip: bool | None = None
    metadata_columns: Sequence[str] | None = None
    metadata_prefix: str | None = None
    schema_text: str | None = None
    schema_file: str | None = None
    schema_type: str | None = None
    schema_version: int | None = None
    schema_registry_uri: str | None = None
    schema_registry_group: str | None = None
    schema_registry_namespace: str | None = None
    schema_registry_username: str | None = None
    schema_registry_token_source: str | None = None
    schema_registry_ca_file: str | None = None
    largest_payload: int | None = None
    changes: Literal["upsert", "rows", "envelope"] | None = None
    key: Sequence[str] | None = None
    table: str | None = None
    new_columns: Literal["ignore", "fail", "rest"] | None = None
    truncates: Literal["row", "fail", "drop"] | None = None
    before_image: Literal["auto", "full", "key"] | None = None
    time_precision: Literal["adaptive", "ms", "us"] | None = None
    decimals: Literal["adaptive", "base64", "digits"] | None = None
    unavailable_placeholder: str | None = None
    split_bytes: int | None = None
    min_partitions: int | None = None

    def __post_init__(self) -> None:
        _check_words(self)
        texts = dict(self)
        if _FILE in texts and _TEXT in texts:
            raise ConfigurationError(f"give either {_TEXT!r} or {_FILE!r}")
        if _FILE in texts:
            texts[_TEXT] = texts.pop(_FILE)  # of the schema only that there is one: the file may be elsewhere
        given = Options(texts, texts, "a stream")
        for name, least in (("split_bytes", 0), ("min_partitions", 1), ("event_time_ahead_ms", 0)):
            given.number(name, least)
        # Without a format, they are for an input, beside the options of its stream.
        if self.decode is not None:
            DecodeOptions.parse(given)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputOptions(_Texts):
    """Options of the rows of an asset that is written to a stream: `pravega_output(…, options=OutputOptions(…))`.

    Options for the stream's readers can stand beside them: `{**OutputOptions(…), **StreamOptions(…)}`.

    Args:
        encode: the format of the events: `auto` for the IO manager over Arrow, others for that over Spark. By default a
            row is a JSON object, or its column `event`.
        with_schemas: change events have their schemas with them.
        schema_register: a missing group, schema or codec is added to the registry; true by default.
        new_policy: the policy of a new group.
        declared_only: of the comparison of JSON schemas.
        codec: `none`, `gzip`, `snappy`, `lz4`, or the name of a registered one.
        timestamp_format: the texts of times in JSON, over Arrow and with `encode`.
        json_decimals: the texts of decimals in JSON, likewise.
        errors: the errors stream of the write, `stream:scope/name`.
        most_errors: the most errors of a write, such as `100` or `"1%"`.

    Raises:
        ConfigurationError: an option has no effect without `encode`, or `most_errors` without `errors`.
    """

    encode: Literal["auto", "raw", "json", "avro", "protobuf", "debezium-json"] | None = None
    with_schemas: bool | None = None
    schema_register: bool | None = None
    new_policy: str | None = None
    declared_only: bool | None = None
    codec: str | None = None
    timestamp_format: _Times | None = None
    json_decimals: _Decimals | None = None
    errors: str | None = None
    most_errors: int | str | None = None

    def __post_init__(self) -> None:
        _check_words(self)
        check_errors(self.errors, self.most_errors)
        if self.errors is not None:
            check_write_errors(self.errors)
        idle = [name for name in _ENCODED if getattr(self, name) is not None]
        if self.encode is None and idle:
            raise ConfigurationError(
                f"option {idle[0]!r} has no effect without 'encode': give the format of the events"
            )


def _check_words(given: StreamOptions | OutputOptions) -> None:
    """Check the fields that are one of some words.

    Raises:
        ConfigurationError: a field has none of them.
    """
    for name, hint in get_type_hints(type(given)).items():
        value = getattr(given, name)
        words = [word for each in get_args(hint) for word in get_args(each) if get_origin(each) is Literal]
        if value is not None and words and value not in words:
            raise ConfigurationError(f"option {name!r} is {value!r}, but must be one of {', '.join(words)}")


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return str(value)
        case Sequence():
            return ",".join(map(str, value))
    return str(value)
