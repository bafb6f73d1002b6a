"""Tables of PostgreSQL before Debezium reads them: what hides values, breaks the application or stops Debezium."""

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.server.database import (
    Server,
    Table,
    check_connector,
    check_measurable,
    check_server,
    check_table,
    chosen,
)
from pravega_jobs.debezium.server.settings import Harm

SOURCE = "debezium.source."
NAMES = ["public.orders", "public.order_items", "old.orders", "audit.log"]
MIB = 1024 * 1024


def harms(*arguments, **more):
    return [each.harm for each in check_table(Table(*arguments, **more))]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (("public.t", "full", False, ("note",)), []),
        (("public.t", "default", True), []),
        (("public.t", "default", True, ("note",)), [Harm.HIDES]),
        (("public.t", "index", True, ("note",)), [Harm.HIDES]),
        (("public.t", "default", False), [Harm.BREAKS]),
        (("public.t", "nothing", True), [Harm.BREAKS]),
        (("public.t", "default", True, (), 8 * MIB), []),
        (("public.t", "default", True, (), 8 * MIB + 1), [Harm.STOPS]),
        (("public.t", "full", True, (), 5 * MIB), [Harm.STOPS]),
        (("public.t", "nothing", False, (), 9 * MIB), [Harm.BREAKS, Harm.STOPS]),
    ],
)
def test_each_table_has_its_findings(table, expected):
    assert harms(*table) == expected


def test_values_that_arrive_as_null_are_named_with_the_remedy():
    [finding] = check_table(Table("public.t", "default", True, ("note", "price", "ids"), nulled=("price", "ids")))
    assert "a large value of note, price, ids" in finding.why
    assert "Of price, ids it arrives as null" in finding.why
    assert "if price, ids may have values" in finding.instead


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, NAMES),
        ({"table.include.list": "public.orders, public.order_items"}, NAMES[:2]),
        ({"table.include.list": r"PUBLIC\..*"}, NAMES[:2]),
        ({"table.include.list": r".*\.orders", "table.exclude.list": "old.orders"}, NAMES[:1]),
        ({"schema.include.list": "old,audit"}, NAMES[2:]),
        ({"schema.exclude.list": "public"}, NAMES[2:]),
        # Half of a name is another table.
        ({"table.exclude.list": "public.order"}, NAMES),
    ],
)
def test_tables_are_chosen_as_debezium_does(settings, expected):
    names, lonely = chosen(NAMES, {f"{SOURCE}{name}": text for name, text in settings.items()})
    assert (sorted(names), lonely) == (sorted(expected), [])


def test_a_table_that_is_not_there_loses_its_changes():
    names, lonely = chosen(NAMES, {f"{SOURCE}table.include.list": "public.orders,public.lines"})
    assert names == {"public.orders"}
    assert [(each.value, each.harm) for each in lonely] == [("public.lines", Harm.LOSES)]


def test_a_pattern_that_is_not_understood_is_refused():
    with pytest.raises(ConfigurationError, match="table.exclude.list is not understood"):
        chosen(NAMES, {f"{SOURCE}table.exclude.list": "public.(orders"})


def test_the_server_must_have_the_log_and_the_user():
    given = {f"{SOURCE}database.dbname": "shop", f"{SOURCE}database.user": "debezium"}
    assert check_server(Server("shop", "logical", True), given) == []
    found = check_server(Server("shop", "replica", False), given)
    assert [(each.setting, each.harm) for each in found] == [
        ("wal_level", Harm.STOPS),
        (f"{SOURCE}database.user", Harm.STOPS),
    ]
    assert "there is no such user" in str(check_server(Server("shop", "logical", None), given)[0])


def test_another_database_than_that_of_the_settings_is_refused():
    with pytest.raises(ConfigurationError, match="'shop', but the database that was inspected is 'other'"):
        check_server(Server("other", "logical", True), {f"{SOURCE}database.dbname": "shop"})


def test_another_kind_of_database_and_changed_columns_are_refused():
    with pytest.raises(ConfigurationError, match="PostgreSQL only"):
        check_connector({f"{SOURCE}connector.class": "io.debezium.connector.mariadb.MariaDbConnector"})
    for name in ("column.exclude.list", "column.truncate.to.100.chars"):
        with pytest.raises(ConfigurationError, match="without measuring rows"):
            check_measurable({f"{SOURCE}{name}": "public.orders.note"})
    check_measurable({f"{SOURCE}column.propagate.source.type": ".*"})
