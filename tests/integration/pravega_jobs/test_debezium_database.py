"""A real PostgreSQL before Debezium reads it: what it says of itself is what happens in it."""

from contextlib import closing

import psycopg2
import pytest
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.debezium.server.connected import check_database
from pravega_jobs.debezium.server.settings import Harm

SOURCE = "debezium.source."
SETTINGS = {
    f"{SOURCE}connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    f"{SOURCE}database.dbname": "postgres",
    f"{SOURCE}database.user": "airflow",
    f"{SOURCE}schema.include.list": "shop",
}
MAKE = """
create schema shop;
create table shop.orders (id int primary key, customer int, note varchar(100));
create table shop.notes (id text primary key, at timestamp, body text, raw bytea);
create table shop.prices (
  id numeric primary key, price numeric, fixed numeric(10, 2), tags varchar(9)[], sizes int2[], nets inet[], bits varbit
);
create table shop."Whole Rows" (id int primary key, body text);
alter table shop."Whole Rows" replica identity full;
create table shop.keyless (a int, b int);
create table shop.parts (id int primary key) partition by range (id);
create table shop.parts_1 partition of shop.parts for values from (0) to (10);
create view shop.seen as select * from shop.orders;
insert into shop.notes values ('a', now(), repeat('x', 100), null);
insert into shop."Whole Rows" values (1, repeat('é', 2500000));
insert into shop.keyless values (1, 2);
create user reader password 'reader';
"""


@pytest.fixture(scope="module")
def dsn(tmp_path_factory):
    """The address of a PostgreSQL with the log that Debezium needs."""
    log = tmp_path_factory.mktemp("postgres") / "postgres.log"
    with Postgres(free_ports(1)[0], log, {"wal_level": "logical"}) as server:
        address = server.url("psycopg2").replace("+psycopg2", "")
        with closing(psycopg2.connect(address)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(MAKE)
        yield address


def test_each_table_is_found_with_what_it_hides_or_breaks(dsn):
    found = {each.setting: (each.value, each.harm) for each in check_database(dsn, SETTINGS)}
    assert found == {
        "REPLICA IDENTITY of shop.keyless": ("default, without a primary key", Harm.BREAKS),
        "REPLICA IDENTITY of shop.notes": ("default", Harm.HIDES),
        "REPLICA IDENTITY of shop.prices": ("default", Harm.HIDES),
    }


@pytest.mark.parametrize(
    ("decimals", "nulled"), [("double", "price, sizes, nets, bits"), ("string", "sizes, nets, bits")]
)
def test_columns_whose_unsent_values_arrive_as_null_are_named(dsn, decimals, nulled):
    found = check_database(dsn, SETTINGS | {f"{SOURCE}decimal.handling.mode": decimals})
    (why,) = (each.why for each in found if each.setting.endswith("shop.prices"))
    assert "a large value of price, tags, sizes, nets, bits that" in why
    assert f"Of {nulled} it arrives as null" in why


def test_the_longest_row_is_measured_twice_where_events_have_both_images(dsn):
    found = {each.setting: each for each in check_database(dsn, SETTINGS, measure_rows=True)}
    longest = found["the longest row of shop.Whole Rows"]
    assert (longest.harm, longest.value) == (Harm.STOPS, "5,000,018 bytes")
    assert "the longest row of shop.notes" not in found


def test_postgresql_refuses_updates_of_a_published_table_without_a_key(dsn):
    with closing(psycopg2.connect(dsn)) as connection, connection.cursor() as cursor:
        cursor.execute("create publication of_all for table shop.keyless")
        with pytest.raises(psycopg2.Error, match="replica identity"):
            cursor.execute("update shop.keyless set b = 3")
        connection.rollback()


def test_missing_users_and_users_without_replication_are_found(dsn):
    for user, why in (("reader", "may not read the log"), ("nobody", "no such user")):
        (found, *_) = check_database(dsn, SETTINGS | {f"{SOURCE}database.user": user})
        assert (found.setting, found.harm) == (f"{SOURCE}database.user", Harm.STOPS)
        assert why in found.why


def test_a_server_without_the_log_is_found(postgres_dsn):
    given = {name: text for name, text in SETTINGS.items() if not name.endswith("schema.include.list")}
    found = [each for each in check_database(postgres_dsn, given) if each.setting == "wal_level"]
    assert [(each.value, each.harm) for each in found] == [("replica", Harm.STOPS)]


def test_another_database_and_rows_that_may_not_be_read_are_refused(dsn):
    with pytest.raises(ConfigurationError, match="'shop', but the database that was inspected is 'postgres'"):
        check_database(dsn, SETTINGS | {f"{SOURCE}database.dbname": "shop"})
    as_reader = dsn.replace("airflow@", "reader@")
    assert check_database(as_reader, SETTINGS)
    with pytest.raises(LandingError, match="permission denied"):
        check_database(as_reader, SETTINGS, measure_rows=True)
