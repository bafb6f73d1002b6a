"""Flink and Debezium are asked for their health by HTTP, within a limit, and errors say who answered what."""

import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from tests.unit.pravega_jobs.http_servers import debezium_answers, flink_answers, played

from aiopravega.errors import (
    ConfigurationError,
    PravegaConnectionError,
    PravegaTimeoutError,
    ProtocolError,
    SecurityError,
)
from pravega_jobs.services.health import debezium_health, flink_health
from pravega_jobs.services.http_json import HttpServer


@pytest.fixture
def server():
    with played() as server:
        yield server


def test_a_running_job_has_its_state_and_last_checkpoint(server):
    server.answers = flink_answers("enrich", "RUNNING", started=1_767_225_600_000, acked=1_767_229_200_000, failed=2)
    for name in ("enrich", "ab12"):
        health = flink_health(HttpServer(server.uri), name)
        assert (health.state, health.is_running, health.failed_commits) == ("RUNNING", True, 2)
        assert health.since == datetime(2026, 1, 1, tzinfo=UTC)
        assert health.committed_at == datetime(2026, 1, 1, 1, tzinfo=UTC)
        assert health.details == {"job_id": "ab12", "checkpoint": "file:/checkpoints/7"}


def test_of_jobs_with_one_name_the_one_that_has_not_ended_counts(server):
    server.answers = flink_answers("enrich", "RUNNING", started=2)
    other = {"jid": "cd34", "name": "enrich", "state": "FAILED", "start-time": 3}
    server.answers["/jobs/overview"][1]["jobs"].append(other)
    assert flink_health(HttpServer(server.uri), "enrich").state == "RUNNING"
    other["state"] = "RESTARTING"
    with pytest.raises(ConfigurationError, match=r"ab12 \(RUNNING\), cd34 \(RESTARTING\). Give the id of one"):
        flink_health(HttpServer(server.uri), "enrich")
    assert flink_health(HttpServer(server.uri), "ab12").state == "RUNNING"


def test_a_failed_job_says_why(server):
    server.answers = flink_answers("enrich", "FAILED", started=1)
    server.answers["/jobs/ab12/exceptions"] = (200, {"root-exception": "java.io.IOException: full\n\tat x.Y"})
    health = flink_health(HttpServer(server.uri), "enrich")
    assert (health.is_running, health.committed_at, health.reason) == (False, None, "java.io.IOException: full")
    newer = {"exceptionHistory": {"entries": [{"exceptionName": "X", "stacktrace": "X: none\n\tat y"}]}}
    server.answers["/jobs/ab12/exceptions"] = (200, newer)
    assert flink_health(HttpServer(server.uri), "enrich").reason == "X: none"


def test_a_missing_job_names_those_that_are_there(server):
    server.answers = flink_answers("enrich", "RUNNING", started=1)
    health = flink_health(HttpServer(server.uri), "count")
    assert (health.state, health.is_running) == ("MISSING", False)
    assert health.reason == "the cluster has enrich, and not 'count'"


@pytest.mark.parametrize(("status", "runs"), [("UP", True), ("DOWN", False)])
def test_debezium_is_up_or_names_what_is_down(server, status, runs):
    server.answers = debezium_answers(status)
    health = debezium_health(HttpServer(server.uri))
    assert (health.state, health.is_running) == (status, runs)
    assert health.reason == (None if runs else "these of its checks are down: debezium")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((404, "none"), ProtocolError, "answers 404: is it the right address?"),
        ((401, "no"), SecurityError, "answers 401: check the credentials"),
        ((200, "<html>"), ProtocolError, "does not answer with JSON"),
        ((200, ["a"]), ProtocolError, "has no 'status'"),
        ((200, {"status": 1}), ProtocolError, "has no 'status'"),
    ],
)
def test_another_answer_is_refused_by_name(server, answer, error, message):
    server.answers["/q/health"] = answer
    with pytest.raises(error, match=message):
        debezium_health(HttpServer(server.uri))


def test_a_server_that_sends_a_byte_now_and_then_reaches_the_limit(server):
    server.answers, server.pause = debezium_answers("UP"), 0.05
    with pytest.raises(PravegaTimeoutError, match="has not answered within 0.3 s"):
        debezium_health(HttpServer(server.uri, timeout=0.3))


def test_a_header_that_comes_byte_by_byte_reaches_the_limit():
    asked = threading.Event()

    def trickle(taken: socket.socket) -> None:
        with taken, contextlib.suppress(OSError):
            taken.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not asked.wait(0.05):
                taken.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        waiting = pool.submit(lambda: trickle(server.accept()[0]))
        with pytest.raises(PravegaTimeoutError, match=r"has not answered within 0\.3 s"):
            debezium_health(HttpServer("http://{}:{}".format(*server.getsockname()), timeout=0.3))
        asked.set()
        waiting.result()


def test_a_server_that_never_answers_and_one_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = "http://{}:{}".format(*silent.getsockname())
        with pytest.raises(PravegaTimeoutError, match=r"/q/health has not answered within 0\.2 s"):
            debezium_health(HttpServer(uri, timeout=0.2))
    with pytest.raises(PravegaConnectionError, match="cannot ask"):
        debezium_health(HttpServer(uri))


def test_credentials_are_sent_and_not_shown(server):
    server.answers = debezium_answers("UP")
    debezium_health(HttpServer(server.uri, username="a", password="secret"))
    assert server.headers["Authorization"] == "Basic YTpzZWNyZXQ="
    given = HttpServer(server.uri, token="secret")
    debezium_health(given)
    assert server.headers["Authorization"] == "Bearer secret"
    assert "secret" not in repr(given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"uri": "flink:8081"}, "is not an address of HTTP"),
        ({"uri": "http://a:secret@flink"}, "give username and password"),
        ({"uri": "http://flink", "username": "a"}, "give a name with its password"),
        ({"uri": "http://flink", "username": "a", "password": "b", "token": "c"}, "or a token"),
        ({"uri": "http://flink", "timeout": 0}, "must be greater than 0"),
    ],
)
def test_what_cannot_work_is_refused_before_a_request(arguments, message):
    with pytest.raises(ConfigurationError, match=message) as refused:
        HttpServer(**arguments)
    assert "secret" not in str(refused.value)
