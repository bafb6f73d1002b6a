"""Errors of landings in errors tables of each kind: they count if their rows are landed, and only then."""

import pytest
from tests.integration.pravega_jobs.errors_job import KINDS, errors_that_count, land_with_errors
from tests.integration.pravega_jobs.landing_job import rows

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, Landed, list_errors, read_errors


def number_of_errors(landed: Landed) -> int:
    assert landed.holding.errors is not None
    return landed.holding.errors.rows


def test_rows_and_errors_land_once_and_are_replaced_together(lake):
    landed = land_with_errors(lake, "monday", 1, b"x", b"y\0\xff")
    assert (landed.action, landed.holding.rows, number_of_errors(landed)) == (Action.APPEND, 3, 2)
    assert number_of_errors(land_with_errors(lake, "sunday", 2)) == 0
    assert land_with_errors(lake, "monday", 9, b"other").action is Action.NOTHING
    assert errors_that_count(lake) == [("monday", 1, b"x"), ("monday", 1, b"y\0\xff")]
    [errors] = list_errors(lake.table(), lake.table("errors"))
    [batch] = read_errors(errors)
    assert sorted(batch["pointer"].to_pylist()) == ["shop/orders/0.#epoch.0:0-9", "shop/orders/0.#epoch.0:1-11"]
    assert sorted(batch["reason"].to_pylist()) == ["no 0\\", "no 1\\"]

    assert land_with_errors(lake, "monday", 3, b"z", generation=2).action is Action.REPLACE
    assert errors_that_count(lake) == [("monday", 2, b"z")]
    assert lake.contents(lake.table()) == rows("monday", 3) + rows("sunday", 2)
    assert sum(lake.table("errors").rows().values()) == 1
    land_with_errors(lake, "monday", 4, generation=3)
    assert (errors_that_count(lake), sum(lake.table("errors").rows().values())) == ([], 0)


def test_errors_whose_rows_the_table_lacks_do_not_count(lake):
    table, errors = lake.table(), lake.table("errors")
    land_with_errors(lake, "sunday", 1, b"s")
    lake.mark(table)
    land_with_errors(lake, "monday", 2, b"a")
    lake.take_back(table)
    assert "monday" not in {name for name, _, _ in errors_that_count(lake)}
    # The run that comes again finds other errors, as after a schema was registered.
    land_with_errors(lake, "monday", 3, b"c")
    assert [each for each in errors_that_count(lake) if each[0] == "monday"] == [("monday", 1, b"c")]
    assert {one.state for one in list_errors(table, errors) if one.interval == "monday"} == {"counted"}
    assert sum(errors.rows().values()) == 2


def test_a_table_taken_back_to_an_older_generation_misses_its_errors(lake):
    land_with_errors(lake, "monday", 1, b"a")
    lake.mark(lake.table())
    land_with_errors(lake, "monday", 2, b"b", generation=2)
    lake.take_back(lake.table())
    states = {(each.generation, each.state) for each in list_errors(lake.table(), lake.table("errors"))}
    assert states in ({(1, "missing"), (2, "not counted")}, {(2, "not counted")})
    assert land_with_errors(lake, "monday", 3, b"b", generation=2).action is Action.REPLACE
    assert errors_that_count(lake) == [("monday", 2, b"b")]


def test_errors_that_somebody_removed_are_missed(lake):
    land_with_errors(lake, "monday", 1, b"x", b"y")
    lake.empty(lake.table("errors"))
    [missing] = list_errors(lake.table(), lake.table("errors"))
    assert (missing.state, missing.landed, missing.found) == ("missing", 2, 0)
    with pytest.raises(LandingError, match="2 errors of it were landed"):
        list(read_errors(missing))
    with pytest.raises(LandingError, match=r"2 errors of it were put into .*, and 0 are in .*as generation 2"):
        land_with_errors(lake, "monday", 1, b"x", b"y")
    assert land_with_errors(lake, "monday", 2, b"x", b"y", generation=2).action is Action.REPLACE
    assert errors_that_count(lake) == [("monday", 2, b"x"), ("monday", 2, b"y")]


@pytest.mark.parametrize("kind", ["parquet"], indirect=True)
@pytest.mark.parametrize(("most", "allowed"), [(1, False), ("2", True), ("39.9%", False), ("40%", True), ("0%", False)])
def test_more_errors_than_allowed_change_nothing(lake, most, allowed):
    if allowed:
        assert number_of_errors(land_with_errors(lake, "monday", 1, b"x", b"y", most=most)) == 2
        return
    with pytest.raises(LandingError, match=r"2 of (the|5) rows.* are errors, and most_errors is .*epoch\.0:0-9: no 0"):
        land_with_errors(lake, "monday", 1, b"x", b"y", most=most)
    assert (lake.table().rows(), lake.table("errors").rows()) == ({}, {})


@pytest.mark.parametrize(
    ("kind", "each"),
    [("parquet", 5), *(pytest.param(kind, 1, marks=pytest.mark.slow) for kind in KINDS)],
    indirect=["kind"],
)
def test_a_run_killed_at_any_step_has_the_errors_of_its_rows(make_lake, killed_run, each):
    """The run that comes again finds fewer errors, as after a schema was registered."""
    older, newer = [("monday", 1, b"both"), ("monday", 1, b"old")], [("monday", 2, b"both"), ("monday", 2, b"new")]
    others = [("sunday", 1, b"s")]
    for step in range(0, 10_000, each):
        lake = make_lake()
        land_with_errors(lake, "sunday", 9, b"s")
        land_with_errors(lake, "monday", 1, b"old", b"both")
        is_killed = killed_run(lake, "land", step)
        contents = lake.contents(lake.table())
        states = {
            tuple(rows("monday", 1) + rows("sunday", 9)): older,
            tuple(rows("monday", 2) + rows("sunday", 9)): newer,
        } | ({} if lake.replaces_in_one_step else {tuple(rows("sunday", 9)): []})
        assert errors_that_count(lake) == states[tuple(contents)] + others
        has_committed = contents == rows("monday", 2) + rows("sunday", 9)
        land_with_errors(lake, "monday", 2, b"both", generation=2)
        last = newer if has_committed else [("monday", 2, b"both")]
        assert errors_that_count(lake) == last + others
        assert lake.contents(lake.table()) == rows("monday", 2) + rows("sunday", 9)
        assert sum(lake.table("errors").rows().values()) == len(last + others)
        if not is_killed:
            break
    assert step > 30
