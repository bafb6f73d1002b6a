"""Intervals that were landed in a table, through other code, compared with the rows that the table holds."""

from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.integration.pravega_jobs.replay_job import DAYS, READ, again, client, flights, process, scope

from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from pravega_jobs.frames import range_of, read_table
from pravega_jobs.landing import land
from pravega_jobs.merging import merge_into

__all__ = ["again", "client", "flights", "process", "scope"]
TIME = datetime(2026, 1, 5, 12, tzinfo=UTC)


def landed(flights: pa.Table) -> pl.DataFrame:
    """What the job lands: other types than those of JSON."""
    found = pl.DataFrame(flights).drop_nulls()
    late = pl.duration(minutes=pl.col("delay"))
    return found.select("id", "carrier", pl.col("delay").cast(pl.Decimal(9, 2)), at=pl.lit(TIME) + late)


@pytest.fixture
def ranges(client, scope, flights, process):
    """The cuts of both days."""
    process(0)
    process(1)
    return {day: client.cut_ledger(scope).find(Interval("delays", flights, day)).range for day in DAYS}


@pytest.fixture
def rows_of(client, flights, ranges):
    def rows_of(day: str) -> pa.Table:
        return read_table(range_of(client, flights, ranges[day].start, ranges[day].end), **READ)

    return rows_of


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_rows_of_a_table_are_compared_by_interval(again, ranges, rows_of, tmp_path, kind):
    table = f"{kind}:{tmp_path}/delays"
    for day in DAYS:
        land(landed(rows_of(day)), table, ranges[day], consumer="delays", interval=day)

    def other(flights: pa.Table) -> pl.DataFrame:
        return landed(flights).filter(pl.col("id") != 7).with_columns(pl.col("at").dt.offset_by("1s"))

    same = again(landed, compare_with=table)
    same.assert_same()
    assert (same.output, [each.before for each in same.intervals]) == (table, [180, 180])
    result = again(other, compare_with=table)
    assert (result.total("removed"), {each.column: each.changed for each in result.columns}) == (1, {"at": 359})
    assert (result.columns[0].samples[0]["before"], result.schema) == ("2026-01-05T12:50:30+00:00", [])
    with pytest.raises(ConfigurationError, match="write_id, into: for a stream, but"):
        again(landed, compare_with=table, write_id="{interval}", into="scratch")


def test_tables_that_cannot_be_compared_are_refused_by_name(again, ranges, rows_of, tmp_path):
    merged, table = f"delta:{tmp_path}/merged", f"delta:{tmp_path}/delays"
    [first, second] = DAYS
    with pytest.raises(LandingError, match=f"does not hold interval '{first}'"):
        again(landed, compare_with=table)
    land(landed(rows_of(first)), table, ranges[second], consumer="delays", interval=first)
    with pytest.raises(LandingError, match="with another range than the ledger has"):
        again(landed, compare_with=table, intervals=first)
    land(landed(rows_of(first)), table, ranges[first], consumer="delays", interval=first, generation=2)
    DeltaTable(tmp_path / "delays").delete("id = 7")
    with pytest.raises(LandingError, match="180 rows of it were landed, and 179 are in"):
        again(landed, compare_with=table, intervals=first)
    merge_into(
        landed(rows_of(first)), merged, ranges[first], consumer="delays", interval=first, key=["id"], order_by=()
    )
    with pytest.raises(LandingError, match="is merged into .*, whose rows belong to no interval"):
        again(landed, compare_with=merged, intervals=first)
