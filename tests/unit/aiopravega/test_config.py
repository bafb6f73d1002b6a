"""Configuration: from arguments and the environment, wrong values refused, secrets never shown."""

import pickle

import pytest

from aiopravega import PravegaConfig
from aiopravega.errors import ConfigurationError, TlsError


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in (
        "CONTROLLER_URI",
        "SCOPE",
        "USERNAME",
        "PASSWORD",
        "TOKEN",
        "TOKEN_SOURCE",
        "CA_FILE",
        "VERIFY_HOSTNAME",
    ):
        monkeypatch.delenv(f"PRAVEGA_{name}", raising=False)


def test_without_anything_it_is_the_local_controller():
    assert PravegaConfig().controller_target == "localhost:9090"
    assert not PravegaConfig().tls


def test_the_environment_fills_what_is_not_given(monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", "tcp://elsewhere:1234")
    monkeypatch.setenv("PRAVEGA_SCOPE", "examples")

    assert PravegaConfig().controller_target == "elsewhere:1234"
    assert PravegaConfig(controller_uri="tcp://here:1").controller_target == "here:1"
    assert PravegaConfig().scope == "examples"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"controller_uri": "http://host:9090"}, "http"),
        ({"controller_uri": "tcp://host"}, "no host and port"),
        ({"controller_uri": "tcp://:9090"}, "no host and port"),
        ({"controller_uri": "tcp://host:notaport"}, "no host and port"),
        ({"controller_uri": "host:9090"}, "scheme"),
        ({"controller_uri": ""}, "scheme"),
        ({"controller_uri": "tcp://host:0x10"}, "no host and port"),
        ({"controller_uri": "tcp://ho st:9090"}, "no host and port"),
        ({"controller_uri": "tcp://[::1]"}, "no host and port"),
        ({"controller_uri": "tcp://[host]:9090"}, "no host and port"),
        ({"controller_uri": "tcp://::1:9090"}, "put an IPv6 address in brackets"),
        ({"controller_uri": "tcp://one:9090,two"}, "'two' has no host and port"),
        ({"controller_uri": "tcp://host:9090/path"}, "no host and port"),
        ({"controller_uri": "tcp://user:pw@host:9090"}, "credentials"),
        ({"username": "u"}, "go together"),
        ({"username": "u", "password": "p", "token": "t"}, "either"),
        ({"ca_file": "/nowhere/ca.crt", "controller_uri": "tls://host:9090"}, "/nowhere/ca.crt"),
        ({"ca_file": __file__}, "tls://"),
        ({"scope": "no/slash"}, "no/slash"),
        ({"request_timeout": 0}, "request_timeout"),
        ({"contoller_uri": "tcp://host:9090"}, "contoller_uri"),
    ],
)
def test_a_value_that_cannot_work_is_named(values, named):
    with pytest.raises(ConfigurationError, match=named):
        PravegaConfig(**values)


@pytest.mark.parametrize(
    ("written", "target"),
    [
        (" tcp://host:9090 ", "host:9090"),
        ("tcp:// host : 9090 /", "host:9090"),
        ("tcp://[::1]:9090", "[::1]:9090"),
        ("tcp://[ fe80::1%eth0 ]:9090", "[fe80::1%eth0]:9090"),
        ("tls://one:9090, [::1]:9091 ,two:9092", "one:9090,[::1]:9091,two:9092"),
    ],
)
def test_an_address_is_read_as_people_write_it(written, target):
    assert PravegaConfig(controller_uri=written).controller_target == target


def test_who_is_given_takes_no_other_credentials_from_the_environment(monkeypatch):
    monkeypatch.setenv("PRAVEGA_TOKEN_SOURCE", "file:/run/token")
    monkeypatch.setenv("PRAVEGA_PASSWORD", "p")

    assert PravegaConfig(username="u").authorization() == "Basic dTpw"
    assert PravegaConfig(token="t").authorization() == "Bearer t"
    assert PravegaConfig(token_source="file:/other").token_source == "file:/other"


def test_a_ca_file_without_certificates_is_a_tls_error(tmp_path):
    (tmp_path / "ca.crt").write_text("not a certificate")
    config = PravegaConfig(controller_uri="tls://host:9090", ca_file=str(tmp_path / "ca.crt"))

    with pytest.raises(TlsError, match=r"ca\.crt"):
        config.ssl_context()


def test_credentials_become_the_authorization_metadata():
    assert PravegaConfig(username="admin", password="secret").authorization() == "Basic YWRtaW46c2VjcmV0"
    assert PravegaConfig(token="abc").authorization() == "Bearer abc"
    assert PravegaConfig().authorization() is None


@pytest.mark.parametrize("show", [repr, str, lambda config: config.model_dump_json()])
def test_secrets_are_not_shown(show):
    for config in (PravegaConfig(username="admin", password="secret"), PravegaConfig(token="secret")):
        assert "secret" not in show(config)


def test_secrets_are_not_shown_in_errors_either():
    with pytest.raises(ConfigurationError) as caught:
        PravegaConfig(password="secret")

    assert "secret" not in str(caught.value)


def test_a_configuration_can_be_pickled():
    config = PravegaConfig(username="admin", password="secret")

    assert pickle.loads(pickle.dumps(config)) == config
