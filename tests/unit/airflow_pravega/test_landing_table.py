"""The operator that lands: connections of PostgreSQL and Iceberg, and tables that are refused at once."""

import json
from functools import partial

import psycopg2.extensions
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Connection
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.iceberg import catalog_properties
from airflow_pravega.connections.postgres import libpq_dsn
from airflow_pravega.connections.tables import ICEBERG, table_in
from airflow_pravega.operators.land import PravegaLandOperator

PASSWORD = "s3cret-of-postgres"
operator = partial(PravegaLandOperator, task_id="land", stream="shop/orders", stream_cuts={})


def connection(**fields) -> Connection:
    known = {"conn_type": "postgres", "host": "db", "schema": "lake", "login": "ada", "password": PASSWORD}
    extra = fields.pop("extra", {})
    return Connection(
        conn_id="warehouse", **known | fields, extra=extra if isinstance(extra, str) else json.dumps(extra)
    )


def test_a_connection_is_what_libpq_takes():
    dsn = libpq_dsn(connection(port=5433, extra={"sslmode": "require", "cursor": "dictcursor"}))
    assert psycopg2.extensions.parse_dsn(dsn) == {
        "host": "db",
        "port": "5433",
        "dbname": "lake",
        "user": "ada",
        "password": PASSWORD,
        "sslmode": "require",
    }


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
def test_a_password_of_any_characters_reaches_libpq_as_it_is(password):
    dsn = libpq_dsn(connection(password=password))
    assert psycopg2.extensions.parse_dsn(dsn)["password"] == password


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conn_type": "mysql"}, "its type is 'mysql'"),
        ({"host": None}, "it has no host"),
        ({"schema": None}, "it has no database"),
        ({"extra": {"iam": True}}, r"its extras \['iam'\] are not known"),
        ({"extra": PASSWORD}, "the extras are not a JSON object"),
    ],
)
def test_a_connection_that_reaches_no_database_is_refused_by_name(fields, message):
    with pytest.raises(ConfigurationError, match=f"connection 'warehouse': {message}") as raised:
        libpq_dsn(connection(**fields))
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("table", "conn_id", "message"),
    [
        (f"postgresql://ada:{PASSWORD}@db/lake#orders", None, "begins with 'postgresql' is not taken here"),
        ("orders", None, "does not say what kind of table"),
        ("parquet:orders", None, "absolute path"),
        ("iceberg:shop.orders", None, "named with its catalog"),
        (f"postgresql://ada:{PASSWORD}@db/lake#orders", "warehouse", "and postgres_conn_id is given"),
        ("a.b.c", "warehouse", "table, or schema.table"),
    ],
)
def test_a_table_that_cannot_be_is_refused_when_the_operator_is_made(table, conn_id, message):
    with pytest.raises(AirflowFailException, match=message) as raised:
        operator(table=table, postgres_conn_id=conn_id)
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"errors": "errors"}, "does not say what kind of table"),
        ({"errors": "stream:errors"}, "stream 'errors' has no scope"),
        ({"most_errors": 1}, "most_errors='1' needs errors"),
        ({"errors": "delta:/lake/errors", "most_errors": "some"}, "most_errors is 'some', but must be a number"),
    ],
)
def test_an_errors_table_that_cannot_be_is_refused_as_early(given, message):
    with pytest.raises(AirflowFailException, match=message):
        operator(table="delta:/lake/orders", **given)


def test_a_template_is_left_for_later():
    later = operator(table="{{ params.table }}", errors="{{ params.errors }}", most_errors="{{ params.most }}")
    assert later.table == "{{ params.table }}"


def catalog(**fields) -> Connection:
    known = {"conn_type": "iceberg", "host": "https://catalog/", "login": "ada", "password": PASSWORD}
    extra = fields.pop("extra", {})
    return Connection(conn_id="lake", **known | fields, extra=extra if isinstance(extra, str) else json.dumps(extra))


def test_a_connection_of_iceberg_is_what_pyiceberg_takes():
    assert catalog_properties(catalog(extra={"warehouse": "s3://lake"})) == {
        "type": "rest",
        "uri": "https://catalog",
        "warehouse": "s3://lake",
        "credential": f"ada:{PASSWORD}",
    }
    other = catalog(host=None, login=None, password=None, extra={"type": "glue", "glue.region": "eu-west-1"})
    assert catalog_properties(other) == {"type": "glue", "glue.region": "eu-west-1"}
    table = table_in("shop.orders", catalog(), ICEBERG)
    assert (table.location(), PASSWORD in repr(table)) == ("iceberg:lake/shop.orders", False)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conn_type": "http"}, "its type is 'http', but must be 'iceberg'"),
        ({"host": None}, "it has no host"),
        ({"login": None}, "it has a login or a password, but a catalog needs both"),
        ({"schema": "lake"}, "it has a schema, which is not used"),
        ({"extra": PASSWORD}, "the extras are not a JSON object"),
    ],
)
def test_a_connection_that_reaches_no_catalog_is_refused_by_name(fields, message):
    with pytest.raises(ConfigurationError, match=f"connection 'lake': {message}") as raised:
        table_in("shop.orders", catalog(**fields), ICEBERG)
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("table", "more", "message"),
    [
        ("iceberg:lake/shop.orders", {}, "and iceberg_conn_id is given"),
        ("orders", {}, r"namespace\.table"),
        ("shop.orders", {"postgres_conn_id": "warehouse"}, "are given, but a table is in one of them"),
        ("shop.orders", {"partition_by": ["{{ first }}", "week(day)"]}, "partition_by has 'week.day.'"),
        ("shop.orders", {"partition_by": "day"}, "partition_by is a list of texts"),
    ],
)
def test_a_table_that_no_catalog_can_have_is_refused_at_once(table, more, message):
    with pytest.raises(AirflowFailException, match=message):
        operator(table=table, iceberg_conn_id="lake", **more)
