"""Plain rows of a range merged by key, by Spark and without it: the same changes, the same table, the same refusals."""

import json
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.frames import StreamRange, read_arrow
from pravega_jobs.merging import MergeRules
from pravega_jobs.merging.local_plain_rows import changes_of_rows
from pravega_jobs.merging.row_frames import changes_of_frame
from pyspark_pravega.cdc import merge_into
from pyspark_pravega.land import Action

POSITION = ("segment_id", "offset")
COLUMNS = "id long, price double, gone boolean"


def test_spark_and_this_process_make_the_same_changes_of_rows(spark):
    rows = [
        {
            "id": number,
            "key `2`": b"k",
            "tiny": number,
            "at": datetime(year, 3, 1, 12, tzinfo=UTC),
            "day": date(year, 2, 28),
            "gone": number > 0,
            "tags": ["x", None],
        }
        for number, year in ((-128, 1), (-1, 1969), (0, 1970), (127, 9999))
    ]
    kinds = {"tiny": pa.int8(), "at": pa.timestamp("us", "UTC"), "tags": pa.list_(pa.string()), "day": pa.date32()}
    schema = pa.schema([(name, kinds.get(name, pa.scalar(value).type)) for name, value in rows[0].items()])
    table = pa.Table.from_pylist(rows, schema)
    for order in (("tiny", "at", "day", "id"), ()):
        rules = MergeRules.of(["id", "key `2`"], order_by=order, delete_column="gone")
        of_spark = changes_of_frame(spark.createDataFrame(table), rules).toArrow()
        ours = changes_of_rows(table, rules).read_all()
        assert of_spark.sort_by("id").to_pylist() == ours.to_pylist()
    unfit = spark.createDataFrame(table).selectExpr("cast(id as float) as id", "gone")
    with pytest.raises(ConfigurationError, match="the key has id, which is float"):
        changes_of_frame(unfit, MergeRules.of("id", order_by=()))


def test_ranges_go_into_one_table_from_spark_and_without_it(client, make_stream, write, read, tmp_path):
    stream, table = make_stream(2), f"delta:{tmp_path}/prices"
    rules: dict[str, Any] = {"key": ["id"], "order_by": POSITION, "delete_column": "gone"}

    def taken(*prices):
        """Write an event for each price, by the key of its row, and give the range."""
        start = client.tail(stream)
        given = [{"id": id_, "price": price, "gone": price is None} for id_, price in prices]
        write(stream, [(json.dumps(row).encode(), str(row["id"])) for row in given])
        return StreamCutRange(start, client.tail(stream))

    def frame(cuts):
        ends = {f"{name}_stream_cut": text for name, text in cuts.to_json().items()}
        return read(stream, decode="json", columns=COLUMNS, metadata_columns="segment_id,offset", **ends)

    def rows():
        found = pl.scan_delta(f"{tmp_path}/prices").select("id", "price").collect()
        return dict(found.sort("id").iter_rows())

    first = taken((1, 1.0), (2, 2.0), (1, 1.5), (3, 3.0), (3, None))
    done = merge_into(frame(first), table, first, consumer="prices", interval="0", **rules)
    assert (done.counts.inserted, done.counts.absent, rows()) == (2, 1, {1: 1.5, 2: 2.0})

    second = taken((2, None), (3, 3.5), (4, 4.0))
    of_range = StreamRange(client, stream, second)
    local = read_arrow(of_range, decode="json", columns=COLUMNS, metadata_columns="segment_id,offset")
    merge_into(local, table, second, consumer="prices", interval="1", **rules)
    assert rows() == {1: 1.5, 3: 3.5, 4: 4.0}

    third = taken((3, None), (4, 5.0), (4, 6.0))
    for name in ("id", "gone"):
        lacking = frame(third).withColumn(name, sf.expr(f"nullif({name}, {name})"))
        with pytest.raises(PySparkException, match=f"the rows have null in {name}"):
            merge_into(lacking, table, third, consumer="prices", interval="2", **rules)
    tied = {**rules, "order_by": ()}
    with pytest.raises(LandingError, match="rows ordered by segment_id, offset, and this merge has"):
        merge_into(frame(third), table, third, consumer="prices", interval="2", **tied)
    with pytest.raises(PySparkException, match=r"two rows of one key.*The key: .*\"id\":4"):
        merge_into(frame(third), f"{table}-2", third, consumer="prices", interval="2", **tied)
    assert rows() == {1: 1.5, 3: 3.5, 4: 4.0}
    merge_into(frame(third), table, third, consumer="prices", interval="2", **rules)
    again = merge_into(frame(third), table, third, consumer="prices", interval="2", **rules)
    assert (again.action, rows()) == (Action.NOTHING, {1: 1.5, 4: 6.0})
