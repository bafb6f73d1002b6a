"""Recorded intervals through other code, compared with what was written then, on a real server."""

import json
from functools import partial
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.integration.conftest import client, scope

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking.intervals import take
from aiopravega.errors import (
    ConfigurationError,
    LedgerError,
    MixedRangeError,
    ReplayError,
    StreamMadeAgainError,
    StreamTruncatedError,
)
from aiopravega.ledger import Interval, Sink
from pravega_jobs.frames import range_of, read_table, scan_polars, write_arrow
from pravega_jobs.sandbox import replay

__all__ = ["client", "scope"]
READ: dict[str, Any] = {"decode": "json", "columns": "id long, carrier string, delay double"}
DAYS = ["2026-01-05", "2026-01-06"]


def minutes(flights: pl.LazyFrame) -> pl.LazyFrame:
    """The code that was deployed: one row for each flight that has a delay."""
    return flights.filter(pl.col("delay").is_not_null()).select("id", "carrier", "delay")


@pytest.fixture
def flights(client, scope):
    """A stream of two days with 200 flights each, every tenth without a delay."""
    stream = StreamName(scope, "flights")
    client.create_stream(stream, ScalingPolicy.fixed(2))
    client.create_stream(f"{scope}/delays", ScalingPolicy.fixed(2))
    return stream


@pytest.fixture
def process(client, scope, flights):
    """Writes the flights of a day, and takes them into `delays` as the deployed job does."""

    def process(day: int, *, declares: bool = True, finish: bool = True) -> None:
        numbers = range(day * 200, day * 200 + 200)
        events = [{"id": n, "carrier": f"C{n % 7}", **({"delay": n / 2} if n % 10 else {})} for n in numbers]
        with client.writer(flights) as writer:
            writer.write_many([json.dumps(each).encode() for each in events], [each["carrier"] for each in events])
        write_id = f"delays {DAYS[day]}"
        with take(client, flights, consumer="delays", interval=DAYS[day]) as taken:
            if declares:
                sink = Sink(kind="write", target=f"{scope}/delays", id=write_id)
                client.cut_ledger(scope).declare(Interval("delays", flights, DAYS[day]), "delays", sink)
            if not finish:
                raise KeyboardInterrupt
            write_arrow(client, minutes(scan_polars(taken, **READ)), f"{scope}/delays", write_id)

    return process


@pytest.fixture
def both_days(process):
    process(0)
    process(1)


@pytest.fixture
def again(client, flights):
    """Replays both days through a function."""

    def again(code, **arguments: Any):
        given = {"consumer": "delays", "intervals": DAYS, "key": "id", "options": READ} | arguments
        return replay(client, flights, code=code, **given)

    return again


@pytest.mark.usefixtures("both_days")
def test_the_same_code_gives_the_same_rows_for_each_kind_of_frame(again, client, scope, flights):
    def arrow(flights: pa.Table) -> pa.Table:
        return flights.drop_null().select(["delay", "carrier", "id"])

    def batches(flights: pa.RecordBatchReader) -> pa.Table:
        return flights.read_all().drop_null()

    def pandas(flights: pd.DataFrame) -> pd.DataFrame:
        return flights.dropna()

    def polars(flights: "polars.DataFrame") -> pl.DataFrame:
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
    for used in (scope, "no name!"):
        with pytest.raises(ConfigurationError):
            again(minutes, into=used)


def less(flights: pl.LazyFrame) -> pl.LazyFrame:
    return minutes(flights).slice(1)


def test_ranges_that_cannot_be_replayed_are_refused_by_name(client, flights, process, again):
    process(0)
    with pytest.raises(LedgerError, match="interval 'never' of 'delays' .* has no range"):
        again(minutes, intervals="never")
    with pytest.raises(KeyboardInterrupt):
        process(1, finish=False)
    ledger, unfinished = client.cut_ledger(flights.scope), Interval("delays", flights, DAYS[1])
    with pytest.raises(LedgerError, match=f"{unfinished} is failed since .*KeyboardInterrupt"):
        again(minutes)
    ledger.reopen(unfinished, "once more")
    with pytest.raises(LedgerError, match=f"{unfinished} is open since .*: only an interval that is done"):
        again(minutes)
    ledger.skip(unfinished, "not wanted")
    with pytest.raises(LedgerError, match="is skipped since .*: not wanted"):
        again(minutes)
    client.truncate_stream(client.tail(flights))
    with pytest.raises(StreamTruncatedError, match=f"of the range of interval '{DAYS[0]}' .* are gone"):
        again(minutes, intervals=DAYS[0])
    client.seal_stream(flights)
    client.delete_stream(flights)
    client.create_stream(flights)
    with pytest.raises(StreamMadeAgainError, match="belongs to the deleted one"):
        again(minutes, intervals=DAYS[0])


def test_writes_that_cannot_be_compared_are_refused_by_name(client, scope, process, again):
    process(0, declares=False)
    with pytest.raises(ConfigurationError, match="names no write: give compare_with"):
        again(minutes, intervals=DAYS[0])
    output: dict[str, Any] = {"intervals": DAYS[0], "compare_with": f"{scope}/delays"}
    with pytest.raises(ConfigurationError, match=f"names no write into {scope}/delays"):
        again(minutes, **output)
    with pytest.raises(LedgerError, match="has no write 'other' to"):
        again(minutes, write_id="other", **output)
    with pytest.raises(ConfigurationError, match="nothing says into which stream"):
        again(minutes, intervals=DAYS[0], write_id="other")
    with pytest.raises(ConfigurationError, match=r"write \{interval\} where the interval is in it"):
        again(minutes, compare_with=f"{scope}/delays", write_id="delays")
    again(minutes, write_id="delays {interval}", **output).assert_same()
    client.truncate_stream(client.tail(f"{scope}/delays"))
    with pytest.raises(StreamTruncatedError):
        again(minutes, write_id="delays {interval}", **output)


def test_a_write_among_those_of_others_is_refused_by_name(client, scope, process, again):
    output, ledger = StreamName(scope, "delays"), client.commit_ledger(scope)
    head = client.head(output)
    process(0)
    process(1)
    found = ledger.lookup(output, f"delays {DAYS[1]}")
    ledger.amend(found, found.record.model_copy(update={"start": head.to_text()}))
    with pytest.raises(MixedRangeError, match=f"'delays {DAYS[1]}' .*: others wrote to"):
        again(minutes)


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
def test_an_error_of_the_code_is_the_cause_of_the_one_that_is_raised(again):
    def broken(flights: pa.Table) -> float:
        return 1 / (flights.num_rows - 200)

    def lazily_broken(flights: pl.LazyFrame) -> pl.LazyFrame:
        return flights.select("no such column")

    for code, cause in ((broken, ZeroDivisionError), (lazily_broken, pl.exceptions.ColumnNotFoundError)):
        with pytest.raises(ReplayError, match=f"raised {cause.__name__} on interval '{DAYS[0]}'") as caught:
            again(code)
        assert isinstance(caught.value.__cause__, cause)


@pytest.mark.usefixtures("both_days")
def test_functions_that_cannot_be_replayed_are_refused(again):
    def without(flights): ...

    def other(flights: int) -> int: ...

    def two(flights: pa.Table, least: int) -> pa.Table:
        return flights.filter(pa.compute.field("delay") > least)

    def nothing(flights: pa.Table) -> None: ...

    for code, reason in (
        (without, "says what it gets by its annotation"),
        (other, "must have one of"),
        (two, "needs least beside 'flights': give them by functools.partial"),
        (nothing, "the rows are"),
        ("json", "write module:function"),
        ("json:no_such", "has no 'no_such'"),
        ("no_such_module:code", "No module named"),
        ("json:__name__", "is not a function"),
        (json, "is not a function"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            again(code)
    assert again(partial(two, least=3)).total("removed") > 0
    assert again(f"{__name__}:less").total("removed") == 2
