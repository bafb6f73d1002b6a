"""Replays of errors into tables of each kind: what can be decoded becomes rows, once, and the rest stays."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.integration.pravega_jobs.errors_job import (
    KINDS,
    errors_that_count,
    land_with_errors,
    replay,
    rows_with_errors,
)
from tests.integration.pravega_jobs.landing_job import CONSUMER, landing, rows

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import holdings, land, list_errors, read_errors
from pravega_jobs.replays import replay_errors

SEVEN, EIGHT, BAD = b'{"id": 7}', b'{"id": 8}', b"no json"


def mended(name: str, value: int, *more: int) -> list[tuple[str, int]]:
    """The contents of an interval with rows of mended errors."""
    return sorted(rows(name, value) + [(name, each) for each in more])


def test_mended_errors_are_rows_once_and_the_others_stay(lake):
    land_with_errors(lake, "monday", 1, BAD, SEVEN, EIGHT)
    land_with_errors(lake, "sunday", 2, b"bad too")
    monday, sunday = replay(lake)
    assert (monday.generation, monday.errors, monday.left, monday.rows) == (2, 3, 1, 5)
    assert (sunday.generation, sunday.errors, sunday.left, sunday.rows) == (1, 1, 1, 3)
    assert lake.contents(lake.table()) == mended("monday", 1, 7, 8) + rows("sunday", 2)
    assert errors_that_count(lake) == [("monday", 2, BAD), ("sunday", 1, b"bad too")]
    [batch] = read_errors(list_errors(lake.table(), lake.table("errors"))[-1])
    assert batch["pointer"].to_pylist() == ["shop/orders/0.#epoch.0:0-15"]
    assert "cannot be decoded as Json" in batch["reason"][0].as_py()
    assert [each.generation for each in replay(lake)] == [1, 2]
    assert lake.contents(lake.table()) == mended("monday", 1, 7, 8) + rows("sunday", 2)


@pytest.mark.parametrize(
    ("kind", "each"),
    [("parquet", 23), *(pytest.param(kind, 1, marks=pytest.mark.slow) for kind in KINDS)],
    indirect=["kind"],
)
def test_a_replay_killed_at_any_step_adds_nothing_twice(make_lake, killed_run, each):
    for step in range(0, 10_000, each):
        lake = make_lake()
        land_with_errors(lake, "sunday", 9, SEVEN)
        land_with_errors(lake, "monday", 1, BAD, SEVEN)
        is_killed = killed_run(lake, "replay", step)
        states = {
            tuple(rows("monday", 1) + rows("sunday", 9)): [("monday", 1, BAD), ("monday", 1, SEVEN)],
            tuple(mended("monday", 1, 7) + rows("sunday", 9)): [("monday", 2, BAD)],
        } | ({} if lake.replaces_in_one_step else {tuple(rows("sunday", 9)): []})
        assert errors_that_count(lake) == [*states[tuple(lake.contents(lake.table()))], ("sunday", 1, SEVEN)]
        [again] = replay(lake, interval="monday")
        assert (again.generation, again.left, again.rows) == (2, 1, 4)
        assert errors_that_count(lake) == [("monday", 2, BAD), ("sunday", 1, SEVEN)]
        assert lake.contents(lake.table()) == mended("monday", 1, 7) + rows("sunday", 9)
        assert sum(lake.table("errors").rows().values()) == 2
        if not is_killed:
            break
    assert step > 30


@pytest.mark.parametrize("kind", ["parquet"], indirect=True)
def test_a_replay_after_a_kill_between_both_renames_mends_the_rows(lake):
    land_with_errors(lake, "monday", 1, SEVEN)
    [folder] = Path(lake.table().path).glob("landing=*")
    folder.rename(folder.parent / ".landing" / f"old-{folder.name}")
    [done] = replay(lake, interval="monday")
    assert (done.generation, done.left, done.rows) == (2, 0, 4)
    assert lake.contents(lake.table()) == mended("monday", 1, 7)


@pytest.mark.parametrize("kind", ["delta"], indirect=True)
def test_rows_that_somebody_removed_stop_a_replay(lake):
    land_with_errors(lake, "monday", 1, SEVEN)
    lake.remove_a_row(lake.table())
    with pytest.raises(LandingError, match=r"3 rows of it were landed, and 2 are in .*Nothing was changed"):
        replay(lake)
    assert errors_that_count(lake) == [("monday", 1, SEVEN)]


@pytest.mark.parametrize("kind", ["delta"], indirect=True)
def test_errors_that_somebody_removed_stop_a_replay(lake):
    land_with_errors(lake, "monday", 1, SEVEN)
    lake.empty(lake.table("errors"))
    with pytest.raises(LandingError, match="1 errors of it were landed"):
        replay(lake)


@pytest.mark.parametrize("kind", ["delta", "parquet", "postgres"], indirect=True)
def test_a_table_gets_new_columns_of_mended_errors_if_told_so(lake):
    land_with_errors(lake, "monday", 1, b'{"id": 7, "why": "late"}')
    land_with_errors(lake, "sunday", 1, b'{"id": 8, "why": "early"}')
    options = {"decode": "json", "columns": "id int, why string", "metadata_columns": "offset"}
    where = {"errors": lake.table("errors"), "interval": "monday"}
    with pytest.raises(LandingError, match="The table lacks why string, offset bigint"):
        replay_errors(lake.table(), options, **where)
    replay_errors(lake.table(), options, new_columns="add", **where)
    # Rows of sunday are read without the columns that monday has added.
    replay_errors(lake.table(), options, new_columns="add", errors=lake.table("errors"))
    assert lake.contents(lake.table()) == mended("monday", 1, 7) + mended("sunday", 1, 8)
    held = {each.interval: each for each in holdings(lake.table())}
    found = pa.Table.from_batches(
        lake.table().read(held["sunday"], pa.schema({"id": "int32", "why": "string", "offset": "int64"}))
    )
    assert found.filter(pc.field("why").is_valid()).to_pylist() == [{"id": 8, "why": "early", "offset": 0}]


@pytest.mark.parametrize("kind", ["delta", "parquet", "iceberg", "postgres"], indirect=True)
def test_mended_errors_whose_rows_do_not_fit_stay_errors(lake):
    large = b'{"id": 3000000000}'  # more than an int
    land_with_errors(lake, "monday", 1, BAD, large, SEVEN)
    options = {"decode": "json", "columns": "id long"}
    where = {"errors": lake.table("errors")}
    [done] = replay_errors(lake.table(), options, **where)
    assert (done.generation, done.errors, done.left, done.rows) == (2, 3, 2, 4)
    assert lake.contents(lake.table()) == mended("monday", 1, 7)
    assert errors_that_count(lake) == [("monday", 2, BAD), ("monday", 2, large)]
    [batch] = read_errors(list_errors(lake.table(), lake.table("errors"))[-1])
    [why] = [why for why in batch["reason"].to_pylist() if "fit" in why]
    assert why.startswith("does not fit the table: column 'id' is int32, which does not hold the value")
    [same] = replay_errors(lake.table(), options, **where)
    assert (same.generation, same.errors, same.left, same.rows) == (2, 2, 2, 4)

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(0, "id", pc.if_else(pc.greater(rows["id"], 2**31), 8, rows["id"]))

    kept = options | {"metadata_columns": "event_pointer"}
    [done] = replay_errors(lake.table(), kept, change=change, event_pointer="event_pointer", **where)
    assert (done.generation, done.left, done.rows) == (3, 1, 5)
    assert lake.contents(lake.table()) == mended("monday", 1, 7, 8)


@pytest.mark.parametrize("kind", ["parquet"], indirect=True)
def test_mended_errors_become_rows_as_the_job_makes_them(lake):
    land_with_errors(lake, "monday", 1, SEVEN, EIGHT, BAD)

    def change(table: pa.Table) -> pa.Table:
        return table.filter(pc.field("id") > 7).select(["id"])

    [done] = replay_errors(lake.table(), {"decode": "json", "columns": "id int, more string"}, change=change)
    assert (done.left, done.rows) == (1, 4)
    assert lake.contents(lake.table()) == mended("monday", 1, 8)


@pytest.mark.parametrize("kind", ["parquet"], indirect=True)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give option 'decode'"),
        ({"decode": "json", "columns": "id int", "on_error": "drop"}, "a replay keeps the events"),
        ({"decode": "debezium-json", "key": "id"}, "replay decodes each error alone"),
    ],
)
def test_options_that_a_replay_cannot_follow_are_refused(lake, options, message):
    land_with_errors(lake, "monday", 1, SEVEN)
    with pytest.raises(ConfigurationError, match=message):
        replay_errors(lake.table(), options)


@pytest.mark.parametrize("kind", ["parquet"], indirect=True)
def test_an_error_whose_pointer_does_not_fit_is_refused(lake):
    found = rows_with_errors(1, SEVEN).to_pylist()
    found[0]["_error"]["pointer"] = "shop/orders/0.#epoch.0:0-9"
    table = pa.Table.from_pylist(found, rows_with_errors(1).schema)
    land(table, lake.table(), landing("monday").cuts, consumer=CONSUMER, interval="monday", errors=lake.table("errors"))
    with pytest.raises(LandingError, match="an event of 9 bytes with the pointer"):
        replay(lake)
