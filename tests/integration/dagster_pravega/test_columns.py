"""Columns of inputs by Spark: those that the metadata name, and those of the schema that the registry has."""

from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame

from dagster_pravega import PravegaResource, PravegaSparkIOManager, StreamRead, pravega_stream_spec


@pytest.fixture
def rows_of(manager, instance):
    """The rows that an input of a type gets, or why it fails."""

    def rows_of(spec: dg.AssetSpec, kind: Any, *columns: str) -> Any:
        found: list[dict[str, Any]] = []

        def reader(rides):
            frame = rides.frame if isinstance(rides, StreamRead) else rides
            found.extend(row.asDict() for row in frame.collect())

        reader.__annotations__ = {"rides": kind, "return": None}
        metadata = {"columns": list(columns)} if columns else None
        given = dg.AssetIn(spec.key, input_manager_key="spark", metadata=metadata)
        asset = dg.asset(name="reader", ins={"rides": given})(reader)
        result = dg.materialize(
            [spec, asset], resources={"spark": manager}, instance=instance, raise_on_error=False, selection=[asset]
        )
        if not result.success:
            return str(result.get_step_failure_events()[0].step_failure_data.user_failure_data)
        return found

    return rows_of


@pytest.mark.parametrize("kind", [DataFrame, StreamRead])
def test_an_input_has_the_columns_that_its_metadata_name(kind, rows_of, make_stream, append):
    stream = make_stream()
    append(stream, ["a", "b"])
    spec = pravega_stream_spec(str(stream))

    rows = rows_of(spec, kind, "offset", "event")

    assert [list(row) for row in rows] == [["offset", "event"]] * 2
    assert sorted(bytes(row["event"]) for row in rows) == [b"a", b"b"]
    assert "names when, but the columns are event" in rows_of(spec, kind, "when")


@pytest.mark.parametrize("by_manager", [True, False], ids=["manager", "asset"])
def test_rows_are_written_and_read_by_the_schema_of_the_registry(
    by_manager, spark, rows_of, make_stream, instance, pravega_config, pravega_emulator
):
    stream, uri = make_stream(), pravega_emulator.schema_registry_uri
    encoded = {"encode": "avro", "schema_registry_uri": uri}
    writer = PravegaSparkIOManager(
        pravega=PravegaResource(controller_uri=pravega_config.controller_uri), options=encoded if by_manager else {}
    )
    metadata = {} if by_manager else {"pravega/options": encoded}

    @dg.asset(io_manager_key="spark", metadata={"pravega/stream": str(stream), **metadata})
    def rides():
        return spark.createDataFrame([(1, "north"), (2, "south")], "id bigint, region string")

    assert dg.materialize([rides], resources={"spark": writer}, instance=instance).success

    spec = pravega_stream_spec(str(stream), key="source", options={"decode": "auto", "schema_registry_uri": uri})
    assert sorted(rows_of(spec, StreamRead), key=lambda row: row["id"]) == [
        {"id": 1, "region": "north"},
        {"id": 2, "region": "south"},
    ]
    assert sorted(row["region"] for row in rows_of(spec, DataFrame, "region")) == ["north", "south"]
