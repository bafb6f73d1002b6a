"""Recorded intervals through other code, compared with what was written then, on a real server."""

import random
from collections import Counter
from functools import partial
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from example_dags import source
from tests.integration.pravega_jobs.replay_job import (
    DAYS,
    READ,
    again,
    both_days,
    client,
    flights,
    less,
    minutes,
    process,
    scope,
)

from aiopravega import ScalingPolicy, StreamCutRange
from aiopravega.blocking.intervals import take
from aiopravega.errors import ConfigurationError, LedgerError
from aiopravega.intervals.chain.claims import claimed_again
from aiopravega.ledger import Interval
from pravega_jobs.frames import range_of, read_table, scan_polars, write_arrow
from pravega_jobs.sandbox import replay

__all__ = ["again", "both_days", "client", "flights", "process", "scope"]


@pytest.mark.usefixtures("both_days")
def test_the_same_code_gives_the_same_rows_for_each_kind_of_frame(again, client, scope, flights):
    def arrow(flights: pa.Table) -> pa.Table:
        return flights.drop_null().select(["delay", "carrier", "id"])

    def batches(flights: pa.RecordBatchReader) -> pa.Table:
        return flights.read_all().drop_null()

    def pandas(flights: pd.DataFrame) -> pd.DataFrame:
        return flights.dropna()

    def polars(flights: pl.DataFrame) -> pl.DataFrame:
        return flights.drop_nulls()

    def sql(flights: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        return flights.filter("delay IS NOT NULL")

    tails = [client.tail(flights), client.tail(f"{scope}/delays")]
    records = client.cut_ledger(scope).records("delays", flights)
    for code in (minutes, arrow, batches, pandas, polars, sql):
        for key in ("id", ()):
            result = again(code, key=key)
            result.assert_same()
            assert [(each.interval, each.before, each.now) for each in result.intervals] == [
                (day, 180, 180) for day in DAYS
            ]
            assert result.output == f"{scope}/delays"
    # A replay has no effects.
    assert [client.tail(flights), client.tail(f"{scope}/delays")] == tails
    assert client.cut_ledger(scope).records("delays", flights) == records


@pytest.mark.usefixtures("both_days")
def test_the_differences_are_the_planted_ones_and_only_these(again):
    def changed(flights: pl.LazyFrame) -> pl.LazyFrame:
        found = minutes(flights).filter(pl.col("id") != 7)  # removed
        late = pl.when(pl.col("id") % 100 == 3).then(pl.col("delay") + 1).otherwise(pl.col("delay"))
        new = pl.LazyFrame({"id": [1000], "carrier": ["new"], "delay": [1.5]})
        return pl.concat([found.with_columns(late.alias("delay")), new])

    result = again(changed)
    assert not result.is_same
    assert [(each.added, each.removed, each.changed) for each in result.intervals] == [(1, 1, 2), (1, 0, 2)]
    assert [(each.column, each.changed) for each in result.columns] == [("delay", 4)]
    assert result.columns[0].samples[0] == {"key": {"id": 103}, "before": 51.5, "now": 52.5}
    assert result.added == [{"id": 1000, "carrier": "new", "delay": 1.5}] * 2
    assert result.removed == [{"id": 7, "carrier": "C0", "delay": 3.5}]
    assert result.schema == []
    with pytest.raises(AssertionError, match="delay: 4 rows have another value"):
        result.assert_same()
    by_row = again(changed, key=())
    assert [(each.added, each.removed, each.changed) for each in by_row.intervals] == [(3, 3, 0), (3, 2, 0)]
    [one] = again(changed, intervals=DAYS[1], samples=1).columns
    assert (one.changed, len(one.samples)) == (2, 1)


def test_in_a_month_of_flights_the_planted_differences_are_found(client, scope):
    flights = source._year()
    month = flights[flights.day < "2013-02"]
    numbers = range(len(month))
    rows = pa.table({"id": pa.array(numbers), "carrier": month["carrier"], "delay": month["dep_delay"]})
    planted = {number: number % 3 for number in random.Random(50).sample(numbers, 90)}

    def deployed(flights: pl.LazyFrame) -> pl.LazyFrame:
        return flights.with_columns(pl.col("delay").fill_null(0) / 60)

    def changed(flights: pl.LazyFrame) -> pl.LazyFrame:
        what = pl.col("id").replace_strict(planted, default=-1)
        found = deployed(flights).filter(what != 0)
        late = pl.when(what == 1).then(pl.col("delay") + 0.25).otherwise(pl.col("delay"))
        more = found.filter(what == 2).with_columns(pl.col("id") + 1_000_000)
        return pl.concat([found.with_columns(late.alias("delay")), more])

    for name in ("month", "hours"):
        client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(2))
    write_arrow(client, rows, f"{scope}/month", "january")
    with take(client, f"{scope}/month", consumer="hours", interval="january") as taken:
        write_arrow(client, deployed(scan_polars(taken, **READ)), f"{scope}/hours", "hours january")

    result = replay(
        client,
        f"{scope}/month",
        consumer="hours",
        intervals="january",
        code=changed,
        compare_with=f"{scope}/hours",
        write_id="hours {interval}",
        key="id",
        options=READ,
        samples=90,
    )

    [interval], [column] = result.intervals, result.columns
    kinds = Counter(planted.values())
    assert (interval.before, interval.now) == (27_004, 27_004 - kinds[0] + kinds[2])
    assert (interval.removed, interval.changed, interval.added) == (kinds[0], kinds[1], kinds[2])
    assert {row["id"] for row in result.removed} == {number for number, kind in planted.items() if kind == 0}
    assert {row["id"] - 1_000_000 for row in result.added} == {n for n, kind in planted.items() if kind == 2}
    assert column.column == "delay"
    assert {each["key"]["id"] for each in column.samples} == {n for n, kind in planted.items() if kind == 1}
    assert {round(each["now"] - each["before"], 9) for each in column.samples} == {0.25}


@pytest.mark.usefixtures("both_days")
def test_columns_that_come_go_or_hold_other_values_are_named(again):
    def renamed(flights: pl.LazyFrame) -> pl.LazyFrame:
        return minutes(flights).select("id", pl.col("carrier").alias("airline"), pl.col("delay").cast(str))

    result = again(renamed)
    assert [(each.column, each.before, each.now) for each in result.schema] == [
        ("airline", None, "text"),
        ("carrier", "text", None),
        ("delay", "number", "text"),
    ]
    assert {each.column: each.changed for each in result.columns} == {"airline": 360, "carrier": 360, "delay": 360}


@pytest.mark.usefixtures("both_days")
def test_output_options_decode_both_sides(again):
    typed = {"decode": "json", "columns": "id long, delay double"}

    def other_carriers(flights: pl.LazyFrame) -> pl.LazyFrame:
        return minutes(flights).with_columns(pl.lit("other").alias("carrier"))

    assert not again(other_carriers).is_same
    assert again(other_carriers, output_options=typed).is_same
    whole = again(other_carriers, output_options={"decode": "raw"}, key=())
    assert whole.total("added") == 360
    assert again(minutes, output_options={"decode": "raw"}, key=()).is_same
    with pytest.raises(ConfigurationError, match="metadata_columns"):
        again(minutes, output_options={"decode": "json", "metadata_columns": "offset"})
    with pytest.raises(ConfigurationError, match="key names flight, but the rows of"):
        again(minutes, key="flight")


def test_events_that_are_no_objects_are_refused_and_then_read_raw(client, scope, flights, process, again):
    def texts(flights: pl.LazyFrame) -> pl.LazyFrame:
        return minutes(flights).select(event=pl.format("{} {}", "id", "delay"), routing_key=pl.col("carrier"))

    process(0, declares=False)
    day = range_of(client, flights)
    write_arrow(client, texts(scan_polars(day, **READ)), f"{scope}/delays", f"texts {DAYS[0]}")
    named: dict[str, Any] = {
        "intervals": DAYS[0],
        "compare_with": f"{scope}/delays",
        "write_id": "texts {interval}",
        "key": (),
    }
    with pytest.raises(ConfigurationError, match="is not a JSON object: say by output_options"):
        again(texts, **named)
    result = again(texts, output_options={"decode": "raw"}, **named)
    result.assert_same()
    assert (result.intervals[0].written_as, result.intervals[0].now) == (f"texts {DAYS[0]}", 180)


def none(flights: pl.LazyFrame) -> pl.LazyFrame:
    return flights.clear()


@pytest.mark.usefixtures("both_days")
def test_a_scratch_scope_gets_the_rows_once_for_each_code(again, client, scope):
    into = f"{scope}-scratch"
    first = again(minutes, into=into)
    second = again(partial(minutes), into=into)
    assert [each.scratch for each in first.intervals] == [each.scratch for each in second.intervals]
    stream = f"{into}/delays"
    assert read_table(range_of(client, stream)).num_rows == 360
    other = again(less, into=into)
    assert read_table(range_of(client, stream)).num_rows == 360 + 2 * 179
    scratch = other.intervals[0].scratch
    assert scratch is not None
    [written] = client.written(scratch["stream"], scratch["write_id"])
    assert written.total_events == 179
    nothing = again(none, into=into)
    assert [(each.now, each.removed, each.is_same) for each in nothing.intervals] == [(0, 180, False)] * 2
    assert [client.written(stream, each.scratch["write_id"])[0].total_events for each in nothing.intervals] == [0, 0]
    for used in (scope, "no name!"):
        with pytest.raises(ConfigurationError):
            again(minutes, into=used)


@pytest.mark.usefixtures("both_days")
def test_a_stream_that_no_replay_has_made_gets_no_rows(again, client, scope):
    used = f"{scope}-used"
    client.create_scope(used)
    client.create_stream(f"{used}/delays")
    with pytest.raises(ConfigurationError, match=f"{used}/delays is there, and no replay has made it"):
        again(minutes, into=used)
    assert client.tail(f"{used}/delays") == client.head(f"{used}/delays")


@pytest.mark.usefixtures("both_days")
def test_the_newest_generation_of_a_write_is_compared(client, scope, flights, again):
    with pytest.raises(AssertionError):
        again(less).assert_same()
    for day in DAYS:
        cuts = client.cut_ledger(scope).find(Interval("delays", flights, day)).range
        rows = less(scan_polars(range_of(client, flights, cuts.start, cuts.end), **READ))
        write_arrow(client, rows, f"{scope}/delays", f"delays {day}", generation=2)
    result = again(less)
    result.assert_same()
    assert [each.generation for each in result.intervals] == [2, 2]


@pytest.mark.usefixtures("both_days")
def test_the_last_claim_of_an_interval_is_replayed(client, scope, flights, again):
    interval, late = Interval("delays", flights, DAYS[0]), Interval("delays", flights, DAYS[1])
    ledger = client.cut_ledger(scope)
    both = StreamCutRange(ledger.find(interval).range.start, ledger.find(late).range.end)
    second = claimed_again(interval, 2)
    ledger.claim(second, both)
    with pytest.raises(LedgerError, match="is open .*only an interval that is done"):
        again(minutes, intervals=DAYS[0])
    rows = minutes(scan_polars(range_of(client, flights, both.start, both.end), **READ))
    write_arrow(client, rows, f"{scope}/delays", f"delays {DAYS[0]}", generation=2)
    ledger.finish(second)
    result = again(minutes, intervals=DAYS[0], compare_with=f"{scope}/delays", write_id="delays {interval}")
    result.assert_same()
    assert [(each.interval, each.before, each.generation) for each in result.intervals] == [(DAYS[0], 360, 2)]
