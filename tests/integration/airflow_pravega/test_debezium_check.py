"""The settings of Debezium Server before a real cluster: what does harm fails or warns, as does a missing stream."""

import json
import re
from functools import partial

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from psycopg2.extensions import parse_dsn
from tests.integration.debezium_settings import GOOD, PASSWORD

from airflow_pravega.operators.debezium import PravegaDebeziumCheckOperator
from airflow_pravega.operators.debezium_streams import PravegaDebeziumStreamsOperator


@pytest.fixture
def check(run_task, client, scope, tmp_path):
    """Checks a file of settings, with the stream of the table in the scope or without it."""

    def check(more="", flush=0, stream=True, **arguments):
        file = tmp_path / "application.properties"
        file.write_text(GOOD.format(scope=scope, password=PASSWORD, flush=flush) + more)
        if stream:
            client.create_stream(f"{scope}/inv.public.orders")
        return run_task(partial(PravegaDebeziumCheckOperator, settings=str(file), **arguments))

    return check


def test_good_settings_pass_and_no_password_is_in_the_report(check, capfd):
    result = check().result()
    assert (result["passed"], result["findings"], result["streams"]) == (True, [], ["inv.public.orders"])
    assert PASSWORD not in f"{result} {capfd.readouterr()}"


def test_what_loses_data_and_a_missing_stream_fail_without_a_further_try(check, capfd):
    lost = check("debezium.source.tombstones.on.delete=true\n")
    assert (lost.state(), lost.tries()) == ("failed", 1)
    assert "fails: debezium.source.tombstones.on.delete is true: loses data" in "".join(capfd.readouterr())


def test_a_missing_stream_fails_and_is_named(check, capfd):
    assert check(stream=False).state() == "failed"
    assert "the stream inv.public.orders is not in it" in "".join(capfd.readouterr())


def test_the_streams_that_are_missing_are_made_once(run_task, client, scope, tmp_path, capfd):
    file = tmp_path / "application.properties"
    more = "debezium.source.provide.transaction.metadata=true\n"
    file.write_text(GOOD.format(scope=scope, password=PASSWORD, flush=0) + more)
    make = partial(PravegaDebeziumStreamsOperator, settings=str(file))
    client.create_stream(f"{scope}/inv.public.orders")
    assert run_task(make).result() == {"scope": scope, "made": ["inv.transaction"], "there": ["inv.public.orders"]}
    tables = partial(make, tables=["public.orders", "public.lines"], tags=["cdc"])
    assert run_task(tables).result()["made"] == ["inv.public.lines"]
    assert run_task(tables).result()["made"] == []
    assert [each.stream for each in client.list_streams(scope, "cdc")] == ["inv.public.lines"]
    assert run_task(partial(make, tables=["public.order_items"])).state() == "failed"
    said = "".join(capfd.readouterr())
    assert "Pravega takes no stream of the name inv.public.order_items" in said
    assert PASSWORD not in said


def test_which_harms_fail_is_an_argument(check):
    warned = check(flush=60000).result()
    assert (warned["passed"], [each["fails"] for each in warned["findings"]]) == (True, [False])
    assert check(flush=60000, fail_on=["doubles"]).state() == "failed"
    assert check("debezium.source.tombstones.on.delete=true\n", fail_on=[]).result()["passed"]


def test_a_line_that_is_not_a_setting_is_named_without_its_password(check, capfd):
    assert check(f"debezium.source.database.password\\ {PASSWORD}\n").state() == "failed"  # a name with a blank
    said = "".join(capfd.readouterr())
    assert re.search(r"begins with 'debezium.source.database.password\\+' is not a setting", said)
    assert PASSWORD not in said


def test_a_harm_that_there_is_not_and_a_file_that_is_missing_are_refused(run_task, tmp_path, capfd):
    for wrong in (["burns"], "loses"):
        with pytest.raises(
            AirflowFailException, match="must be a list of loses, spoils, stops, breaks, hides, doubles"
        ):
            PravegaDebeziumCheckOperator(task_id="check", settings="/etc/debezium", fail_on=wrong)
    missing = partial(PravegaDebeziumCheckOperator, settings=f"{tmp_path}/none.properties")
    assert run_task(missing).state() == "failed"
    assert "cannot be read from" in "".join(capfd.readouterr())


def test_the_database_is_looked_at_too(check, postgres_dsn, monkeypatch, capfd):
    parts = parse_dsn(postgres_dsn)
    fields = {"conn_type": "postgres", "host": parts["host"], "port": int(parts["port"]), "login": parts["user"]}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps({**fields, "schema": parts["dbname"]}))
    assert check(postgres_conn_id="shop", measure_rows=True).state() == "failed"
    said = "".join(capfd.readouterr())
    assert "fails: wal_level is replica: stops Debezium" in said
    assert "public.orders: loses data. the database has no such table" in said
    assert check(stream=False, postgres_conn_id="shop", fail_on=["doubles"]).result()["passed"]
    with pytest.raises(AirflowFailException, match="measure_rows needs postgres_conn_id"):
        PravegaDebeziumCheckOperator(task_id="check", settings="/etc/debezium", measure_rows=True)
