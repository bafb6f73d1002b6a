"""A table of a real PostgreSQL: whatever is killed, repeated, or run at once, each interval is there once."""

import threading
import uuid
from contextlib import closing, contextmanager
from functools import partial

import psycopg2
import pyarrow as pa
import pytest
from psycopg2.extensions import make_dsn
from tests.faults.kill_calls import killed_at

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from pravega_jobs.landing import Action, Landing, Postgres
from pravega_jobs.landing.copy_tasks import copy_batches
from pravega_jobs.landing.postgres import StagedCopy
from pravega_jobs.landing.postgres_sql import connect

STREAM = StreamName("shop", "orders")
CALLS = {"execute", "copy_expert", "_connect", "rollback", "__exit__", "close"}


def landing(name="monday", end=10, generation=1):
    segment = SegmentId(STREAM, 0, 0)
    cuts = StreamCutRange(StreamCut(STREAM, {segment: 0}), StreamCut(STREAM, {segment: end}))
    return Landing(Interval("consumer", STREAM, name), cuts, generation)


@contextmanager
def staged(table, one, value, rows=3):
    """What Spark's tasks do: one task with rows, whose first try does not count."""
    batch = pa.RecordBatch.from_pydict({"id": pa.array([value] * rows, pa.int32())})
    with table.new_staging({"id": "integer"}, one) as (connection, staging, columns):
        tries = [copy_batches(iter([batch]), table.dsn, staging, ("id",)) for _ in range(2)]
        yield StagedCopy(connection, staging, columns, (tries[1],))


def land(table, one, value):
    with staged(table, one, value) as copied:
        return table.commit(copied, one).action


def ask(table, query):
    with closing(psycopg2.connect(table.dsn)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def rows(table):
    return ask(table, f"select _interval, id from {table.table} order by 1, 2")


def staging_tables(table):
    schema = table.table.split(".")[0]
    return ask(
        table,
        f"select tablename from pg_tables where schemaname = '{schema}' and tablename like 'pravega_staged%'",
    )


@pytest.fixture
def make_table(postgres_dsn):
    """Names tables in schemas of their own."""

    def make():
        schema = f"s{uuid.uuid4().hex}"
        with closing(psycopg2.connect(postgres_dsn)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(f"create schema {schema}")
        return Postgres(postgres_dsn, f"{schema}.orders")

    return make


def test_an_interval_is_landed_once_and_replaced_by_its_newer_generation_only(make_table):
    table = make_table()
    assert (table.holdings(), table.rows()) == ([], {})
    assert [land(table, landing("monday"), 1), land(table, landing("sunday"), 2)] == [Action.APPEND] * 2
    assert land(table, landing("monday"), 3) is Action.NOTHING
    assert land(table, landing("monday", generation=2), 4) is Action.REPLACE
    for refused in (landing("monday"), landing("monday", end=11, generation=2)):
        with pytest.raises(LandingError):
            land(table, refused, 5)
    assert rows(table) == [("monday", 4)] * 3 + [("sunday", 2)] * 3
    assert [(each.interval, each.generation, each.rows) for each in table.holdings()] == [
        ("monday", 2, 3),
        ("sunday", 1, 3),
    ]
    assert table.rows() == {("consumer", "monday"): 3, ("consumer", "sunday"): 3}
    assert staging_tables(table) == []


@pytest.mark.slow
@pytest.mark.parametrize("generation", [1, 2])
def test_a_run_that_is_killed_at_any_step_leaves_all_or_nothing_and_the_next_one_completes_it(make_table, generation):
    before = [("monday", 1)] * 3 if generation > 1 else []
    others = [("sunday", 0)] * 3
    for step in range(1000):
        table = make_table()
        land(table, landing("sunday"), 0)
        if before:
            land(table, landing("monday"), 1)
        one = landing("monday", generation=generation)
        killed = killed_at(partial(land, table, one, 2), CALLS, step)
        assert rows(table) in ([*before, *others], [*[("monday", 2)] * 3, *others])
        land(table, one, 2)
        assert rows(table) == [*[("monday", 2)] * 3, *others]
        if not killed:
            break
    assert step > 30
    land(table, landing("tuesday"), 3)
    assert staging_tables(table) == []


def test_of_runs_of_one_interval_at_once_one_lands(make_table):
    table, actions, start = make_table(), [], threading.Barrier(4)

    def run(value):
        with staged(table, landing(), value) as copied:
            start.wait()
            actions.append(table.commit(copied, landing()).action)

    threads = [threading.Thread(target=run, args=(value,)) for value in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(actions) == [Action.APPEND, *[Action.NOTHING] * 3]
    assert len(set(rows(table))) == 1
    assert len(rows(table)) == 3


def test_a_run_that_started_with_an_older_generation_does_not_replace_a_newer_one(make_table):
    table = make_table()
    with staged(table, landing(), 1) as copied:
        land(table, landing(generation=2), 2)
        with pytest.raises(LandingError, match="generation 2"):
            table.commit(copied, landing())
    assert rows(table) == [("monday", 2)] * 3


def test_a_table_that_lacks_a_column_is_refused_and_a_table_of_ones_own_keeps_its_defaults(make_table):
    table = make_table()
    ask(table, f"create table {table.table} (number serial, id bigint); select 1")
    with pytest.raises(LandingError, match="no column _consumer, _interval"):
        land(table, landing(), 1)
    ask(table, f"alter table {table.table} add column _consumer text, add column _interval text; select 1")
    assert land(table, landing(), 1) is Action.APPEND
    assert ask(table, f"select number, id from {table.table} order by 1") == [(1, 1), (2, 1), (3, 1)]


def test_rows_that_somebody_removed_are_missed(make_table):
    table = make_table()
    land(table, landing(), 1)
    ask(table, f"delete from {table.table} where ctid in (select ctid from {table.table} limit 1); select 1")
    assert table.rows() == {("consumer", "monday"): 2}


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


def test_a_statement_that_is_refused_changes_nothing_and_says_why(make_table):
    table = make_table()
    land(table, landing(), 1)
    ask(table, f"alter table {table.table} add constraint small check (id < 5); select 1")
    with pytest.raises(LandingError, match=r"(?s)refused, and nothing was changed.*small") as caught:
        land(table, landing("sunday"), 7)
    assert not caught.value.retryable
    assert rows(table) == [("monday", 1)] * 3
    assert staging_tables(table) == []


def test_a_connection_that_is_ended_during_a_landing_is_reported_and_the_next_run_lands(make_table):
    table = make_table()
    with staged(table, landing(), 1) as copied:
        ask(table, f"select pg_terminate_backend({copied.connection.info.backend_pid})")
        with pytest.raises(LandingError, match="Run it again") as caught:
            table.commit(copied, landing())
    assert caught.value.retryable
    assert land(table, landing(), 2) is Action.APPEND
    assert staging_tables(table) == []
