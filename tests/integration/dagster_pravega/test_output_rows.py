"""Rows that assets return become events and rows again, whatever their types; what is no frame is refused."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.types import StructType

from aiopravega import StreamName
from aiopravega.schema.arrow.sql_columns import columns_of
from dagster_pravega import PravegaArrowIOManager, StreamRead, pravega_stream_spec
from pyspark_pravega.arrow_types import spark_schema

COLUMNS = (
    "flag boolean, b byte, i int, n long, f float, d double, price decimal(12,3), name string, raw binary, day date, "
    "at timestamp, local timestamp_ntz, reals array<double>, inner struct<at: timestamp, raw: binary>"
)
AT = datetime.fromisoformat("2026-01-01T01:02:03.123456")
VALUES = [
    (True, 1, 2, 2**60, 0.5, nan, Decimal("1.500"), "NaN", b"\0\xff", AT.date(), AT, AT, [inf, 1.5], (AT, b"\1")),
    (None,) * 14,
    (
        False,
        -1,
        -2,
        -(2**60),
        -inf,
        -inf,
        Decimal("-0.001"),
        '"',
        b"",
        date(1, 1, 1),
        AT,
        AT,
        [nan, None],
        (None, None),
    ),
]


@pytest.fixture
def write(manager, instance) -> Callable[..., dg.ExecuteInProcessResult]:
    """Materializes an asset that returns what a function makes."""

    def write(value: Callable[[], Any], stream: StreamName) -> dg.ExecuteInProcessResult:
        @dg.asset(io_manager_key="pravega", metadata={"pravega/stream": str(stream)})
        def written():
            return value()

        return dg.materialize([written], resources={"pravega": manager}, instance=instance, raise_on_error=False)

    return write


def test_rows_of_every_type_are_read_as_they_were_written(write, make_stream, append, spark, manager, instance):
    stream = make_stream()
    frame = spark.createDataFrame(VALUES, COLUMNS)
    assert write(lambda: frame, stream).success
    append(stream, ["no JSON"])
    options = {"decode": "json", "columns": "name string", "on_error": "null"}
    spec = pravega_stream_spec(str(stream), key="rows", options=options)
    columns: dict[str, Any] = {"pravega/columns": COLUMNS}
    no_errors = {**columns, "pravega/options": {"on_error": "drop"}}
    found: dict[str, Any] = {}

    @dg.asset(ins={"rows": dg.AssetIn(spec.key, input_manager_key="pravega", metadata=columns)})
    def by_spark(rows: StreamRead) -> None:
        found["spark"], found["events"] = rows.frame.collect(), rows.count.events()

    @dg.asset(ins={"rows": dg.AssetIn(spec.key, input_manager_key="arrow", metadata=no_errors)})
    def by_arrow(rows: pa.Table) -> None:
        found["arrow"] = rows

    resources = {"pravega": manager, "arrow": PravegaArrowIOManager(pravega=manager.pravega)}
    assert dg.materialize([spec, by_spark, by_arrow], resources=resources, instance=instance).success

    assert spark_schema(columns_of(COLUMNS)) == StructType.fromDDL(COLUMNS)  # Spark's own parser
    written = sorted(map(repr, frame.collect()))
    good = [row for row in found["spark"] if row["_corrupt_event"] is None]
    assert sorted(repr(Row(**{name: row[name] for name in frame.columns})) for row in good) == written
    assert [bytes(row["_corrupt_event"]) for row in found["spark"] if row["_corrupt_event"]] == [b"no JSON"]
    assert found["events"] == 4
    in_utc = frame.toArrow().cast(found["arrow"].schema)
    assert sorted(map(repr, found["arrow"].to_pylist())) == sorted(map(repr, in_utc.to_pylist()))


def test_frames_that_are_none_are_refused_and_empty_ones_are_done(write, make_stream, spark, contents):
    stream = make_stream()

    for value, said in ((None, "has returned None, but must return a pyspark.sql.DataFrame"), ({}, "returned dict")):
        [failure] = [event for event in write(lambda value=value: value, stream).all_events if event.is_step_failure]
        assert said in str(failure.step_failure_data.user_failure_data)
    for query in ("null as event, null as routing_key", "null as id", "'a' as event"):
        frame = spark.sql(f"select {query} where false")
        [done] = write(lambda frame=frame: frame, stream).get_asset_materialization_events()
        assert done.materialization.metadata["pravega/events"].value == 0
    assert contents(stream) == []
