"""Tables by texts that a scheduler shows: no secret is among them, and none is repeated."""

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing import DeltaFolder, Iceberg, ParquetFolder, Postgres, folder_of, shown_table

PASSWORD = "s3cret-of-postgres"
DSN = f"postgresql://ada:{PASSWORD}@db/lake"


def test_a_text_is_a_table():
    assert shown_table("parquet:/lake/orders", None, "database") == ParquetFolder("/lake/orders")
    assert shown_table("delta:/lake/orders", None, "database") == DeltaFolder("/lake/orders")
    assert shown_table("iceberg:lake/shop.orders", None, "database") == Iceberg("shop.orders", "lake")
    assert [folder_of(text) for text in ("delta:/lake", "iceberg:lake/shop.orders", "orders")] == ["/lake", None, None]


def test_a_name_in_a_database_is_a_table_that_does_not_show_the_address():
    table = shown_table("shop.orders", DSN, "database")
    assert table == Postgres(DSN, "shop.orders")
    assert PASSWORD not in f"{table!r} {table}"


@pytest.mark.parametrize(
    ("text", "dsn", "message"),
    [
        (f"{DSN}#orders", None, "begins with 'postgresql' is not taken here"),
        ("orders", None, "does not say what kind of table"),
        ("parquet:orders", None, "absolute path"),
        ("iceberg:shop.orders", None, "named with its catalog"),
        (f"{DSN}#orders", DSN, "and database is given: both say where the table is"),
        ("a.b.c", DSN, "table, or schema.table"),
    ],
)
def test_what_names_no_table_is_refused_without_secrets(text, dsn, message):
    with pytest.raises(ConfigurationError, match=message) as raised:
        shown_table(text, dsn, "database")
    assert PASSWORD not in str(raised.value)
