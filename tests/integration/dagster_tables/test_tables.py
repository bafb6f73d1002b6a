"""Streams as tables and record batches: the rows of exactly one range, each write exactly once."""

import json
from typing import Any

import dagster as dg
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aiopravega import StreamCutRange
from dagster_pravega import PravegaArrowIOManager, PravegaResource, StreamBatches, pravega_stream_spec

EVENTS = [f"ride {number:03}" for number in range(100)]
TYPES = (
    pa.Table,
    pa.RecordBatchReader,
    pd.DataFrame,
    pl.DataFrame,
    pl.LazyFrame,
    duckdb.DuckDBPyRelation,
    StreamBatches,
    Any,
)


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The rows of a value of any of the types."""
    match value:
        case StreamBatches():
            return rows_of(value.reader)
        case pa.RecordBatchReader():
            return rows_of(value.read_all())
        case pa.Table():
            return list(value.to_pylist())
        case pd.DataFrame():
            return [{str(name): cell for name, cell in row.items()} for row in value.to_dict("records")]
        case pl.DataFrame():
            return value.to_dicts()
        case pl.LazyFrame():
            found = value.collect().to_dicts()
            assert value.select(pl.len()).collect().item() == len(found)  # read a second time
            return found
        case duckdb.DuckDBPyRelation():
            read = rows_of(value.to_arrow_table())
            assert value.count("*").fetchall() == [(len(read),)]
            return read
    raise AssertionError(f"a {type(value)}")


@pytest.fixture
def read(stream, manager, instance):
    """Reads the stream in an asset whose input has a type; the rows and the materialization, or the failure."""

    def read(kind, *, options=None, metadata=None, manager=manager, cuts=None):
        spec = pravega_stream_spec(str(stream), options=options)
        found: list[dict[str, Any]] = []

        def rides(rides):
            found.extend(rows_of(rides))
            return rides.done() if isinstance(rides, StreamBatches) else dg.MaterializeResult[None]()

        rides.__annotations__ = {"rides": kind, "return": dg.MaterializeResult[None]}
        given = dg.AssetIn(spec.key, input_manager_key="tables", metadata=metadata)
        asset = dg.asset(name="reader", ins={"rides": given})(rides)
        result = dg.materialize(
            [spec, asset],
            selection=[asset],
            resources={"tables": manager},
            instance=instance,
            run_config={"ops": {"reader": {"inputs": {"rides": cuts}}}} if cuts else None,
            raise_on_error=False,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [event] = result.get_asset_materialization_events()
        return found, {name: entry.value for name, entry in event.materialization.metadata.items()}

    return read


@pytest.fixture
def write(sink, manager, instance):
    """Writes what an asset returns to the sink; its metadata, or the failure."""

    def write(value, *, partition=None, options=None, manager=manager, **settings):
        definition = None if partition is None else dg.StaticPartitionsDefinition(["a", "b"])

        @dg.asset(
            io_manager_key="tables",
            metadata={"pravega/stream": str(sink), **({"pravega/options": options} if options else {})},
            partitions_def=definition,
        )
        def copies():
            return value() if callable(value) else value

        result = dg.materialize(
            [copies],
            resources={"tables": manager},
            instance=instance,
            partition_key=partition,
            raise_on_error=False,
            **settings,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [event] = result.get_asset_materialization_events()
        return {name: entry.value for name, entry in event.materialization.metadata.items()}

    return write


@pytest.fixture
def half(client, stream):
    """The stream has a hundred events; the cuts around the second half."""
    cuts = []
    for some in (EVENTS[:50], EVENTS[50:]):
        with client.writer(stream) as writer:
            writer.write_many([event.encode() for event in some], some)
        cuts.append(client.tail(stream))
    return StreamCutRange(*cuts)


def test_each_type_has_the_rows_of_the_range(half, client, stream, read):
    expected = {
        (event.data, event.segment.to_int(), event.offset): (stream.scope, stream.stream) for event in client.read(half)
    }
    assert len(expected) == 50
    for kind in TYPES:
        rows, metadata = read(kind, cuts=half.to_json())
        found = {(row["event"], row["segment_id"], row["offset"]): (row["scope"], row["stream"]) for row in rows}
        assert found == expected
        only, _ = read(kind, cuts=half.to_json(), metadata={"columns": ["offset", "event"]})
        assert [list(row) for row in only] == [["offset", "event"]] * 50
        if kind is StreamBatches:
            assert metadata["pravega/cuts"] == half.to_json()
            assert metadata["pravega/events"] == 50


@pytest.mark.usefixtures("half")
def test_batches_that_were_not_read_to_the_end_are_not_counted(stream, manager, instance):
    spec = pravega_stream_spec(str(stream))

    @dg.asset(ins={"rides": dg.AssetIn(spec.key, input_manager_key="tables")})
    def first(rides: StreamBatches) -> dg.MaterializeResult[None]:
        assert rides.reader.read_next_batch().num_rows
        return dg.MaterializeResult(metadata=rides.metadata())

    result = dg.materialize([spec, first], selection=[first], resources={"tables": manager}, instance=instance)
    [event] = result.get_asset_materialization_events()
    assert event.materialization.metadata["pravega/events"].value == "not known"


@pytest.mark.usefixtures("half")
def test_what_is_not_understood_is_refused(read, pravega_config):
    assert "is of type <class 'dict'>, but must be StreamBatches, pyarrow.RecordBatchReader" in read(dict)
    assert "a table or record batch has no option 'split_byte'" in read(pa.Table, options={"split_byte": 5})
    assert "PRAVEGA_SCHEMA_REGISTRY_URI" in read(pa.Table, options={"decode": "avro"})
    assert "'columns' names when, but the columns are event" in read(pa.Table, metadata={"columns": ["when"]})
    small = PravegaArrowIOManager(
        pravega=PravegaResource(controller_uri=pravega_config.controller_uri), largest_table=100
    )
    assert "which largest_table=100 forbids" in read(pd.DataFrame, manager=small)
    assert len(read(pa.RecordBatchReader, manager=small)[0]) == 100


def test_json_becomes_columns_by_a_given_schema(client, stream, read):
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    options = {"decode": "json", "schema_text": json.dumps(schema)}
    with client.writer(stream) as writer:
        writer.write_many([b'{"id": 9007199254740993, "name": "a"}', b'{"name": "b"}', b"no json"], ["x"] * 3)

    assert "cannot be decoded as Json" in read(pa.Table, options=options)
    for kind in (pa.Table, pl.DataFrame):
        rows, _ = read(kind, options={**options, "on_error": "drop"})
        assert rows == [{"id": 9007199254740993, "name": "a"}, {"id": None, "name": "b"}]
    [first, second], _ = read(pd.DataFrame, options={**options, "on_error": "drop"})
    assert first["id"] == 9007199254740993  # no floating number, which would lose the last digit
    assert pd.isna(second["id"])


TABLE = pa.table({"event": ["one", "two"], "routing_key": ["a", None]})


@pytest.mark.parametrize(
    "value",
    [
        lambda: TABLE,
        TABLE.to_reader,
        lambda: TABLE.to_batches()[0],
        TABLE.to_pandas,
        lambda: pl.from_arrow(TABLE),
        lambda: pl.DataFrame(TABLE).lazy(),
    ],
    ids=["table", "reader", "batch", "pandas", "polars", "lazy"],
)
def test_each_type_is_written_once(write, value, contents, sink, client):
    first = write(value, partition="a")
    again = write(value, partition="a")

    assert contents(sink) == ["one", "two"]
    assert first["pravega/cuts"] == again["pravega/cuts"]
    assert first["dagster/partition_row_count"] == first["pravega/events"] == 2
    assert first["dagster/table_name"] == f"{sink.scope}.copies"
    between = client.read(StreamCutRange.from_json(first["pravega/cuts"]))
    assert sorted(event.data for event in between) == [b"one", b"two"]


def test_other_rows_of_a_partition_are_refused_until_it_is_rebuilt(write, contents, sink):
    write(pa.table({"event": ["one"]}), partition="a")
    others = pa.table({"event": ["uno"]})

    assert "WriteIdReusedError" in write(others, partition="a")
    assert write(others, partition="a", tags={"pravega/rebuild": "2"})["pravega/generation"] == 2
    assert contents(sink) == ["one", "uno"]


def test_a_failed_write_leaves_nothing_and_the_next_run_writes_it(write, contents, sink):
    def broken():
        yield pa.RecordBatch.from_pydict({"event": ["one"] * 20_000})
        raise RuntimeError("the source is gone")

    schema = pa.schema([("event", pa.string())])
    said = write(lambda: pa.RecordBatchReader.from_batches(schema, broken()), partition="a")
    assert "the source is gone" in said
    assert contents(sink) == []

    whole = pa.table({"event": ["one"] * 20_001})
    assert write(whole, partition="a")["pravega/events"] == 20_001
    assert len(contents(sink)) == 20_001


def test_rows_become_json_and_what_has_no_place_in_it_is_refused(write, contents, sink):
    rows = pa.table({"id": [1, None], "name": ["a", "b"], "routing_key": ["x", "y"], "tags": [["p"], []]})
    metadata = write(pl.from_arrow(rows))
    assert [json.loads(event) for event in contents(sink)] == [
        {"id": 1, "name": "a", "tags": ["p"]},
        {"name": "b", "tags": []},
    ]
    assert [column.name for column in metadata["dagster/column_schema"].columns] == rows.schema.names

    assert "column 'other' is not part of a write" in write(pa.table({"event": ["a"], "other": [1]}))
    assert "row 1 has no event (null)" in write(pa.table({"event": ["a", None]}))
    assert "column 'routing_key' is int64, but must be text" in write(pa.table({"event": ["a"], "routing_key": [1]}))
    assert "column 'far' is duration[us], which cannot be part" in write(
        pa.table({"far": pa.array([1], pa.duration("us"))})
    )
    indexed = pd.DataFrame({"event": ["a"]}, index=["row"])
    assert "has an index of its own" in write(indexed)
    assert "has returned list, but must return a pyarrow.RecordBatchReader" in write(["a"])
    assert "has returned None, but must return" in write(None)
    assert write(pd.DataFrame({"event": ["c", "d", None]}).dropna()[1:])["pravega/events"] == 1
    assert contents(sink)[0] == "d"
    assert len(contents(sink)) == 3


def test_a_preview_is_made_only_if_it_is_asked_for(write, pravega_config):
    shown = PravegaArrowIOManager(
        pravega=PravegaResource(controller_uri=pravega_config.controller_uri), preview_events=1
    )
    assert "pravega/preview" not in write(pa.table({"event": ["secret"]}))
    preview = write(pa.table({"event": ["\x1b" + "x" * 500]}), manager=shown)["pravega/preview"]
    assert preview.startswith("    \\x1bxxx")
    assert preview.endswith("… (501 bytes)")


def test_a_day_without_rows_is_a_write_of_nothing_and_done(write, contents, sink):
    for nothing in (pa.table({"event": pa.array([], pa.string())}), pd.DataFrame(), pl.DataFrame({"event": []})):
        assert write(nothing, partition="a")["pravega/events"] == 0
    assert "WriteIdReusedError" in write(TABLE, partition="a")  # it is done, with no rows
    assert contents(sink) == []
