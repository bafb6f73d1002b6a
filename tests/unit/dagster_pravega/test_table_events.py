"""Options and types of tables: understood, or refused by name."""

import pyarrow as pa
import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.tables.events import event_maker
from dagster_pravega.tables.options import ArrowOptions

STREAM = StreamName("examples", "rides")


def test_options_of_how_spark_divides_its_work_have_no_effect():
    options = {"Decode": "JSON", "schema_text": "{}", "split_bytes": "0", "event_time": "at", "commit_ledger": "a/b"}
    assert ArrowOptions.parse(options) == ArrowOptions(decode="json", schema="{}", time="at")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"decode": "csv"}, "must be one of raw, auto, json, avro, protobuf"),
        ({"on_error": "null"}, "must be one of fail, drop"),
        ({"encode": "avro"}, "must be one of auto"),
        ({"schema_text": "{}"}, "needs 'decode' as json or avro"),
        ({"metadata_columns": "all"}, "is not one of tables and record batches"),
    ],
)
def test_others_are_refused_by_name(options, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        ArrowOptions.parse(options)


def events_of(table: pa.Table) -> list[tuple[bytes, str | None]]:
    """The events of a table, with their keys."""
    maker = event_maker(table.schema, ArrowOptions(), STREAM, None)
    found: list[tuple[bytes, str | None]] = []
    for batch in maker.batches(table.to_reader(max_chunksize=7)):
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
