"""Plain rows merged by key into tables of Delta and Iceberg, on disk and in S3, as Polars finds them there."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from tests.integration.pravega_jobs.landing_job import new_lake, new_table
from tests.integration.pravega_jobs.merging_job import columns_of, merge, merge_of

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, DeltaFolder
from pravega_jobs.merging import Evolution, Merged, merge_into

NAMES = ("id", "at", "n", "gone")
AT = datetime(2026, 1, 5, tzinfo=UTC)
POSITION = ("segment_id", "offset")


@pytest.fixture(params=["delta", "iceberg"])
def table(request, tmp_path) -> Any:
    return new_table(request.param, tmp_path / "0")


def take(table: Any, number: int, rows: Any, key: Any = "id", **rules: Any) -> Merged:
    """Merge rows as those of a range."""
    landing = merge_of(number).landing
    owner, name = landing.interval.consumer, landing.interval.name
    return merge_into(rows, table, landing.cuts, key=key, consumer=owner, interval=name, **rules)


def frame(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, NAMES, orient="row")


def judged(table: Any, *names: str) -> list[tuple[Any, ...]]:
    """The rows as Polars finds them."""
    found = pl.scan_delta(table.path) if isinstance(table, DeltaFolder) else pl.scan_iceberg(table.load())
    return sorted(found.select(names or ("id", "n")).collect().rows(), key=str)


def follow(table: Any) -> None:
    """Merge ranges of rows with an order and deletes, each twice, of libraries that take turns."""
    rules = {"order_by": "at", "delete_column": "gone"}
    first = frame((1, 5, "a", False), (1, 7, "b", False), (2, 6, "c", False), (3, 1, "d", True))
    done = take(table, 0, first, **rules)
    assert (done.counts.inserted, done.counts.absent, judged(table)) == (2, 1, [(1, "b"), (2, "c")])
    # 1 is older than the row of the table, 2 is deleted at last, and came back before.
    second = frame((2, 9, "never", True), (1, 6, "older", False), (2, 8, "back", False), (4, -3, "e", False))
    done = take(table, 1, second.lazy(), **rules)
    counts = done.counts
    assert (counts.inserted, counts.updated, counts.deleted, counts.older) == (1, 0, 1, 1)
    again = take(table, 1, frame((9, 9, "never", False)).to_arrow(), **rules)
    assert (again.action, again.holding) == (Action.NOTHING, done.holding)
    # Of two rows at one position, the one of the later range wins.
    take(table, 2, frame((4, -3, "f", False)).to_pandas(), **rules)
    assert judged(table, "id", "at", "n") == [(1, 7, "b"), (4, -3, "f")]
    with pytest.raises(LandingError, match="holds this interval with another range"):
        merge_into(
            first, table, merge_of(2, end=29).landing.cuts, key="id", consumer="merger", interval="range 2", **rules
        )


def test_rows_of_any_library_are_merged_by_key_and_their_order(table):
    follow(table)
    names = pl.scan_delta(table.path).collect_schema().names() if isinstance(table, DeltaFolder) else None
    assert names in (None, ["id", "at", "n", "_sequence"])


@pytest.mark.parametrize("kind", ["delta-s3", "iceberg-s3"])
def test_rows_are_merged_into_tables_of_a_store_too(kind, s3, tmp_path):
    follow(new_lake(kind, f"{s3}/rows" if kind == "delta-s3" else f"{tmp_path}#{s3}/rows").table())


def test_with_soft_deletes_ordered_rows_come_in_any_order(table):
    rules = {"order_by": POSITION, "delete_column": "gone", "deletes": "soft"}
    # Segments of later epochs have greater numbers, and begin at 0.
    later = {"id": [1, 2], "segment_id": [2**32, 1], "offset": [3, 900], "gone": [False, True]}
    earlier = {"id": [1, 2], "segment_id": [1, 1], "offset": [800, 808], "gone": [False, False]}
    take(table, 3, pl.DataFrame(later), **rules)
    take(table, 1, pl.DataFrame(earlier), **rules)
    assert judged(table, "id", "offset", "_deleted") == [(1, 3, False), (2, 900, True)]


def test_rows_without_an_order_have_each_key_once_and_come_in_order(table):
    by_day = pl.DataFrame({"day": [date(2026, 1, 5), date(2026, 1, 6)], "late": [1, 2]})
    take(table, 0, by_day, "day", order_by=())
    done = take(table, 2, by_day.with_columns(late=pl.Series([1, 7])), "day", order_by=())
    assert (done.counts.older, done.counts.updated) == (1, 1)
    assert [row[1] for row in judged(table, "day", "late")] == [1, 7]
    with pytest.raises(LandingError, match="does not lie after 'range 2'.*plain rows that order_by orders"):
        take(table, 1, by_day, "day", order_by=())
    wider = by_day.with_columns(more=pl.lit("x"))
    with pytest.raises(LandingError, match="the table lacks more string"):
        take(table, 3, wider, "day", order_by=())
    assert take(table, 3, wider, "day", order_by=(), new_columns=Evolution.ADD).counts.new_columns == ["more"]
    with pytest.raises(LandingError, match="late .int64 in the table, string in the changes"):
        take(table, 4, by_day.cast({"late": pl.String}), "day", order_by=())
    with pytest.raises(LandingError, match="two rows of one key"):
        take(table, 4, pl.concat([by_day, by_day]), "day", order_by=())
    assert judged(table, "late", "more") == [(1, "x"), (2, "x")]


def test_a_table_takes_changes_or_rows_in_one_order_and_nothing_else(table, tmp_path):
    take(table, 0, frame((1, 5, "a", False)).drop("gone"), order_by="at")
    for rules in ({"order_by": ("at", "id")}, {"order_by": ()}):
        with pytest.raises(LandingError, match="is merged with key id, .*, rows ordered by at, and this merge has"):
            take(table, 1, frame((1, 6, "b", False)).drop("gone"), **rules)
    with pytest.raises(LandingError, match="rows ordered by at, and this merge has key id, hard deletes, history none"):
        merge(table, merge_of(1), columns_of([(1, 11, "b", 11)]))
    other = new_table("delta" if isinstance(table, DeltaFolder) else "iceberg", tmp_path / "other")
    merge(other, merge_of(0), columns_of([(1, 11, "b", 11)]))
    with pytest.raises(LandingError, match="and this merge has key id, .*, rows ordered by at"):
        take(other, 1, frame((1, 6, "b", False)).drop("gone"), order_by="at")


@pytest.mark.parametrize(
    "keys",
    [
        [Decimal("1.50"), Decimal("2.50")],
        [b"a", b"b"],
        [True, False],
        ["a", "b"],
        [AT, AT + timedelta(1)],
        [AT.replace(tzinfo=None), (AT + timedelta(1)).replace(tzinfo=None)],
    ],
    ids=lambda keys: type(keys[0]).__name__,
)
def test_rows_are_found_by_keys_of_each_type(tmp_path, keys):
    table, rows = new_table("delta", tmp_path / "0"), pl.DataFrame({"id": keys, "n": [1, 2]})
    take(table, 0, rows, order_by=())
    done = take(table, 1, rows.with_columns(n=pl.Series([1, 3])), order_by=())
    assert (done.counts.inserted, done.counts.updated, done.counts.older) == (0, 1, 1)
    assert sorted(row[1] for row in judged(table)) == [1, 3]
