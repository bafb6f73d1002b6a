import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import redact
from airflow.sdk import Connection

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.pravega import config_from_connection
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.kafka import kafka_settings


def connection(**fields: Any) -> Connection:
    extra = fields.pop("extra", None)
    return Connection(conn_id="c", conn_type="pravega", extra=json.dumps(extra) if extra else None, **fields)


def test_a_host_alone_is_enough():
    config = config_from_connection(connection(host="pravega"))
    assert config.controller_uri == "tcp://pravega:9090"
    assert config.authorization() is None


def test_the_port_and_the_scope_are_taken():
    config = config_from_connection(connection(host="pravega", port=1234, extra={"scope": "examples"}))
    assert config.controller_uri == "tcp://pravega:1234"
    assert config.scope == "examples"


@pytest.mark.parametrize("tls", [True, "true", "True", "1"])
def test_tls_is_a_flag_or_its_text(tls: object):
    assert config_from_connection(connection(host="pravega", extra={"tls": tls})).tls


def test_a_host_may_bring_its_scheme():
    assert config_from_connection(connection(host="tls://pravega", port=9090)).tls


def test_login_and_password_become_basic_credentials():
    config = config_from_connection(connection(host="pravega", login="ada", password="secret"))
    assert config.authorization() == "Basic YWRhOnNlY3JldA=="


def test_a_token_becomes_bearer_credentials():
    config = config_from_connection(connection(host="pravega", extra={"token": "secret"}))
    assert config.authorization() == "Bearer secret"


def test_time_limits_are_taken():
    config = config_from_connection(connection(host="pravega", extra={"connect_timeout": 1.5, "retry_timeout": "3"}))
    assert (config.connect_timeout, config.retry_timeout) == (1.5, 3.0)


@pytest.mark.parametrize(
    ("fields", "uri"),
    [
        ({"host": "::1"}, "tcp://[::1]:9090"),
        ({"host": "[::1]", "port": 1234}, "tcp://[::1]:1234"),
        ({"host": " pravega "}, "tcp://pravega:9090"),
        ({"host": "pravega:9090", "port": 9090}, "tcp://pravega:9090"),
        ({"host": "tls://one, two:9091"}, "tls://one:9090,two:9091"),
    ],
)
def test_hosts_are_read_as_people_write_them(fields: dict[str, Any], uri: str):
    assert config_from_connection(connection(**fields)).controller_uri == uri


def test_a_source_of_tokens_is_taken():
    config = config_from_connection(connection(host="pravega", extra={"token_source": "file:/run/token"}))
    assert config.token_source == "file:/run/token"


def test_a_connection_names_no_program_unless_airflow_allows_it(monkeypatch: pytest.MonkeyPatch):
    given = connection(host="pravega", extra={"token_source": "command:vault read -field=token pravega"})
    with pytest.raises(ConfigurationError, match="is a command, which this Airflow does not run for a connection"):
        config_from_connection(given)

    monkeypatch.setenv("AIRFLOW__PRAVEGA__TOKEN_PROGRAMS", "True")
    assert config_from_connection(given).token_source == "command:vault read -field=token pravega"


def test_empty_fields_of_the_form_are_absent():
    extra = {"token": None, "ca_file": "", "scope": None, "verify_hostname": None, "retry_timeout": None}
    config = config_from_connection(connection(host="pravega", login="", password="", extra=extra))
    assert config.username is None
    assert config.ca_file is None
    assert config.verify_hostname


def test_nothing_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", "tcp://elsewhere:1")
    monkeypatch.setenv("PRAVEGA_USERNAME", "somebody")
    monkeypatch.setenv("PRAVEGA_PASSWORD", "else")
    monkeypatch.setenv("PRAVEGA_SCOPE", "other")
    monkeypatch.setenv("PRAVEGA_TOKEN_SOURCE", "file:/run/token")
    config = config_from_connection(connection(host="pravega"))
    assert config.controller_uri == "tcp://pravega:9090"
    assert not config.has_credentials
    assert config.scope is None


def test_secrets_are_not_shown():
    config = config_from_connection(connection(host="pravega", login="ada", password="s3cret"))
    assert "s3cret" not in repr(config) + str(config)
    config = config_from_connection(connection(host="pravega", extra={"token": "s3cret"}))
    assert "s3cret" not in repr(config) + str(config)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "'c'.*no host"),
        ({"host": "pravega", "extra": {"tls": "maybe"}}, "tls is 'maybe'"),
        ({"host": "pravega", "extra": {"verify_hostnam": True}}, "its extras \\['verify_hostnam'\\] are not known"),
        ({"host": "pravega", "extra": {"ca_file": "/nowhere", "tls": True}}, "'/nowhere' does not exist"),
        ({"host": "pravega", "extra": {"retry_timeout": "long"}}, "retry_timeout"),
        ({"host": "http://pravega"}, "scheme 'http'"),
        ({"host": "pravega:1", "port": 2}, "'pravega:1' has another port than the connection, 2"),
        ({"host": "pravega", "login": "ada"}, "username and password go together"),
        ({"host": "pravega", "login": "ada", "password": "p", "extra": {"token": "t"}}, "or a token"),
    ],
)
def test_what_cannot_work_is_named(fields: dict[str, Any], complaint: str):
    with pytest.raises(ConfigurationError, match=complaint):
        config_from_connection(connection(**fields))


def test_extras_that_are_no_object_are_refused():
    with pytest.raises(ConfigurationError, match="not a JSON object"):
        config_from_connection(Connection(conn_id="c", conn_type="pravega", host="pravega", extra="[1]"))


def test_complaints_do_not_show_secrets():
    with pytest.raises(ConfigurationError) as caught:
        config_from_connection(connection(host="pravega", password="s3cret", extra={"token": "t0ken"}))
    assert "s3cret" not in str(caught.value)
    assert "t0ken" not in str(caught.value)


def test_the_hook_reads_a_connection_written_as_a_uri(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_URI", "pravega://ada:s3cret@pravega:9091/?tls=true&scope=examples")
    hook = PravegaHook("pravega_uri")
    config = hook.get_config()
    assert config.controller_uri == "tls://pravega:9091"
    assert config.scope == "examples"
    assert "s3cret" not in repr(hook) + repr(vars(hook))


async def test_the_hook_reads_it_on_an_event_loop_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_LOOP", "pravega://pravega:9091/?spark_master=spark%3A%2F%2Fmaster%3A7077")
    hook = PravegaHook("pravega_loop")
    assert (await hook.aget_config()).controller_uri == "tcp://pravega:9091"
    assert hook.spark_master() == "spark://master:7077"


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "SASL.Password",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "ssl.key.pem",
        "schema.registry.basic.auth.user.info",
    ],
)
def test_secrets_of_a_connection_to_kafka_are_masked(monkeypatch, name):
    secret = f"canary of {name}"
    fields = {"conn_type": "kafka", "extra": {name: secret, "client.id": "a client"}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(fields))
    settings = kafka_settings("kafka_default")
    assert settings == {name: secret, "client.id": "a client"}
    assert redact(str(settings)) == str({name: "***", "client.id": "a client"})
