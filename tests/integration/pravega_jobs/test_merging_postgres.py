"""Tables of a real PostgreSQL that changes are merged into: the contract of merged tables, and what only they have."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import psycopg2
import pyarrow as pa
import pytest
from tests.integration.pravega_jobs.killed_merge_job import BEFORE, CHANGES
from tests.integration.pravega_jobs.killed_runs import killed_runs
from tests.integration.pravega_jobs.landing_job import PostgresLake, landing, new_lake
from tests.integration.pravega_jobs.merging_job import SCHEMA, columns_of, merge, merge_of, rows_of
from tests.integration.pravega_jobs.test_merging_lakehouse import (
    test_a_later_range_wins_at_one_place_of_the_log_and_repeats_do_not,
    test_a_merge_applies_all_changes_and_a_repeated_range_does_nothing,
    test_an_unsent_value_stays_and_one_that_is_not_stored_is_refused,
    test_columns_are_added_ignored_or_refused,
    test_events_that_debezium_doubles_do_not_take_a_row_back,
    test_of_two_runs_of_one_range_at_once_one_merges,
    test_random_ranges_give_the_table_of_a_model,
    test_tables_of_this_process_are_merged_without_spark,
    test_with_hard_deletes_a_late_range_is_refused_and_a_gap_is_not,
    test_with_soft_deletes_ranges_come_in_any_order_and_values_are_kept,
)
from tests.system.airflow.postgres import find_programs

from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.schema.arrow.sql_columns import sql_type
from pravega_jobs.landing import Action, Postgres
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.merging import MergeRules, merge_changes
from pravega_jobs.merging.engine.postgres import PostgresMerges
from pravega_jobs.merging.state import state_of

# Their own files run them over tables of files; here they run in a database.
__all__ = [
    "test_a_later_range_wins_at_one_place_of_the_log_and_repeats_do_not",
    "test_a_merge_applies_all_changes_and_a_repeated_range_does_nothing",
    "test_an_unsent_value_stays_and_one_that_is_not_stored_is_refused",
    "test_columns_are_added_ignored_or_refused",
    "test_events_that_debezium_doubles_do_not_take_a_row_back",
    "test_of_two_runs_of_one_range_at_once_one_merges",
    "test_random_ranges_give_the_table_of_a_model",
    "test_tables_of_this_process_are_merged_without_spark",
    "test_with_hard_deletes_a_late_range_is_refused_and_a_gap_is_not",
    "test_with_soft_deletes_ranges_come_in_any_order_and_values_are_kept",
]


@pytest.fixture
def lake(postgres_dsn) -> PostgresLake:
    made: PostgresLake = new_lake("postgres", postgres_dsn)
    return made


@pytest.fixture
def table(lake) -> Any:
    return lake.table()


@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_a_merge_killed_at_any_step_is_there_whole_or_not_at_all(postgres_dsn, deletes):
    before = {1: (10, "a"), 2: (20, "b"), 3: (30, "c")}
    after = {1: (11, "x"), 3: (30, "c"), 4: (40, "d"), **({2: (20, "b")} if deletes == "soft" else {})}
    with killed_runs("tests.integration.pravega_jobs.killed_merge_job", "postgres") as killed:
        for step in range(1000):
            lake = new_lake("postgres", postgres_dsn)
            table = lake.table()
            merge(table, merge_of(0, deletes), BEFORE)
            is_killed = killed(lake, deletes, step)
            lake.settle()
            notes = {each.interval for each in table.holdings()}
            assert rows_of(table) == (after if "range 1" in notes else before)
            merge(table, merge_of(1, deletes), CHANGES)
            assert rows_of(table) == after
            assert {each.interval for each in table.holdings()} == {"range 0", "range 1"}
            assert lake.leftovers(table) == []
            if not is_killed:
                break
    assert step > 15


def test_a_table_of_ones_own_without_a_primary_key_keeps_its_types(lake, table):
    lake.ask(f"create table {table.table} (id uuid, body jsonb, number numeric, note text default 'own'); select 1")
    one, other = "5f0c3b1e-0000-4000-8000-000000000001", "5f0c3b1e-0000-4000-8000-000000000002"
    types = [("id", pa.string()), ("body", pa.string()), ("number", pa.int64())]
    schema = pa.schema([*types, ("at", pa.int64()), ("gone", pa.bool_())])

    def run(number, rows):
        landing_of_range = merge_of(number).landing
        names = ("id", "body", "number", "at", "gone")
        changes = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)
        rules = MergeRules.of("id", order_by="at", delete_column="gone")
        return merge_changes(changes, table, landing_of_range, rules)

    with pytest.raises(LandingError, match="lacks _sequence binary: add it"):
        run(0, [])
    lake.ask(f"alter table {table.table} add column _sequence bytea, add column at bigint; select 1")
    first = run(0, [(one, '{"a": 1}', 1, 1, False), (other, '{"b": 2}', 2, 1, False)])
    assert first.counts.inserted == 2
    again = run(1, [(one, '{"a":1}', 1, 1, False), (other, None, None, 2, True)])
    assert (again.counts.older, again.counts.deleted) == (1, 1)
    assert lake.ask(f"select id::text, body, number, note from {table.table}") == [(one, {"a": 1}, 1, "own")]
    with pytest.raises(LandingError, match="PostgreSQL refused, and nothing was changed"):
        run(2, [("no uuid", "{}", 3, 3, False)])
    with pytest.raises(LandingError, match=r"types differ: id .uuid in the table, int in the changes"):
        merge(table, merge_of(3), columns_of([]))
    lake.ask(f"insert into {table.table} (id) values ('{one}'); select 1")
    with pytest.raises(LandingError, match=f"two rows of the key .*{one}"):
        run(4, [(one, "{}", 4, 4, False)])


def test_landings_and_merges_of_one_table_refuse_each_other(lake, table):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    assert (table.rows(), rows_of(table)) == (None, {1: (10, "a")})
    with pytest.raises(LandingError, match="merged into the table, whose rows belong to no interval"):
        lake.land(table, landing(), 1)
    landed = lake.table("landed")
    lake.land(landed, landing(), 1)
    with pytest.raises(LandingError, match="rows are landed in it"):
        merge(landed, merge_of(10**13), columns_of([]))


def test_what_does_not_fit_is_refused_and_changes_nothing(table):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    nameless = columns_of([(1, 11, "b", 11)]).set_column(0, "id", pa.array([None], pa.int32()))
    with pytest.raises(LandingError, match="1 changes have no id"):
        merge(table, merge_of(1), nameless)
    mariadb = columns_of([(1, 11, "b", 11)]).set_column(4, "_sequence", pa.array([b"x" * 24]))
    with pytest.raises(LandingError, match="of two kinds"):
        merge(table, merge_of(1), mariadb)
    assert rows_of(table) == {1: (10, "a")}
    assert [each.interval for each in table.holdings()] == ["range 0"]


def test_a_history_is_refused_before_a_change_is_read(table):
    changes = pa.RecordBatchReader.from_batches(SCHEMA, (pytest.fail("a change was read") for _ in range(1)))
    merge = merge_of(0, history="scd2")
    with pytest.raises(ConfigurationError, match=r"keep no history.*table of Delta or Iceberg"):
        merge_changes(changes, table, merge.landing, merge.rules)


def test_rows_of_a_try_that_was_given_up_are_not_merged(lake, table):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    target, one = PostgresMerges(table), merge_of(1)
    with target.staged(LocalRows(columns_of([(1, 11, "x", 11)])), one, shared=True) as staged:
        late = columns_of([(1, 12, "late", 12), (2, 20, "late", 12)])
        LocalRows(late).select({name: sql_type(late.schema.field(name).type) for name in staged.columns}).copy(
            lake.dsn, staged.staging
        )
        done = target.commit(staged, one, in_order=True)
    assert (done.counts.updated, done.counts.inserted, done.holding.rows) == (1, 0, 1)
    assert rows_of(table) == {1: (11, "x")}


def test_names_with_backslashes_and_quotes_are_names_at_any_setting(lake):
    name = "o'ne\\"
    dsn = lake.dsn + ("&" if "?" in lake.dsn else "?") + "options=-c%20standard_conforming_strings%3Doff"
    table = Postgres(dsn, lake.table().table)
    rows: list[dict[str, Any]] = [{"id": 1, name: "sent", "other": 1}, {"id": 1, name: None, "other": 2}]
    about = [SCHEMA.field(each) for each in ("_change_type", "_sequence", "_unchanged")]
    schema = pa.schema([("id", pa.int32()), (name, pa.string()), ("other", pa.int64()), *about])
    for number, (row, unsent) in enumerate(zip(rows, ([], [name]), strict=True)):
        change = row | {"_change_type": "update_postimage", "_sequence": bytes([number]), "_unchanged": unsent}
        merge(table, merge_of(number), pa.Table.from_pylist([change], schema))
    quoted = name.replace('"', '""')
    assert lake.ask(f'select "{quoted}", other from {table.table}') == [("sent", 2)]


@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_rows_that_a_snapshot_lacks_are_removed_or_marked(table, deletes):
    rules: dict[str, Any] = {"ghosts": "remove"}
    merge(table, merge_of(0, deletes, **rules), [(1, 10, "a", 1), (2, 20, "b", 2), (3, None, None, 3)])
    snapshot = (20).to_bytes(8, "big")
    removed = merge(table, merge_of(2, deletes, snapshot=snapshot, **rules), [(1, 11, "x", 20), (4, 40, "d", 20)])
    assert removed.counts.ghosts == 1
    expected = {1: (11, "x"), 4: (40, "d")}
    assert rows_of(table) == (expected if deletes == "hard" else {**expected, 2: (20, "b"), 3: (None, None)})
    if deletes == "soft":
        assert {id_ for id_, (gone,) in rows_of(table, "_deleted").items() if gone} == {2, 3}


def test_a_merged_table_restored_from_a_dump_keeps_its_rules_and_notes(lake, table, tmp_path):
    merge(table, merge_of(0, "soft"), [(1, 10, "a", 1)])
    dump, programs = tmp_path / "dump.sql", find_programs()
    subprocess.run([f"{programs}/pg_dump", "-n", lake.schema, "-f", dump, lake.dsn], check=True)
    merge(table, merge_of(1, "soft"), [(1, 11, "x", 11)])
    lake.ask(f"drop schema {lake.schema} cascade; select 1")
    subprocess.run([f"{programs}/psql", "-q", "-f", dump, lake.dsn], check=True, stdout=subprocess.DEVNULL)
    with pytest.raises(LandingError, match="is merged with key id, soft deletes"):
        merge(table, merge_of(1), [])
    assert [merge(table, merge_of(number, "soft"), [(1, 11, "x", 11)]).action for number in (0, 1)] == [
        Action.NOTHING,
        Action.MERGE,
    ]
    renamed = lake.rename(table)
    assert merge(renamed, merge_of(1, "soft"), []).action is Action.NOTHING
    assert rows_of(renamed, "n", "big", "_deleted") == {1: (11, "x", False)}


def test_a_merged_table_has_known_columns_and_rows_that_nobody_counts(table):
    assert state_of(table) is None
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    state = state_of(table)
    assert state is not None
    assert (state.rows, state.columns) == (
        None,
        pa.schema([("id", pa.int32()), ("n", pa.int64()), ("big", pa.string()), ("_sequence", pa.binary())]),
    )


def test_a_table_restored_alone_merges_its_ranges_again_in_their_order(lake, table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    lake.mark(table)
    merge(table, merge_of(1), [(1, 11, "x", 11), (2, None, None, 12)])
    lake.take_back(table)
    assert table.holdings() == []
    for number in (1, 2):
        with pytest.raises(LandingError, match="lacks the changes of 'range 0'"):
            merge(table, merge_of(number), [])
    assert merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)]).counts.older == 2
    assert merge(table, merge_of(1), [(1, 11, "x", 11), (2, None, None, 12)]).action is Action.MERGE
    assert rows_of(table) == {1: (11, "x")}


@pytest.mark.parametrize("primary", ["", ", primary key (id)"])
def test_two_texts_of_one_key_in_a_range_are_refused(lake, table, primary):
    lake.ask(f"create table {table.table} (id uuid, at bigint, _sequence bytea{primary}); select 1")
    one = "5f0c3b1e-0000-4000-8000-000000000001"
    rules = MergeRules.of("id", order_by="at", delete_column="gone")

    def run(number, *rows):
        changes = pa.table(dict(zip(("id", "at", "gone"), map(list, zip(*rows, strict=True)), strict=True)))
        return merge_changes(changes, table, merge_of(number).landing, rules)

    with pytest.raises(LandingError, match=f"takes for one key .*{one}"):
        run(0, (one, 1, False), (one.upper(), 2, False))
    with pytest.raises(LandingError, match=f"takes for one key .*{one}"):
        run(0, (one, 1, False), (one.upper(), 2, True))
    assert lake.ask(f"select * from {table.table}") == []
    run(0, (one, 1, False))
    assert run(1, (one.upper(), 2, True)).counts.deleted == 1


def test_a_run_that_waited_sees_later_ranges_at_any_isolation(lake):
    options = "options=-c%20default_transaction_isolation%3Drepeatable%5C%20read"
    table = Postgres(lake.dsn + ("&" if "?" in lake.dsn else "?") + options, lake.table().table)
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    ranges: list[tuple[Any, Any]] = [(merge_of(2), [(7, None, None, 21)]), (merge_of(1), [(7, 70, "x", 11)])]
    waiting = f"select count(*) from pg_locks where relation = '{table.table}'::regclass and not granted"
    with ThreadPoolExecutor(2) as threads, ExitStack() as stack:
        target = PostgresMerges(table)
        staged = [
            stack.enter_context(target.staged(LocalRows(columns_of(rows)), each, shared=True)) for each, rows in ranges
        ]
        with closing(psycopg2.connect(lake.dsn)) as blocker, blocker.cursor() as cursor:
            cursor.execute(f"lock table {table.table} in exclusive mode")
            runs = []
            for (each, _), copied in zip(ranges, staged, strict=True):
                runs.append(threads.submit(target.commit, copied, each, in_order=True))
                while lake.ask(waiting) != [(len(runs),)] and not runs[-1].done():
                    time.sleep(0.01)
            blocker.rollback()
        assert runs[0].result().action is Action.MERGE
        with pytest.raises(LandingError, match="range 2"):
            runs[1].result()
    assert rows_of(table) == {1: (10, "a")}


@pytest.mark.parametrize("encoding", ["LATIN1", "UTF8"])
def test_texts_are_stored_whatever_the_encoding_of_the_client(lake, encoding):
    table = Postgres(lake.dsn + ("&" if "?" in lake.dsn else "?") + f"client_encoding={encoding}", lake.table().table)
    merge(table, merge_of(0), [(1, 10, "grün", 1)])
    assert rows_of(lake.table()) == {1: (10, "grün")}
