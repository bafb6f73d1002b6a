"""Settings of Debezium Server: what loses data, spoils it or stops it is found by name, and what is good passes."""

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.server.making import needed_streams
from pravega_jobs.debezium.server.properties import read_properties
from pravega_jobs.debezium.server.settings import Harm, check_settings
from pravega_jobs.debezium.server.streams import check_names, missing, streams_written

GOOD = r"""
# a server whose events all arrive
debezium.sink.type=pravega
debezium.sink.pravega.controller.uri: tcp://localhost:9090
debezium.sink.pravega.scope=shop
debezium.sink.pravega.transaction=false
debezium.source.connector.class=io.debezium.connector.postgresql.PostgresConnector
debezium.source.topic.prefix=inv
debezium.source.table.include.list=public.orders,public.order_items, \
    public.old_order_items
debezium.source.tombstones.on.delete=false
debezium.source.skipped.operations=none
debezium.source.offset.flush.interval.ms=0
debezium.source.decimal.handling.mode=string
debezium.source.provide.transaction.metadata=true
debezium.format.key=json
debezium.format.key.schemas.enable=false
debezium.transforms=once,twice
debezium.transforms.once.type=org.apache.kafka.connect.transforms.RegexRouter
debezium.transforms.once.regex=(.*)_(.*)
debezium.transforms.once.replacement=$1-$2
debezium.transforms.twice.type=org.apache.kafka.connect.transforms.RegexRouter
debezium.transforms.twice.regex=(.*)_(.*)
debezium.transforms.twice.replacement=$1-$2
"""
SETTINGS = read_properties(GOOD)
SOURCE = "debezium.source."


def found(**changes):
    """The findings after some settings have changed, by name; None removes one."""
    given = SETTINGS | {name.replace("__", "."): value for name, value in changes.items() if value is not None}
    for name, value in changes.items():
        if value is None:
            del given[name.replace("__", ".")]
    return {each.setting: each.harm for each in check_settings(given)}


def test_good_settings_have_no_finding():
    assert check_settings(SETTINGS) == []


@pytest.mark.parametrize(
    ("setting", "value", "harm"),
    [
        ("debezium__source__tombstones__on__delete", None, Harm.LOSES),
        ("debezium__source__tombstones__on__delete", "true", Harm.LOSES),
        ("debezium__source__skipped__operations", None, Harm.LOSES),
        ("debezium__source__skipped__operations", "u, t", Harm.LOSES),
        ("debezium__sink__pravega__transaction", "true", Harm.LOSES),
        ("debezium__source__offset__flush__interval__ms", None, Harm.DOUBLES),
        ("debezium__format__key__schemas__enable", None, Harm.SPOILS),
        ("debezium__format__key", "avro", Harm.STOPS),
        ("debezium__source__unavailable__value__placeholder", "(none)", Harm.SPOILS),
        ("debezium__source__decimal__handling__mode", None, Harm.SPOILS),
        ("debezium__transforms__twice__type", "io.debezium.transforms.ExtractNewRecordState", Harm.LOSES),
    ],
)
def test_each_setting_that_does_harm_is_found(setting, value, harm):
    assert found(**{setting: value}) == {setting.replace("__", "."): harm}


def test_unsigned_numbers_of_mysql_need_a_mode():
    mysql = {"debezium__source__connector__class": "io.debezium.connector.mysql.MySqlConnector"}
    assert found(**mysql) == {f"{SOURCE}bigint.unsigned.handling.mode": Harm.SPOILS}
    assert found(**mysql, debezium__source__bigint__unsigned__handling__mode="precise") == {}


def test_mariadb_needs_a_mode_of_encryption_that_its_driver_knows():
    mariadb = {
        "debezium__source__connector__class": "io.debezium.connector.mariadb.MariaDbConnector",
        "debezium__source__bigint__unsigned__handling__mode": "precise",
    }
    assert found(**mariadb) == {f"{SOURCE}database.ssl.mode": Harm.STOPS}
    assert found(**mariadb, debezium__source__database__ssl__mode="disabled") == {}


def test_a_finding_says_what_to_do():
    [finding] = check_settings(SETTINGS | {f"{SOURCE}tombstones.on.delete": "true"})
    assert str(finding) == (
        "debezium.source.tombstones.on.delete is true: loses data. Pravega's sink stops at the first deleted row, and "
        "with its transactions it loses events then. Set false"
    )


def test_a_changed_placeholder_is_found_with_the_option_that_knows_it():
    [finding] = check_settings(SETTINGS | {f"{SOURCE}unavailable.value.placeholder": "hex:00"})
    assert "option unavailable_placeholder" in str(finding)


def test_settings_of_another_sink_and_lines_that_are_none_are_refused():
    with pytest.raises(ConfigurationError, match="must be 'pravega'"):
        check_settings({"debezium.sink.type": "kafka"})
    with pytest.raises(ConfigurationError, match="name=value"):
        read_properties("debezium.sink.type=pravega\nnonsense\n")


def test_streams_are_named_as_the_routers_make_them():
    streams = streams_written(SETTINGS)
    assert streams.names == (
        "inv.public.orders",
        "inv.public.order-items",
        "inv.public.old-order-items",
        "inv.transaction",
    )
    assert streams.not_known is None
    assert check_names(streams) == []
    assert missing(streams, {"inv.public.orders", "inv.transaction"}) == [
        "inv.public.order-items",
        "inv.public.old-order-items",
    ]


def test_names_that_pravega_refuses_are_found():
    once = {name: text for name, text in SETTINGS.items() if not name.startswith("debezium.transforms.twice")}
    findings = check_names(streams_written(once | {"debezium.transforms": "once"}))
    assert [each.harm for each in findings] == [Harm.STOPS]
    assert "inv.public.old_order-items" in findings[0].why
    none = SETTINGS | {"debezium.transforms": "", f"{SOURCE}heartbeat.interval.ms": "1000"}
    assert len(check_names(streams_written(none))) == 3


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({f"{SOURCE}table.include.list": "public[.]o.*"}, "is a pattern"),
        ({"debezium.transforms.once.type": "com.example.Router"}, "com.example.Router"),
        ({"debezium.transforms.once.regex": "("}, "not understood"),
        ({f"{SOURCE}topic.prefix": ""}, "topic.prefix"),
    ],
)
def test_names_that_cannot_be_known_are_not_guessed(changes, text):
    assert text in (streams_written(SETTINGS | changes).not_known or "")


def test_mysql_writes_a_stream_of_its_ddl_statements():
    mysql = SETTINGS | {f"{SOURCE}connector.class": "io.debezium.connector.mysql.MySqlConnector"}
    assert "inv" in streams_written(mysql).names
    assert "inv" not in streams_written(mysql | {f"{SOURCE}include.schema.changes": "false"}).names


def test_all_streams_that_are_needed_are_known_or_none_is():
    names = ("inv.public.orders", "inv.public.order-items", "inv.public.old-order-items", "inv.transaction")
    assert needed_streams(SETTINGS) == ("shop", names)
    patterns = SETTINGS | {f"{SOURCE}table.include.list": "public.*"}
    with pytest.raises(ConfigurationError, match="none is made: .* is a pattern. Name the tables"):
        needed_streams(patterns)
    assert needed_streams(patterns, ["public.orders"]) == ("shop", ("inv.public.orders", "inv.transaction"))
    for given, message in (
        ({**SETTINGS, "debezium.transforms": ""}, "no stream of the name inv.public.order_items"),
        ({**SETTINGS, "debezium.sink.pravega.scope": ""}, "scope is not given"),
        ({**SETTINGS, f"{SOURCE}topic.prefix": ""}, "topic.prefix is not given"),
        ({**SETTINGS, "debezium.transforms.once.predicate": "some"}, "which names it gives is not known"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            needed_streams(given)
    with pytest.raises(ConfigurationError, match="must be a list"):
        needed_streams(SETTINGS, "public.orders")
