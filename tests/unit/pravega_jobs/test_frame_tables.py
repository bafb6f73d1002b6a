"""Options and types of tables: understood, or refused by name."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId
from pravega_jobs.decoding.options import Format
from pravega_jobs.frame_kinds import FrameKind
from pravega_jobs.frames.decoding import decoding_of
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.spark.options import READ_BEFORE
from pravega_jobs.tables import batches_of, check_table, schema_of

STREAM = StreamName("examples", "rides")


def test_options_that_a_scheduler_has_read_before_have_no_effect():
    options = {"Decode": "JSON", "schema_text": "{}", "split_bytes": "0", "event_time": "at", "commit_ledger": "a/b"}
    parsed = FrameOptions.parse(options, READ_BEFORE)
    assert (parsed.decode.format, parsed.decode.schema, parsed.time) == (Format.JSON, b"{}", "at")
    with pytest.raises(ConfigurationError, match="a table or record batch has no option 'split_bytes'"):
        FrameOptions.parse(options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"decode": "csv"}, "must be one of raw, json, avro, protobuf"),
        ({"on_error": "ignore"}, "must be one of fail, null, drop"),
        ({"encode": "avro"}, "option 'encode' is 'avro', but must be auto"),
        ({"schema_text": "{}"}, "decode=auto takes format and schema from the registry"),
        ({"columns": "id int"}, "option 'columns' is for decode=json"),
        ({"decode": "json", "columns": "id int", "schema_text": "{}"}, "both give the columns"),
        ({"decode": "json", "key": "id"}, "option 'key' is for change events of Debezium"),
        ({"decode": "avro", "missing_fields": "fail"}, "'missing_fields' is for decode=json"),
        ({"decode": "json", "missing_fields": "drop"}, "must be one of null, fail"),
        ({"timestamp_format": "rfc"}, "must be one of iso, sql"),
        ({"json_decimals": "float"}, "must be one of number, plain, text"),
    ],
)
def test_others_are_refused_by_name(options, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        FrameOptions.parse(options)


def test_columns_of_json_events_are_given_as_sql_writes_them():
    options = FrameOptions.parse({"decode": "json", "columns": "id long, price decimal(10,2), at timestamp"})
    decoding = decoding_of(options, STREAM, None)
    event = pa.array([b'{"id":1,"price":1.50,"at":"2026-01-01T00:00:00.123456Z","more":1}'], pa.binary())

    [row] = decoding.batch(event, np.zeros(1, np.int64), SegmentId(STREAM, 0, 0)).to_pylist()

    assert row == {"id": 1, "price": Decimal("1.50"), "at": dt.datetime(2026, 1, 1, 0, 0, 0, 123456, dt.UTC)}
    with pytest.raises(ConfigurationError, match="'word' is not a type; known are boolean"):
        decoding_of(FrameOptions.parse({"decode": "json", "columns": "id word"}), STREAM, None)
    with pytest.raises(ConfigurationError, match="decode=json needs the columns"):
        decoding_of(FrameOptions.parse({"decode": "json"}), STREAM, None)


def test_positions_of_events_are_columns_on_request():
    given = {"decode": "json", "columns": "id long", "on_error": "null", "metadata_prefix": "_"}
    decoding = decoding_of(FrameOptions.parse(given | {"metadata_columns": "offset,event_pointer"}), STREAM, None)
    batch = decoding.batch(pa.array([b"no json", b'{"id":1}'], pa.binary()), np.array([0, 15]), SegmentId(STREAM, 0, 0))

    assert batch.to_pylist() == [
        {"id": None, "_offset": 0, "_event_pointer": "examples/rides/0.#epoch.0:0-15", "_corrupt_event": b"no json"},
        {"id": 1, "_offset": 15, "_event_pointer": "examples/rides/0.#epoch.0:15-16", "_corrupt_event": None},
    ]
    for asked, said in (("event_time_lower", "Spark has the columns of event times"), ("id,id", "more than once")):
        with pytest.raises(ConfigurationError, match=said):
            decoding_of(FrameOptions.parse(given | {"metadata_columns": asked}), STREAM, None)


def test_options_of_decoded_events_need_a_way_to_decode():
    for given in ({"on_error": "drop"}, {"schema_type": "Ride"}):
        with pytest.raises(ConfigurationError, match="give option 'decode' .* or a registry, or leave them out"):
            decoding_of(FrameOptions.parse(given), STREAM, None)


def test_json_events_that_lack_a_field_are_refused_if_asked():
    given = {"decode": "json", "columns": "id long, name string", "missing_fields": "fail"}
    event = pa.array([b'{"id":1}'], pa.binary())

    with pytest.raises(MalformedEventError, match="it has no field 'name'"):
        decoding_of(FrameOptions.parse(given), STREAM, None).batch(
            event, np.zeros(1, np.int64), SegmentId(STREAM, 0, 0)
        )


def test_rows_as_json_have_the_asked_texts_of_times_and_decimals():
    options = FrameOptions.parse({"timestamp_format": "sql", "json_decimals": "plain"})
    price = pa.array([Decimal("1E-8")], pa.decimal128(10, 8))
    table = pa.table({"at": pa.array([dt.datetime(2020, 12, 30, tzinfo=dt.UTC)]), "price": price})

    [batch] = event_batches(table.to_reader(), options, STREAM, None)

    assert batch.events == [b'{"at":"2020-12-30 00:00:00.000000Z","price":0.00000001}']
    with pytest.raises(ConfigurationError, match="timestamp_format and json_decimals are for rows that become JSON"):
        event_batches(pa.table({"event": ["x"]}).to_reader(), options, STREAM, None)


def events_of(table: pa.Table | pa.RecordBatchReader) -> list[tuple[bytes, str | None]]:
    """The events of a table, with their keys."""
    rows = table.to_reader(max_chunksize=7) if isinstance(table, pa.Table) else table
    found: list[tuple[bytes, str | None]] = []
    for batch in event_batches(rows, FrameOptions(), STREAM, None):
        keys = batch.routing_keys or [None] * len(batch.events)
        found += zip(batch.events, keys, strict=True)
    return found


def test_types_of_other_libraries_are_those_of_arrow():
    table = pa.table(
        {
            "routing_key": pa.array(["a", "b"], pa.large_string()),
            "name": pa.array(["x", None], pa.string_view()),
            "colour": pa.array(["red", "red"]).dictionary_encode(),
            "tags": pa.array([["p"], None], pa.large_list(pa.large_string())),
            "inner": pa.array([{"id": 1}, {"id": 2}]),
        }
    )

    assert events_of(table) == [
        (b'{"name":"x","colour":"red","tags":["p"],"inner":{"id":1}}', "a"),
        (b'{"colour":"red","inner":{"id":2}}', "b"),
    ]


def test_the_row_of_an_event_that_is_null_is_named_across_batches():
    table = pa.table({"event": ["a"] * 10 + [None]})
    with pytest.raises(ConfigurationError, match="row 10 has no event"):
        events_of(table)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"event": [1]}, "column 'event' is int64, but must be text or bytes"),
        ({"routing_key": ["a"]}, "no columns that an event could have"),
        ({"at": pa.array([1], pa.time64("us"))}, "column 'at' is time64"),
    ],
)
def test_columns_that_cannot_be_events_are_refused(columns, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        events_of(pa.table(columns))


@pytest.mark.parametrize(
    "nothing",
    [
        pd.DataFrame(),
        pd.DataFrame({"event": [], "routing_key": []}),
        pd.DataFrame({"id": [1]}, index=["a"])[:0],
        pl.DataFrame(),
        pl.DataFrame({"event": []}),
        pl.LazyFrame({"id": []}),
        pa.table({"event": pa.array([], pa.int64())}),
        pa.RecordBatchReader.from_batches(pa.schema([("event", pa.null())]), []),
    ],
)
def test_a_table_without_rows_has_no_events_whatever_its_columns(nothing):
    check_table(nothing)
    assert events_of(batches_of(nothing)) == []


def test_columns_of_nulls_are_known_by_their_values():
    assert events_of(batches_of(pd.DataFrame({"event": ["a"], "routing_key": [None]}))) == [(b"a", None)]
    with pytest.raises(ConfigurationError, match="row 0 has no event"):
        events_of(batches_of(pl.DataFrame({"event": [None]})))


def test_rows_of_pandas_that_were_filtered_are_written():
    frame = pd.DataFrame({"id": [1, 2, 3]})
    for chosen in (frame[frame.id > 1], frame.sort_values("id", ascending=False)[:2], pd.concat([frame, frame])[2:4]):
        check_table(chosen)
        assert len(events_of(batches_of(chosen))) == 2


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"id": 1}, "the rows are <class 'dict'>, but must be a pyarrow.RecordBatchReader"),
        (pd.DataFrame({"id": [1]}, index=["a"]), "reset_index"),
        (pd.DataFrame({"id": [1]}, index=pd.Index([1], name="day")), "reset_index"),
        (pd.DataFrame({"id": [1]}, index=[0.5]), "reset_index"),
        (pd.Series([1]), "the rows are <class 'pandas.*Series'>"),
    ],
)
def test_values_that_are_no_table_are_refused_by_name(value, said):
    with pytest.raises(ConfigurationError, match=said):
        check_table(value)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"id": [1, "x"]}), "Could not convert 'x' .*; .* column id .*Give each column one type"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "Duplicate column names"),
    ],
)
def test_columns_of_pandas_that_are_not_one_type_are_named(frame, said):
    for convert in (batches_of, schema_of):
        with pytest.raises(ConfigurationError, match=said):
            convert(frame)


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (pl.LazyFrame, ("polars", "LazyFrame")),
        ("polars.LazyFrame", ("polars", "LazyFrame")),
        (" pl.DataFrame", ("polars", "DataFrame")),
        ("pd.DataFrame", ("pandas", "DataFrame")),
        (pd.DataFrame, ("pandas", "DataFrame")),
        (pa.RecordBatchReader, ("pyarrow", "RecordBatchReader")),
        (duckdb.DuckDBPyRelation, ("duckdb", "DuckDBPyRelation")),
    ],
)
def test_an_annotation_names_a_kind_of_frame_as_class_or_text(annotation, kind):
    found = FrameKind.of(annotation, "the parameter")
    assert (found.package, found.name) == kind


@pytest.mark.parametrize("annotation", [dict, "LazyFrame", "pl.Series", None, "pl.LazyFrame | None"])
def test_another_annotation_is_refused_with_those_that_exist(annotation):
    with pytest.raises(
        ConfigurationError, match=r"the parameter has the annotation .* one of pyarrow\.RecordBatchReader"
    ):
        FrameKind.of(annotation, "the parameter")


def test_a_relation_of_duckdb_is_a_table():
    relation = duckdb.sql("select 1 as id, 'a' as name")
    check_table(relation)
    assert batches_of(relation).read_all().to_pylist() == [{"id": 1, "name": "a"}]
    assert schema_of(relation) == pa.schema([("id", pa.int32()), ("name", pa.string())])
