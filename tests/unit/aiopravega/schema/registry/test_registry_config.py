"""The registry's configuration says what cannot work, and hides what is secret."""

import pytest
from pydantic import SecretStr

from aiopravega import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.schema import RegistryConfig


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("SCHEMA_REGISTRY_URI", "CONTROLLER_URI", "USERNAME", "PASSWORD", "TOKEN", "CA_FILE"):
        monkeypatch.delenv(f"PRAVEGA_{name}", raising=False)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "set PRAVEGA_SCHEMA_REGISTRY_URI"),
        ({"uri": "localhost:9092"}, "write http://host:port"),
        ({"uri": "http://u:p@localhost:9092"}, "credentials must not be in the address"),
        ({"uri": "http://localhost:9092", "username": "u"}, "username and password go together"),
        ({"uri": "http://localhost:9092", "ca_file": "ca.crt"}, "ca_file is for https://"),
        ({"uri": "https://localhost:9092", "ca_file": "no-such.crt"}, "does not exist"),
    ],
)
def test_what_cannot_work_is_refused(values, said):
    with pytest.raises(ConfigurationError, match=said):
        RegistryConfig(**values)


def test_the_address_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PRAVEGA_SCHEMA_REGISTRY_URI", "http://registry:9092/")

    assert RegistryConfig().uri == "http://registry:9092"


def test_the_credentials_of_the_cluster_serve_its_registry():
    cluster = PravegaConfig(username="u", password="secret")

    registry = RegistryConfig.beside(cluster, "http://registry:9092")

    assert registry.authorization() == cluster.authorization()
    assert "secret" not in repr(registry)


def test_a_token_is_sent_as_it_is():
    assert RegistryConfig(uri="http://registry:9092", token=SecretStr("abc")).authorization() == "Bearer abc"
