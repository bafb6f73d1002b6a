"""A table of a real PostgreSQL: its columns and constraints, and a server that refuses, or is gone.

What it has in common with other tables is in `test_landing_contract`.
"""

from contextlib import closing

import pytest
from psycopg2.extensions import make_dsn
from tests.integration.pravega_jobs.landing_job import PostgresLake, landing, new_lake, rows

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
