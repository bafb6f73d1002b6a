"""Catalogs of Iceberg: limits of requests, tokens that are renewed, and errors that repeat no secret."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.exceptions import CommitStateUnknownException

from aiopravega.errors import ConfigurationError, LandingError, TableUnavailableError
from pravega_jobs.landing import Iceberg
from pravega_jobs.landing.iceberg_catalog import open_catalog

SECRET = "canary-of-a-catalog"
CONFIG: dict[str, Any] = {"defaults": {}, "overrides": {}}
# An answer of the server: its status and its JSON; None: it says nothing until the test ends.
Answer = tuple[int, dict[str, Any]] | None


class Server(ThreadingHTTPServer):
    """A catalog that answers as a test says, and notes requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: Callable[[str], Answer] = lambda _: (200, CONFIG)
        self.asked: list[str] = []
        self.ended = threading.Event()

    @property
    def properties(self) -> dict[str, str]:
        return {"uri": f"http://127.0.0.1:{self.server_port}", "pravega.request-seconds": "0.2"}


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = self.path.removeprefix("/v1/")
        self.server.asked.append(path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.server.answer(path)
        if answer is None:
            self.server.ended.wait()
            return
        status, value = answer
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that http.server calls

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.ended.set()
        made.shutdown()
        thread.join()


def orders(server: Server, **more: str) -> Iceberg:
    return Iceberg(
        "shop.orders",
        "lake",
        {**server.properties, "oauth2-server-uri": f"{server.properties['uri']}/v1/oauth/tokens", **more},
    )


def test_a_catalog_that_never_answers_is_left_and_can_be_tried_again(server):
    server.answer = lambda _: None
    with pytest.raises(TableUnavailableError, match=r"did not answer for shop\.orders: .*timed out"):
        orders(server).holdings()
    assert server.asked == ["config", "config"]


def test_a_question_is_asked_again_where_a_catalog_is_busy(server):
    answers: Iterator[Answer] = iter([(503, {}), (502, {})])
    server.answer = lambda path: next(answers, (200, CONFIG)) if path == "config" else (404, {})
    assert orders(server).holdings() == []
    assert server.asked[:3] == ["config"] * 3


def test_a_commit_whose_answer_is_lost_may_have_succeeded(server):
    catalog = open_catalog("lake", server.properties)
    server.answer = lambda _: None

    table: Any = SimpleNamespace(name=lambda: ("shop", "orders"), config={})
    with pytest.raises(CommitStateUnknownException, match="lost"):
        catalog.commit_table(table, (), ())
    assert [each for each in server.asked if each.endswith("orders")] == ["namespaces/shop/tables/orders"]


def test_a_token_that_is_too_old_is_renewed(server):
    tokens = iter(range(10))
    refused = iter([(419, {"error": {"message": "too old", "type": "Expired", "code": 419}})])

    def answer(path: str) -> Answer:
        if path == "oauth/tokens":
            return 200, {"access_token": f"token {next(tokens)}", "token_type": "bearer"}
        return (200, CONFIG) if path == "config" else next(refused, (404, {}))

    server.answer = answer
    assert orders(server, credential=f"id:{SECRET}").holdings() == []
    assert server.asked[-3:] == ["namespaces/shop/tables/orders", "oauth/tokens", "namespaces/shop/tables/orders"]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, "'lake' of Iceberg is not configured: set PYICEBERG_CATALOG__LAKE__URI"),
        ({"uri": f"ftp://ada:{SECRET}@catalog"}, "cannot be opened"),
        ({"type": "nothing", "credential": SECRET}, "cannot be opened"),
        ({"type": "sql", "credential": SECRET}, "URI missing"),
        ({"type": "sql", "uri": f"oracle9://ada:{SECRET}@db/lake"}, "cannot be opened|did not answer"),
        ({"uri": "http://[", "auth": {"type": "oauth2", "oauth2": {"client_secret": SECRET}}}, "cannot be opened"),
    ],
)
def test_a_catalog_that_cannot_be_opened_is_named_without_secrets(properties, message):
    with pytest.raises((ConfigurationError, LandingError), match=message) as caught:
        Iceberg("shop.orders", "lake", properties).holdings()
    assert SECRET not in str(caught.value)
    assert not caught.value.retryable


def test_an_answer_with_a_token_that_cannot_be_read_is_not_repeated(server):
    server.answer = lambda path: (200, {"access_token": SECRET} if path == "oauth/tokens" else CONFIG)
    with pytest.raises(ConfigurationError, match="pyiceberg cannot read as TokenResponse") as caught:
        orders(server, credential=f"id:{SECRET}").holdings()
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(orders(server, credential=SECRET))
