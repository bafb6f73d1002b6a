"""Tokens that end: where they come from, when they are got again, and that no message, log or pickle has one."""

import base64
import json
import logging
import pickle
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest

from aiopravega import PravegaConfig
from aiopravega.errors import AuthenticationError, ConfigurationError, PravegaConnectionError
from aiopravega.net import Authorization, renewal_time

SECRET = "swordfish"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in ("CONTROLLER_URI", "USERNAME", "PASSWORD", "TOKEN", "TOKEN_SOURCE", "CA_FILE"):
        monkeypatch.delenv(f"PRAVEGA_{name}", raising=False)


def authorization(source) -> Authorization:
    return Authorization(PravegaConfig(token_source=source))


def jwt(expiry: float, name: str = "a") -> str:
    body = base64.urlsafe_b64encode(json.dumps({"exp": expiry, "sub": name}).encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


@pytest.fixture
def clock(monkeypatch):
    """The time of the machine, which a test moves."""
    clock = SimpleNamespace(now=1_000_000.0)
    monkeypatch.setattr("aiopravega.net.authorization.time", SimpleNamespace(time=lambda: clock.now))
    return clock


@pytest.mark.parametrize(
    ("token", "at"),
    [(jwt(1_600.0), 1_570.0), (jwt(1_010.0), 1_008.0), (jwt(900.0), 900.0), ("opaque", 5_000 - 30), ("a.b.c", 4_970)],
    ids=["before-its-end", "short-life", "has-ended", "no-jwt", "not-base64"],
)
def test_a_token_is_replaced_before_its_end(token, at):
    assert renewal_time(token, 1_000.0, 5_000.0) == at


@pytest.mark.parametrize(
    ("content", "value"),
    [("abc\n", "Bearer abc"), ("Basic dTpw\n", "Basic dTpw"), (" Bearer  abc ", "Bearer abc")],
)
async def test_a_file_has_a_token_or_a_method_and_a_token(tmp_path, content, value):
    (tmp_path / "token").write_text(content)

    assert await authorization(f"file:{tmp_path / 'token'}").value() == value


async def test_a_file_is_read_again_each_minute_and_when_refused(tmp_path, clock):
    file = tmp_path / "token"
    file.write_text("one")
    credentials = authorization(f"file:{file}")
    assert await credentials.value() == "Bearer one"

    file.write_text("two")
    assert await credentials.value() == "Bearer one"
    clock.now += 61
    assert await credentials.value() == "Bearer two"

    file.write_text("three")
    assert await credentials.replacement("Bearer two") == "Bearer three"
    assert await credentials.replacement("Bearer three") is None
    assert await credentials.replacement("Bearer one") == "Bearer three"


@pytest.fixture
def issuer(tmp_path, monkeypatch):
    """A module whose function gives the texts of a list one after the other, and the last one again and again."""
    name = f"issuer_{tmp_path.name.replace('-', '_')}"
    lines = ["texts = []", "def give():", "    return texts.pop(0) if len(texts) > 1 else texts[0]"]
    (tmp_path / f"{name}.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__(name)
    yield module
    del sys.modules[name]


async def test_a_jwt_is_got_again_before_it_ends(issuer, clock):
    first, second = jwt(clock.now + 600, "first"), jwt(clock.now + 1_200, "second")
    issuer.texts[:] = [first, second]
    credentials = authorization(issuer.give)

    clock.now += 569
    assert await credentials.value() == f"Bearer {first}"
    assert await credentials.value() == f"Bearer {first}"
    clock.now += 571
    assert await credentials.value() == f"Bearer {second}"


async def test_a_token_without_an_end_is_kept_until_it_is_refused(issuer, clock):
    issuer.texts[:] = ["one", "two"]
    credentials = authorization(issuer.give)

    assert await credentials.value() == "Bearer one"
    clock.now += 1_000_000
    assert await credentials.value() == "Bearer one"
    assert await credentials.replacement("Bearer one") == "Bearer two"


async def test_clients_of_one_source_share_its_token(issuer):
    issuer.texts[:] = ["one", "two"]

    assert await authorization(issuer.give).value() == await authorization(issuer.give).value() == "Bearer one"


async def test_while_the_source_fails_the_last_token_is_used(issuer, clock, caplog):
    issuer.texts[:] = [jwt(clock.now + 600), 7]
    credentials = authorization(issuer.give)
    value = await credentials.value()
    clock.now += 590

    with caplog.at_level(logging.WARNING):
        assert await credentials.value() == value
    assert "it returned int, and not a text. The token of before is used" in caplog.text
    with pytest.raises(AuthenticationError, match="returned int"):
        await credentials.replacement(value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("file:/nowhere/token", "cannot read the token file '/nowhere/token': No such file"),
        ("file:/dev/null", "gives nothing"),
        (f"command:echo two {SECRET} words", "gives something else than a token"),
        (f"command:sh -c 'echo {SECRET}; echo {SECRET} >&2; exit 3'", "'sh': it ended with status 3"),
        (f"command:/nowhere/program {SECRET}", "'/nowhere/program': No such file"),
        ("function:nowhere:give", "No module named 'nowhere'"),
        ("function:json:give", "has no attribute 'give'"),
        ("function:json:loads", "it raised TypeError"),
        ("function:time:time", "it returned float"),
        ("keycloak:", "KEYCLOAK_SERVICE_ACCOUNT_FILE is not set"),
        ("keycloak:/nowhere/keycloak.json", "No such file"),
    ],
)
async def test_a_source_without_a_token_is_an_error_without_secrets(source, said, monkeypatch):
    monkeypatch.delenv("KEYCLOAK_SERVICE_ACCOUNT_FILE", raising=False)

    with pytest.raises(AuthenticationError, match=said) as raised:
        await authorization(source).value()

    assert SECRET not in str(raised.value)


async def test_a_command_runs_without_a_shell():
    assert await authorization("command:printf %s ';$HOME'").value() == "Bearer ;$HOME"


async def test_a_command_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr("aiopravega.net.token_kinds._COMMAND_SECONDS", 0.2)

    with pytest.raises(AuthenticationError, match="'sh': it did not end within"):
        await authorization("command:sh -c 'sleep 1000 & wait'").value()


@pytest.fixture
def provider():
    """A server that grants tokens; it keeps what it was asked, and gives its answers one after the other."""
    asked: list[tuple[str, str | None, dict[str, str]]] = []
    answers: list[tuple[int, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append((self.path, self.headers["Authorization"], {name: one for name, (one,) in form.items()}))
            status, body = answers.pop(0)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", asked=asked, answers=answers)
    server.shutdown()
    thread.join()
    server.server_close()


def basic(pair: str) -> str:
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


async def test_keycloak_gives_a_token_as_it_does_for_java(provider, tmp_path, monkeypatch):
    file = tmp_path / "keycloak.json"
    file.write_text(
        json.dumps(
            {
                "realm": "streams",
                "resource": "job",
                "auth-server-url": f"{provider.url}/auth/",
                "credentials": {"secret": SECRET},
            }
        )
    )
    monkeypatch.setenv("KEYCLOAK_SERVICE_ACCOUNT_FILE", str(file))
    provider.answers[:] = [(200, {"access_token": "own"}), (200, {"access_token": "for-pravega"})]

    assert await authorization("keycloak:").value() == "Bearer for-pravega"

    path = "/auth/realms/streams/protocol/openid-connect/token"
    ticket = {"grant_type": "urn:ietf:params:oauth:grant-type:uma-ticket", "audience": "pravega-controller"}
    assert provider.asked == [
        (path, basic(f"job:{SECRET}"), {"grant_type": "client_credentials"}),
        (path, "Bearer own", ticket),
    ]


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((200, {"access_token": "granted"}), None, ""),
        ((401, {"error": "invalid_client"}), AuthenticationError, r"status 401 \(invalid_client\)"),
        ((503, {}), PravegaConnectionError, "status 503"),
    ],
)
async def test_an_oauth2_server_grants_or_refuses_a_token(provider, tmp_path, answer, error, said):
    file = tmp_path / "client.json"
    settings = {"token_url": f"{provider.url}/t", "client_id": "job", "client_secret": SECRET, "scope": "streams"}
    file.write_text(json.dumps(settings))
    provider.answers[:] = [answer]
    credentials = authorization(f"oauth2:{file}")

    if error is None:
        assert await credentials.value() == "Bearer granted"
    else:
        with pytest.raises(error, match=said) as raised:
            await credentials.value()
        assert SECRET not in str(raised.value)
    form = {"grant_type": "client_credentials", "scope": "streams"}
    assert provider.asked == [("/t", basic(f"job:{SECRET}"), form)]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (SECRET, "does not say where the token comes from"),
        ("file:", "file: names nothing"),
        ("command:echo 'open", "cannot be divided into words"),
        ("function:module.name", "names no function"),
        (lambda: SECRET, "no name by which another process finds it"),
        (time.time, "function:time:time"),
    ],
)
def test_a_source_that_cannot_work_is_refused_at_once(source, said):
    if source is time.time:  # a function with a name is kept by its name
        assert PravegaConfig(token_source=source).token_source == said
        return
    with pytest.raises(ConfigurationError, match=said) as raised:
        PravegaConfig(token_source=source)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("other", [{"token": "t"}, {"username": "u", "password": "p"}])
def test_a_source_beside_other_credentials_is_refused(other):
    with pytest.raises(ConfigurationError, match="either"):
        PravegaConfig(token_source="file:/run/token", **other)


async def test_what_is_pickled_and_shown_has_no_token(tmp_path, monkeypatch):
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("PRAVEGA_TOKEN_SOURCE", f"file:{tmp_path / 'token'}")
    config = PravegaConfig()
    credentials = Authorization(config)
    assert await credentials.value() == f"Bearer {SECRET}"

    assert SECRET.encode() not in pickle.dumps(config)
    assert SECRET not in f"{config!r} {credentials!r} {vars(credentials)}"
    assert pickle.loads(pickle.dumps(config)) == config
