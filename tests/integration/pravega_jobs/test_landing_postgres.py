"""A table of a real PostgreSQL: its columns and constraints, and a server that refuses, or is gone.

What it has in common with other tables is in `test_landing_contract`.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from psycopg2.extensions import make_dsn
from tests.integration.pravega_jobs.landing_job import PostgresLake, landing, new_lake, rows
from tests.system.airflow.postgres import find_programs

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, Postgres
from pravega_jobs.landing.postgres_sql import connect


@pytest.fixture
def lake(postgres_dsn) -> PostgresLake:
    made: PostgresLake = new_lake("postgres", postgres_dsn)
    return made


def test_a_table_lacking_a_column_is_refused_and_defaults_are_kept(lake):
    table = lake.table()
    lake.ask(f"create table {table.table} (number serial, id bigint); select 1")
    with pytest.raises(LandingError, match="no column _consumer, _interval"):
        lake.land(table, landing(), 1)
    lake.ask(f"alter table {table.table} add column _consumer text, add column _interval text; select 1")
    assert lake.land(table, landing(), 1) is Action.APPEND
    assert lake.ask(f"select number, id from {table.table} order by 1") == [(1, 1), (2, 1), (3, None)]


def test_two_spellings_of_a_table_have_one_lock_and_one_note(lake):
    dsn = make_dsn(lake.dsn, options=f"-c search_path={lake.schema},public")
    tables = [Postgres(dsn, "orders"), Postgres(lake.dsn, f"{lake.schema}.orders")]
    lake.land(tables[0], landing("sunday"), 9)
    assert tables[0].identity() == tables[1].identity()
    assert tables[0].location() == tables[1].location()
    with lake.staged(tables[0], landing(), 1) as first, lake.staged(tables[1], landing(), 2) as second:
        with ThreadPoolExecutor() as threads:
            both = [
                threads.submit(table.commit, rows, landing())
                for table, rows in zip(tables, (first, second), strict=True)
            ]
        assert sorted(each.result().action for each in both) == [Action.APPEND, Action.NOTHING]
    assert len(lake.contents(tables[1])) == 6
    assert [tables[0].holdings(), len(tables[0].holdings())] == [tables[1].holdings(), 2]
    assert lake.ask(f"select count(*) from {lake.schema}.pravega_landings") == [(2,)]
    assert "secret" not in Postgres(make_dsn(lake.dsn, password="secret"), "orders").identity()


def test_a_database_restored_from_a_dump_holds_what_the_dump_has(lake, tmp_path):
    table, dump = lake.table(), tmp_path / "dump.sql"
    for name in ("sunday", "monday"):
        lake.land(table, landing(name), 1)
    identity = table.identity()
    programs = find_programs()
    subprocess.run([f"{programs}/pg_dump", "-n", lake.schema, "-f", dump, lake.dsn], check=True)
    lake.land(table, landing("tuesday"), 1)
    lake.land(table, landing("monday", generation=2), 2)
    lake.ask(f"drop schema {lake.schema} cascade; select 1")
    subprocess.run([f"{programs}/psql", "-q", "-f", dump, lake.dsn], check=True, stdout=subprocess.DEVNULL)
    assert {(each.interval, each.generation) for each in table.holdings()} == {("sunday", 1), ("monday", 1)}
    assert table.identity() != identity
    assert lake.land(table, landing("sunday"), 3) is Action.NOTHING
    assert lake.land(table, landing("tuesday"), 3) is Action.APPEND
    assert lake.land(table, landing("monday"), 3) is Action.NOTHING
    assert lake.contents(table) == rows("monday", 1) + rows("sunday", 1) + rows("tuesday", 3)
    # The notes are those of this table now: made again, it holds nothing.
    lake.drop(table)
    assert table.holdings() == []


def test_notes_in_another_schema_than_their_table_are_not_passed_over(lake):
    other: PostgresLake = new_lake("postgres", lake.dsn)
    lake.land(lake.table(), landing(), 1)
    lake.ask(f"alter table {lake.schema}.pravega_landings set schema {other.schema}; select 1")
    lake.ask(f"update {other.schema}.pravega_landings set table_oid = null, notes_oid = null returning 1")
    table = Postgres(make_dsn(lake.dsn, options=f"-c search_path={other.schema},{lake.schema}"), "orders")
    with pytest.raises(LandingError, match=f'has notes in "{other.schema}"."pravega_landings"'):
        lake.land(table, landing(), 2)
    assert lake.contents(lake.table()) == rows("monday", 1)


def test_a_server_that_is_not_there_may_come_back():
    with pytest.raises(LandingError, match="cannot be reached") as caught:
        Postgres("postgresql://127.0.0.1:1/nothing", "orders").holdings()
    assert caught.value.retryable


def test_a_database_that_is_not_there_is_not_asked_again(postgres_dsn):
    with pytest.raises(LandingError, match="does not exist") as caught:
        Postgres(make_dsn(postgres_dsn, dbname="nothing"), "orders").holdings()
    assert not caught.value.retryable


def test_the_text_of_a_wrong_dsn_is_not_shown():
    with pytest.raises(ConfigurationError) as caught:
        Postgres("postgresql://me:secret@[host/db", "orders").holdings()
    assert "secret" not in str(caught.value)


def test_limits_of_time_are_set_unless_the_dsn_has_them(postgres_dsn):
    with closing(connect(make_dsn(postgres_dsn, connect_timeout=5))) as connection:
        found = connection.get_dsn_parameters()
    assert (found["connect_timeout"], found["keepalives_idle"]) == ("5", "30")


def test_a_statement_that_is_refused_changes_nothing_and_says_why(lake):
    table = lake.table()
    lake.land(table, landing(), 1)
    lake.ask(f"alter table {table.table} add constraint small check (id < 5); select 1")
    with pytest.raises(LandingError, match=r"(?s)refused, and nothing was changed.*small") as caught:
        lake.land(table, landing("sunday"), 7)
    assert not caught.value.retryable
    assert lake.contents(table) == rows("monday", 1)
    assert lake.leftovers(table) == []


def test_a_lost_connection_fails_the_landing_and_the_next_run_lands(lake):
    table = lake.table()
    with lake.staged(table, landing(), 1) as copied:
        lake.ask(f"select pg_terminate_backend({copied.connection.info.backend_pid})")
        with pytest.raises(LandingError, match="Run it again") as caught:
            table.commit(copied, landing())
    assert caught.value.retryable
    assert lake.land(table, landing(), 2) is Action.APPEND
    assert lake.leftovers(table) == []
