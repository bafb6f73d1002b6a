"""Typed options are the texts that readers and writers take, all of them, and wrong ones are refused at once."""

from typing import Any, get_args, get_type_hints

import dagster as dg
import pytest

from aiopravega.errors import ConfigurationError
from aiopravega.schema.json.columns.forms import JsonDecimals, MissingFields, TimestampFormat
from aiopravega.times import TimeUnit
from dagster_pravega import OutputOptions, StreamInput, StreamOptions, pravega_output, pravega_stream_spec
from pravega_jobs.debezium.changes.options import BeforeImage, Changes, Decimals, NewColumns, TimePrecision, Truncates
from pravega_jobs.decoding.options import Format, OnError
from pravega_jobs.spark.options import (
    CONNECTION_OPTIONS,
    INTERVAL_OPTIONS,
    RANGE_OPTIONS,
    STREAM_OPTION,
    is_secret_option,
)
from pyspark_pravega.encode.encode_options import ENCODE_OPTIONS
from pyspark_pravega.read.read_options import READ_OPTIONS
from pyspark_pravega.read.stream_options import STREAMING_OPTIONS

# Of the connection, the range and streaming queries; what the data source refuses; and another source's.
NOT_OF_A_STREAM = {
    *CONNECTION_OPTIONS,
    *RANGE_OPTIONS,
    *STREAMING_OPTIONS,
    *INTERVAL_OPTIONS[:2],
    STREAM_OPTION,
    "streams",
    "metadata",
    "dedup",
}
JSON: dict[str, Any] = {"decode": "json", "columns": "id long"}


def names(options: type) -> set[str]:
    return set(get_type_hints(options))


def test_all_options_of_a_read_are_fields():
    known = {name for name in READ_OPTIONS if not is_secret_option(name)} - NOT_OF_A_STREAM
    assert names(StreamOptions) == known | {"event_time"}


def test_all_options_of_encoding_and_errors_are_fields():
    own = {name for name in ENCODE_OPTIONS if not name.startswith("schema_")}
    assert names(OutputOptions) == own | {"schema_register", "errors", "most_errors"}


@pytest.mark.parametrize(
    ("options", "name", "words"),
    [
        (StreamOptions, "decode", Format),
        (StreamOptions, "on_error", OnError),
        (StreamOptions, "missing_fields", MissingFields),
        (StreamOptions, "changes", Changes),
        (StreamOptions, "new_columns", NewColumns),
        (StreamOptions, "truncates", Truncates),
        (StreamOptions, "before_image", BeforeImage),
        (StreamOptions, "time_precision", TimePrecision),
        (StreamOptions, "decimals", Decimals),
        (StreamOptions, "event_time_unit", [unit.name.lower() for unit in TimeUnit]),
        (OutputOptions, "timestamp_format", TimestampFormat),
        (OutputOptions, "json_decimals", JsonDecimals),
    ],
)
def test_words_are_those_of_the_readers(options, name, words):
    assert {word for hint in get_args(get_type_hints(options)[name]) for word in get_args(hint)} == set(words)


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (StreamOptions(), {}),
        (StreamOptions(decode="json", columns="id long"), JSON),
        (
            StreamOptions(event_time="at", event_time_unit="us", event_time_clip=True, event_time_ahead_ms=5),
            {"event_time": "at", "event_time_unit": "us", "event_time_clip": "true", "event_time_ahead_ms": "5"},
        ),
        (
            StreamOptions(decode="debezium-json", columns="id long", key=["id", "day"], metadata_columns=("offset",)),
            {"decode": "debezium-json", "columns": "id long", "key": "id,day", "metadata_columns": "offset"},
        ),
        (
            StreamOptions(decode="avro", schema_file="/not/here.avsc"),
            {"decode": "avro", "schema_file": "/not/here.avsc"},
        ),
        (
            OutputOptions(errors="stream:shop/dead", most_errors="1%"),
            {"errors": "stream:shop/dead", "most_errors": "1%"},
        ),
        (OutputOptions(encode="json", schema_register=False), {"encode": "json", "schema_register": "false"}),
    ],
)
def test_options_are_the_texts_that_dagster_keeps(options, texts):
    assert options == texts
    kept = pravega_stream_spec("shop/orders", options=options).metadata.get("pravega/options", {})
    assert (kept, type(kept)) == (texts, dict)
    assert pravega_output("shop/orders", options=options)["metadata"].get("pravega/options", {}) == texts
    assert StreamInput(options=options).metadata().get("pravega/options", {}) == texts


def test_options_of_writers_and_readers_stand_together():
    both: Any = {**OutputOptions(encode="json"), **StreamOptions(**JSON)}
    assert pravega_output("shop/orders", options=both)["metadata"]["pravega/options"] == {"encode": "json", **JSON}
    assert dg.AssetSpec("orders", metadata={"pravega/options": both}).metadata["pravega/options"] == both


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        (StreamOptions, {"decode": "jsn"}, "option 'decode' is 'jsn', but must be one of raw, json, avro"),
        (StreamOptions, {"on_error": "hope"}, "must be one of fail, null, drop, dead"),
        (StreamOptions, {"decode": "avro", "columns": "id long"}, "the columns of decode=avro are those of its schema"),
        (StreamOptions, {"decode": "json", "key": ["id"]}, "for change events of Debezium, not for decode=json"),
        (StreamOptions, {"decode": "avro", "schema_file": "a", "schema_text": "b"}, "give either"),
        (StreamOptions, {"split_bytes": -1}, "must be at least 0"),
        (OutputOptions, {"codec": "gzip"}, "option 'codec' has no effect without 'encode'"),
        (OutputOptions, {"most_errors": 1}, "most_errors=1 needs errors"),
        (OutputOptions, {"errors": "parquet:/here"}, "the errors of a write go into a stream"),
    ],
)
def test_options_that_cannot_work_are_refused_where_they_are_written(options, given, message):
    with pytest.raises(ConfigurationError, match=message):
        options(**given)


@pytest.mark.parametrize("given", [{"dekode": "json"}, {"schema_registry_password": "hush"}])
def test_a_name_that_is_no_option_and_a_secret_are_no_fields(given):
    with pytest.raises(TypeError, match=next(iter(given))):
        StreamOptions(**given)
