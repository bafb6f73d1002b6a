"""The contract of tables of each kind: whatever is killed, repeated, or run at once, an interval is there once."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from tests.integration.pravega_jobs.landing_job import CONSUMER, OTHER_STORES, STREAM, Lake, landing, rows

from aiopravega import StreamCut, StreamCutRange
from aiopravega.errors import LandingError
from aiopravega.ledger import Interval
from pravega_jobs.landing import Action, Landing

KINDS = ["parquet", "delta", "delta-parts", "delta-s3", "iceberg", "iceberg-parts", "iceberg-s3", "postgres"]
NewLake = Callable[[], Lake]


@pytest.fixture(params=[*KINDS, *OTHER_STORES])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def at_once(work, arguments) -> None:
    threads = [threading.Thread(target=work, args=(each,)) for each in arguments]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_an_interval_lands_once_and_only_a_newer_generation_replaces_it(lake):
    table = lake.table()
    assert (table.holdings(), table.rows()) == ([], {})
    assert [lake.land(table, landing("monday"), 1), lake.land(table, landing("sunday"), 2)] == [Action.APPEND] * 2
    assert lake.land(table, landing("monday"), 3) is Action.NOTHING
    assert lake.contents(table) == rows("monday", 1) + rows("sunday", 2)
    assert lake.land(table, landing("monday", generation=2), 4) is Action.REPLACE
    for refused in (landing("monday"), landing("monday", end=11, generation=2)):
        with pytest.raises(LandingError):
            lake.land(table, refused, 5)
    assert lake.contents(table) == rows("monday", 4) + rows("sunday", 2)
    assert {(each.interval, each.generation, each.rows, each.range) for each in table.holdings()} == {
        ("monday", 2, 3, landing().cuts),
        ("sunday", 1, 3, landing("sunday").cuts),
    }
    assert table.rows() == {(CONSUMER, "monday"): 3, (CONSUMER, "sunday"): 3}
    assert lake.leftovers(table) == []


def test_of_runs_of_one_interval_at_once_one_lands(lake):
    table, actions, start = lake.table(), list[Action](), threading.Barrier(4)
    lake.land(table, landing("sunday"), 9)

    def run(value: int) -> None:
        with lake.staged(table, landing(), value) as staged:
            start.wait()
            actions.append(table.commit(staged, landing()).action)

    at_once(run, range(1, 5))
    assert sorted(actions) == [Action.APPEND, *[Action.NOTHING] * 3]
    assert lake.contents(table) in [rows("monday", value) + rows("sunday", 9) for value in range(1, 5)]


def test_runs_of_several_intervals_at_once_all_land(lake):
    table, actions, start = lake.table(), list[Action](), threading.Barrier(4)
    lake.land(table, landing("sunday"), 9)

    def run(name: str) -> None:
        with lake.staged(table, landing(name), 1) as staged:
            start.wait()
            actions.append(table.commit(staged, landing(name)).action)

    at_once(run, [f"day {number}" for number in range(4)])
    assert actions == [Action.APPEND] * 4
    assert table.rows() == {(CONSUMER, name): 3 for name in ("sunday", "day 0", "day 1", "day 2", "day 3")}


def test_a_run_of_an_older_generation_does_not_replace_a_newer_one(lake):
    table = lake.table()
    with lake.staged(table, landing(), 1) as staged:
        lake.land(table, landing(generation=2), 2)
        with pytest.raises(LandingError, match="generation 2"):
            table.commit(staged, landing())
    assert lake.contents(table) == rows("monday", 2)


@pytest.mark.parametrize("kind", [*(each for each in KINDS if each != "postgres"), *OTHER_STORES], indirect=True)
def test_other_columns_are_refused(lake):
    table = lake.table()
    lake.land(table, landing("sunday"), 1)
    with pytest.raises(LandingError, match="has the columns"), lake.staged(table, landing(), 1, "int64") as staged:
        table.commit(staged, landing())
    assert lake.contents(table) == rows("sunday", 1)
    assert len(table.holdings()) == 1


@pytest.mark.parametrize("change", ["remove_a_row", "empty"])
def test_rows_that_somebody_removed_are_missed_until_a_new_generation(lake, change):
    table = lake.table()
    lake.land(table, landing(), 1)
    getattr(lake, change)(table)
    left = 2 if change == "remove_a_row" else 0
    assert (sum(table.rows().values()), [each.rows for each in table.holdings()]) == (left, [3])
    with pytest.raises(LandingError, match=rf"3 rows of it were landed.*and {left} are in the table.*as generation 2"):
        lake.land(table, landing(), 2)
    assert len(lake.contents(table)) == left
    assert lake.land(table, landing("sunday"), 9) is Action.APPEND
    assert lake.land(table, landing(generation=2), 2) is Action.REPLACE
    assert lake.land(table, landing(generation=2), 3) is Action.NOTHING
    assert lake.contents(table) == rows("monday", 2) + rows("sunday", 9)


def test_a_table_that_was_taken_back_relands_what_it_lacks_once(lake):
    table = lake.table()
    lake.land(table, landing("sunday"), 1)
    lake.land(table, landing(), 2)
    lake.mark(table)
    lake.land(table, landing(generation=2), 3)
    lake.land(table, landing("tuesday"), 4)
    lake.take_back(table)
    assert not {(each.interval, each.generation) for each in table.holdings()} & {("monday", 2), ("tuesday", 1)}
    assert table.rows() == {(CONSUMER, "sunday"): 3, (CONSUMER, "monday"): 3}
    # A table cannot know which generation it has any more: it takes whichever comes, and only once.
    assert lake.land(table, landing(generation=2), 5) is Action.REPLACE
    assert lake.land(table, landing("tuesday"), 6) is not Action.NOTHING
    lake.land(table, landing("sunday"), 1)
    expected = rows("monday", 5) + rows("sunday", 1) + rows("tuesday", 6)
    assert lake.contents(table) == expected
    for name, generation in (("sunday", 1), ("monday", 2), ("tuesday", 1)):
        assert lake.land(table, landing(name, generation=generation), 9) is Action.NOTHING
    assert lake.contents(table) == expected


def test_of_two_names_for_one_range_at_once_one_lands(lake):
    table, results, start = lake.table(), list[str](), threading.Barrier(2)
    lake.land(table, landing("sunday"), 9)
    cuts = landing().cuts
    shorter = StreamCutRange(cuts.start, StreamCut(STREAM, {each: at - 5 for each, at in cuts.end.positions.items()}))
    ranges = {"monday": cuts, "zombie": shorter}

    def run(name: str) -> None:
        one = Landing(Interval(CONSUMER, STREAM, name), ranges[name])
        with lake.staged(table, one, 1) as staged:
            start.wait()
            try:
                results.append(table.commit(staged, one).action)
            except LandingError as error:
                assert "under another name" in str(error)
                results.append("refused")

    at_once(run, ranges)
    assert sorted(results) == [Action.APPEND, "refused"]
    assert len(lake.contents(table)) == 6
    lake.land(table, Landing(Interval(CONSUMER, STREAM, "09:00/10:00"), shorter, of_times=True), 2)
    assert len(lake.contents(table)) == 9


def test_a_table_restored_with_its_holdings_relands_later_intervals(lake):
    table = lake.table()
    lake.land(table, landing("sunday"), 1)
    lake.back_up(table)
    lake.land(table, landing("monday"), 2)
    lake.land(table, landing("sunday", generation=2), 3)
    lake.restore(table)
    assert {(each.interval, each.generation) for each in table.holdings()} == {("sunday", 1)}
    assert lake.land(table, landing("sunday"), 4) is Action.NOTHING
    assert lake.land(table, landing("monday"), 5) is Action.APPEND
    assert lake.contents(table) == rows("monday", 5) + rows("sunday", 1)


def test_a_dropped_table_that_is_made_again_is_another_and_holds_nothing(lake):
    table = lake.table()
    declared = table.identity()
    lake.land(table, landing(), 1)
    lake.land(table, landing("sunday"), 1)
    first = table.identity()
    assert first != declared
    assert table.is_target(declared)
    lake.drop(table)
    assert (table.holdings(), table.rows()) == ([], {})
    assert lake.land(table, landing(), 2) is not Action.NOTHING
    assert lake.contents(table) == rows("monday", 2)
    assert [each.interval for each in table.holdings()] == ["monday"]
    assert (table.is_target(first), table.is_target(table.identity()), table.is_target(declared)) == (False, True, True)
    assert "secret" not in table.identity()


def test_a_table_that_is_renamed_takes_along_its_holdings(lake):
    table = lake.table()
    lake.land(table, landing(), 1)
    identity = table.identity()
    renamed = lake.rename(table)
    assert [each.interval for each in renamed.holdings()] == ["monday"]
    assert lake.land(renamed, landing(), 2) is Action.NOTHING
    assert renamed.identity() == identity
    assert table.holdings() == []
    assert lake.land(table, landing(), 3) is not Action.NOTHING
    assert lake.land(renamed, landing(), 4) is Action.NOTHING
    assert lake.contents(table) == rows("monday", 3)
    assert lake.contents(renamed) == rows("monday", 1)


@pytest.fixture
def killed(kind, make_lake) -> Iterator[Callable[[Lake, int, int], bool]]:
    """Lands in a process that is killed at a step; False if it came to its end.

    It is forked from a process that has landed nothing: libraries of tables have threads, which a fork would lack.
    """
    del make_lake  # it comes first: the environment then has the store
    command = [sys.executable, "-m", "tests.integration.pravega_jobs.landing_job", kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def killed(lake: Lake, generation: int, step: int) -> bool:
            assert program.stdin is not None
            assert program.stdout is not None
            print(json.dumps([lake.where, generation, step]), file=program.stdin, flush=True)
            answer = program.stdout.readline().strip()
            assert answer in {"True", "False"}
            lake.settle()
            return answer == "True"

        yield killed
        program.terminate()


@pytest.mark.parametrize(
    "kind",
    ["parquet", *(pytest.param(each, marks=pytest.mark.slow) for each in KINDS[1:]), *OTHER_STORES],
    indirect=True,
)
@pytest.mark.parametrize("generation", [1, 2])
def test_a_run_killed_at_any_step_lands_all_or_nothing_and_is_completed(make_lake, killed, generation):
    before = rows("monday", 1) if generation > 1 else []
    others, one = rows("sunday", 9), landing("monday", generation=generation)
    for step in range(1000):
        lake = make_lake()
        table = lake.table()
        lake.land(table, landing("sunday"), 9)
        if before:
            lake.land(table, landing("monday"), 1)
        is_killed = killed(lake, generation, step)
        allowed = [before + others, rows("monday", 2) + others, *([] if lake.replaces_in_one_step else [others])]
        assert lake.contents(table) in allowed
        lake.land(table, one, 2)
        assert lake.contents(table) == rows("monday", 2) + others
        if not is_killed:
            break
    assert step > 15
    lake.land(table, landing("tuesday"), 3)
    assert lake.keeps_files_of_killed_runs or lake.leftovers(table) == []
