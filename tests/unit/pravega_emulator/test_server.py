"""What programs learn about a running server."""

from pathlib import Path

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator import Account, PravegaServer

PLAIN = PravegaServer("tcp://127.0.0.1:1", Path("/logs"), "http://127.0.0.1:2")


@pytest.fixture
def secure(tmp_path):
    ca = tmp_path / "ca.crt"
    ca.write_text("")
    accounts = (Account("admin", "top-secret"), Account("reader", "lesser-secret", "prn::*,READ"))
    return PravegaServer("tls://localhost:1", Path("/logs"), None, ca, accounts)


def test_the_configuration_is_the_servers_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", "tcp://elsewhere:9090")
    monkeypatch.setenv("PRAVEGA_USERNAME", "somebody")
    monkeypatch.setenv("PRAVEGA_PASSWORD", "something")
    monkeypatch.setenv("PRAVEGA_SCOPE", "theirs")

    config = PLAIN.config

    assert config.controller_uri == "tcp://127.0.0.1:1"
    assert config.username is None
    assert config.scope is None


def test_every_account_has_a_configuration_and_the_first_is_the_default(secure):
    assert secure.config.username == "admin"
    assert secure.config.ca_file == str(secure.ca_file)
    assert secure.config_for("reader").username == "reader"
    assert secure.config_for("reader").password.get_secret_value() == "lesser-secret"


def test_an_unknown_account_is_refused_with_the_known_ones(secure):
    with pytest.raises(EmulatorError, match="no account 'writer'; it has admin, reader"):
        secure.config_for("writer")
    with pytest.raises(EmulatorError, match="auth=True"):
        PLAIN.config_for("admin")


def test_the_environment_says_all_that_a_client_needs(secure):
    assert PLAIN.environment() == {
        "PRAVEGA_CONTROLLER_URI": "tcp://127.0.0.1:1",
        "PRAVEGA_SCHEMA_REGISTRY_URI": "http://127.0.0.1:2",
    }
    assert secure.environment() == {
        "PRAVEGA_CONTROLLER_URI": "tls://localhost:1",
        "PRAVEGA_CA_FILE": str(secure.ca_file),
        "PRAVEGA_USERNAME": "admin",
        "PRAVEGA_PASSWORD": "top-secret",
    }
    assert secure.environment("reader")["PRAVEGA_PASSWORD"] == "lesser-secret"


def test_another_process_reads_the_same_server(secure):
    assert PravegaServer.from_json(secure.to_json()) == secure
    assert PravegaServer.from_json(PLAIN.to_json()) == PLAIN


def test_passwords_are_not_shown(secure):
    assert "secret" not in repr(secure)
